#include "runtime/compiler/device_pack.h"

#include <gtest/gtest.h>

#include "runtime/compiler/embedded.h"

namespace morgana::runtime {
namespace {

const DevicePack kEmbedded{Bytes(embedded_device_pack())};

bool starts_as_bitcode(Bytes bytes) { return bytes.size() > 4 && bytes.text().starts_with("BC\xc0\xde"); }

TEST(DevicePack, FindsTheUnitOfASymbol) {
  for (const char* symbol :
       {"_Z3sinf", "_Z3sinDv16_f", "_Z13get_global_idj", "__ocml_sin_f32", "__ockl_get_global_id",
        "__printf_alloc", "_Z7shuffleDv4_iDv4_j", "_Z5fractfPf"}) {
    auto unit = kEmbedded.find(symbol);
    ASSERT_TRUE(unit.has_value()) << symbol;
    EXPECT_TRUE(starts_as_bitcode(kEmbedded.unit(*unit))) << symbol;
  }
  EXPECT_EQ(kEmbedded.find("_Z3sinf"), kEmbedded.find("_Z3sinDv16_f"));
}

TEST(DevicePack, HasNeitherForeignNamesNorPrintf) {
  for (const char* symbol : {"", "printf", "no_such_function", "_Z5fractfPU3AS0f", "\x7f"})
    EXPECT_FALSE(kEmbedded.find(symbol).has_value()) << symbol;
  EXPECT_TRUE(kEmbedded.unit(0xffffffff).empty());
}

TEST(DevicePack, BytesThatAreNoPackHaveNothing) {
  EXPECT_FALSE(DevicePack().find("_Z3sinf").has_value());
  const std::string whole(embedded_device_pack().substr(0, 4096));
  for (size_t size = 0; size < whole.size(); size += 13)
    EXPECT_FALSE(DevicePack(Bytes(std::string_view(whole).substr(0, size))).find("_Z3sinf").has_value())
        << size;
}

TEST(DevicePack, AFolderWithoutLibrariesIsAnError) {
  auto pack = make_device_pack(device_library_files("/nowhere"));
  ASSERT_FALSE(pack.ok());
  EXPECT_EQ(pack.error().code, ErrorCode::not_found);
  EXPECT_NE(pack.error().message.find("/nowhere/opencl.bc"), std::string::npos);
}

}  // namespace
}  // namespace morgana::runtime
