// Which launches of a kernel share compiled code.
#include "device/jit/tier.h"

#include <gtest/gtest.h>

#include "base/options.h"
#include "device/program/program.h"

namespace morgana::device::jit {
namespace {

TEST(Tier, FurtherSizesOfGroupsShareCode) {
  const uint32_t code[] = {0xbf82ffff, 0xbf810000};  // s_branch L; s_endpgm
  const auto address = reinterpret_cast<uint64_t>(code);
  Program program(Target::gfx950, address, Bytes(code, sizeof code));
  const Step* const entry = program.at(address);
  Tier tier;
  const auto request = [&](uint32_t width) {
    Specialisation key;
    key.local = {width, 8, 1};
    return tier.request(program, entry, key, true, false);
  };
  if (options().jit == "off") {
    EXPECT_EQ(request(8), nullptr);
    return;
  }
  const std::shared_ptr<Request> own[] = {request(8), request(16), request(24), request(32)};
  for (const auto& one : own)
    for (const auto& other : own) EXPECT_EQ(one == other, &one == &other);
  // A wave that is interpreted comes back to the beginning, a loop, long before that is worth a compilation.
  program.decode(entry, {104, 256, 0});
  EXPECT_EQ(own[0]->rest(entry, true, 10'000'000), nullptr);
  const auto shared = request(40);
  for (const auto& one : own) EXPECT_NE(shared, one);
  EXPECT_EQ(request(48), shared);
  EXPECT_EQ(request(24), own[2]);
  tier.remove(&program);
}

}  // namespace
}  // namespace morgana::device::jit
