#include <gtest/gtest.h>

#include <cstring>

#include "base/bytes.h"
#include "base/options.h"
#include "base/target.h"

namespace morgana {
namespace {

TEST(Bytes, RefusesWhatLiesOutside) {
  const uint8_t storage[4] = {1, 2, 3, 0};
  Bytes bytes(storage, sizeof storage);
  EXPECT_EQ(bytes.read<uint16_t>(1).value(), 0x0302);
  EXPECT_FALSE(bytes.read<uint32_t>(1).ok());
  EXPECT_FALSE(bytes.slice(~uint64_t{0}, 2).ok());
  EXPECT_FALSE(bytes.slice(2, ~uint64_t{0}).ok());
  EXPECT_TRUE(bytes.slice(4, 0).ok());
  EXPECT_EQ(bytes.string(0).value().size(), 3u);
  EXPECT_FALSE(Bytes(storage, 3).string(0).ok());
}

TEST(Options, KeepTheDefaultWhenTheValueDoesNotParse) {
  Options values = parse_options([](const char* name) -> const char* {
    if (std::strcmp(name, "MORGANA_THREADS") == 0) return "many";
    if (std::strcmp(name, "MORGANA_DEVICES") == 0) return "gfx90a,gfx950";
    if (std::strcmp(name, "MORGANA_MEMORY") == 0) return "-5";
    if (std::strcmp(name, "MORGANA_CACHE") == 0) return "off";
    return nullptr;
  });
  EXPECT_EQ(values.threads, 0);
  EXPECT_EQ(values.memory, 0);
  EXPECT_EQ(values.devices, "gfx90a,gfx950");
  EXPECT_FALSE(values.cache);
}

TEST(Options, AnEmptyValueIsNone) {
  const Options values = parse_options([](const char*) { return ""; });
  EXPECT_EQ(values.devices, Options().devices);
  EXPECT_EQ(values.log, Options().log);
  EXPECT_TRUE(values.cache);
}

TEST(Target, EveryTableIsFoundByItsOwnName) {
  for (int i = 0; i < kTargetCount; ++i) {
    auto target = static_cast<Target>(i);
    EXPECT_EQ(info(target).target, target);
    EXPECT_EQ(find_target(info(target).name), target);
  }
  EXPECT_FALSE(has_wave32(Target::gfx950));
  EXPECT_TRUE(has_wave32(Target::gfx1010) && has_wave32(Target::gfx1200));
  EXPECT_EQ(find_target("gfx902"), Target::gfx900);
  EXPECT_EQ(find_target("gfx1036"), Target::gfx1030);
  EXPECT_EQ(find_target("gfx11-generic"), Target::gfx1100);
  EXPECT_FALSE(find_target("gfx1250").has_value());
}

}  // namespace
}  // namespace morgana
