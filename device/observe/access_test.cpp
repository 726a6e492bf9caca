// What checks are told of an instruction's memory and registers. Encodings by llvm-mc 22.
#include "device/observe/access.h"

#include <gtest/gtest.h>

#include "device/isa/decode.h"
#include "device/observe/used_registers.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

isa::Inst decoded(std::string_view hex, Target target = Target::gfx1200) {
  const std::vector<uint32_t> code = dwords_of_hex(hex);
  return *isa::decode(target, Bytes(code.data(), code.size() * 4));
}

// The second of two loads goes on in one operand, the second of two stores has its own.
TEST(Accesses, OfTwoAtOnceEachHasItsData) {
  Accesses accesses;
  const std::string_view store = "08099cd8 03010500";  // ds_write2_b64 v3, v[1:2], v[5:6] offset0:8 offset1:9
  WaveRig rig(Target::gfx900, dwords_of_hex(store));
  ASSERT_EQ(accesses_of(rig.wave(), decoded(store, Target::gfx900), accesses), 2u);
  EXPECT_TRUE(accesses[0].data == 1 && accesses[0].first == 0);
  EXPECT_TRUE(accesses[1].data == 2 && accesses[1].first == 0);
  const std::string_view load = "0809eed8 03000008";  // ds_read2_b64 v[8:11], v3 offset0:8 offset1:9
  ASSERT_EQ(accesses_of(rig.wave(), decoded(load, Target::gfx900), accesses), 2u);
  EXPECT_TRUE(accesses[0].first == 0 && accesses[1].first == 2);
}

TEST(UsedRegisters, AMaskIsOneInAWaveOf32) {
  const std::string_view compare = "01004cd4 00110200";  // v_cmp_gt_u32_e64 s1, v0, v8
  RigOptions options;
  options.wave_size = WaveSize::wave32;
  WaveRig narrow(Target::gfx1100, dwords_of_hex(compare), options);
  EXPECT_EQ(used_registers(narrow.wave(), decoded(compare, Target::gfx1100)).dst[0], (RegisterRange{1, 1}));
  WaveRig wide(Target::gfx900, dwords_of_hex("0200ccd0 00110200"));
  EXPECT_EQ(used_registers(wide.wave(), decoded("0200ccd0 00110200", Target::gfx900)).dst[0],
            (RegisterRange{2, 2}));
}

TEST(BlockAccesses, EachRunOfRegistersIsOne) {
  const std::string_view store =
      "010015ed00000020 00080000";  // scratch_store_block off, v[64:95], s1 offset:8
  WaveRig rig(Target::gfx1200, dwords_of_hex(store));
  rig.s(1) = 4;
  rig.wave().m0() = 0xc000'0105;
  Accesses accesses;
  ASSERT_EQ(accesses_of(rig.wave(), decoded(store), accesses), 4u);
  const uint32_t first[] = {0, 2, 8, 30}, bytes[] = {4, 4, 4, 8};
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ(accesses[i].first, first[i]);
    EXPECT_EQ(accesses[i].bytes, bytes[i]);
    EXPECT_EQ(accesses[i].address[31], 12 + 4 * first[i]);
    EXPECT_TRUE(accesses[i].writes && !accesses[i].reads);
    EXPECT_EQ(accesses[i].lanes, 0xffff'ffffu);
  }
  rig.wave().m0() = 0;
  EXPECT_EQ(accesses_of(rig.wave(), decoded(store), accesses), 0u);
  rig.wave().m0() = ~0u;
  ASSERT_EQ(accesses_of(rig.wave(), decoded(store), accesses), 1u);
  EXPECT_EQ(accesses[0].bytes, 128u);
  rig.wave().m0() = 0x5555'5555;
  EXPECT_EQ(accesses_of(rig.wave(), decoded(store), accesses), 16u);
}

TEST(BlockAccesses, RegistersThatM0LeavesOutAreNotUsed) {
  const isa::Inst store = decoded("010015ed00000020 00080000");  // v[64:95]
  const isa::Inst load =
      decoded("02c014ee40000000 00040000");  // global_load_block v[64:95], v0, s[2:3] offset:4
  WaveRig rig(Target::gfx1200, dwords_of_hex("02c014ee40000000 00040000"));
  rig.wave().m0() = 0x104;
  const UsedRegisters stored = used_registers(rig.wave(), store), loaded = used_registers(rig.wave(), load);
  EXPECT_EQ(stored.src[1], (RegisterRange{isa::kVgprBase + 66, 7}));
  EXPECT_EQ(loaded.dst[0], (RegisterRange{isa::kVgprBase + 66, 7}));
  EXPECT_FALSE(loaded.written.has(isa::kVgprBase + 73));
  rig.wave().m0() = 0;
  EXPECT_EQ(used_registers(rig.wave(), load).dst[0].count, 0);
}

}  // namespace
}  // namespace morgana::device
