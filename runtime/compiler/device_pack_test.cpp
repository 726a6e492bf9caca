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

std::string unit_of(const Result<std::string>& pack, std::string_view symbol) {
  if (!pack.ok()) return pack.error().message;
  DevicePack view{Bytes(*pack)};
  auto unit = view.find(symbol);
  return unit ? std::string(view.unit(*unit).text()) : "";
}

TEST(DevicePack, TheFirstDefinitionOfASymbolIsTaken) {
  const auto own = make_device_pack({MORGANA_OWN_BITCODE}), amd = make_device_pack({MORGANA_AMD_BITCODE});
  const auto own_first = make_device_pack({MORGANA_OWN_BITCODE, MORGANA_AMD_BITCODE});
  const auto amd_first = make_device_pack({MORGANA_AMD_BITCODE, MORGANA_OWN_BITCODE});
  for (const char* symbol :
       {"__ocml_atan_f32", "__ocml_atanpi_f32", "__ocml_atan2_f32", "__ocml_atan2pi_f32"}) {
    const std::string overlay = unit_of(own, symbol);
    ASSERT_TRUE(starts_as_bitcode(Bytes(overlay))) << symbol;
    EXPECT_NE(overlay, unit_of(amd, symbol)) << symbol;
    EXPECT_EQ(overlay, unit_of(own_first, symbol)) << symbol;
    EXPECT_EQ(unit_of(amd, symbol), unit_of(amd_first, symbol)) << symbol;
    EXPECT_EQ(overlay, kEmbedded.unit(kEmbedded.find(symbol).value()).text()) << symbol;
  }
  EXPECT_EQ(unit_of(amd, "__ocml_atan_f64"), unit_of(own_first, "__ocml_atan_f64"));
}

TEST(DevicePack, AFolderWithoutLibrariesIsAnError) {
  auto pack = make_device_pack(device_library_files("/nowhere"));
  ASSERT_FALSE(pack.ok());
  EXPECT_EQ(pack.error().code, ErrorCode::not_found);
  EXPECT_NE(pack.error().message.find("/nowhere/opencl.bc"), std::string::npos);
}

}  // namespace
}  // namespace morgana::runtime
