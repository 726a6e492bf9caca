// Every instruction of every target in every form is lifted, verified, printed and read back; and what the
// rules of single instructions come to, as text.
#include "device/lift/lift.h"

#include <gtest/gtest.h>

#include "device/isa/decode.h"
#include "device/isa/example.h"
#include "device/lift/facts.h"
#include "device/lift/text.h"
#include "device/lift/verify.h"
#include "device/testing/random_kernel.h"
#include "device/testing/wave_rig.h"

namespace morgana::device::lift {
namespace {

Function lifted(Target target, std::vector<uint32_t> code, bool observe) {
  LiftOptions options;
  options.observe_everything = observe;
  const auto read = read_code(target, default_wave(target), Bytes(code.data(), code.size() * 4), 0);
  return read.ok() ? lift(*read, options) : Function{};
}

void expect_sound(const Function& function, const std::string& what) {
  ASSERT_EQ(verify(function), "") << what << "\n" << print(function);
  const std::string text = print(function);
  const auto again = parse(text);
  ASSERT_TRUE(again.ok()) << what << ": " << again.error().message << "\n" << text;
  EXPECT_EQ(verify(*again), "") << what;
  EXPECT_EQ(print(*again), text) << what;
}

TEST(Lift, EveryInstruction) {
  int count = 0;
  for (int t = 0; t < kGcnTargetCount; t++)
    for (const isa::Row& row : isa::all_rows())
      for (const isa::Form form : isa::kForms) {
        std::vector<uint32_t> code = isa::example(static_cast<Target>(t), row, form);
        if (code.empty()) continue;
        code.push_back(end_of_program(static_cast<Target>(t)));
        count++;
        expect_sound(lifted(static_cast<Target>(t), code, true), row.mnemonic);
        if (testing::Test::HasFailure()) return;
      }
  EXPECT_GT(count, 5000);
}

TEST(Lift, RandomKernels) {
  for (int t = 0; t < kGcnTargetCount; t++)
    for (uint64_t seed = 0; seed < 30; seed++) {
      std::vector<uint32_t> code = emit(random_kernel(static_cast<Target>(t), seed, KernelKind{}));
      code.push_back(end_of_program(static_cast<Target>(t)));
      expect_sound(lifted(static_cast<Target>(t), code, seed % 2), std::to_string(seed));
      if (testing::Test::HasFailure()) return;
    }
}

// The values of the block where the code begins, without numbers and places.
std::string values_of(const char* hex) {
  std::vector<uint32_t> code = dwords_of_hex(hex);
  code.push_back(end_of_program(Target::gfx90a));
  const Function function = lifted(Target::gfx90a, code, true);
  EXPECT_EQ(verify(function), "");
  std::string text;
  for (const ValueId id : function.blocks[1].values) {
    const Value& value = function[id];
    if (value.operation == Operation::exit) continue;
    text += value.operation == Operation::compute ? name(value.fn) : name(value.operation);
    text += "." + std::string(name(value.kind)) + " ";
  }
  return text;
}

TEST(Lift, RulesBecomeValues) {
  EXPECT_EQ(values_of("03050268"), "add.lanes32 mask.mask merge.lanes32 ");  // v_add_u32_e32 v1, v3, v2
  EXPECT_EQ(values_of("01020480"), "add.s32 add.s32 less.bit ");             // s_add_u32 s4, s1, s2
  // s_and_saveexec_b64 s[4:5], s[2:3]
  EXPECT_EQ(values_of("022084be"), "and.s64 constant.s64 equal.bit invert.bit and.s64 ");
}

// The same with waves of 32 lanes: masks are numbers of 32 bits.
TEST(Lift, MasksAreAsWideAsAWave) {
  // v_cmp_lt_u32_e32 vcc, v0, v1; v_cndmask_b32_e32 v1, v3, v2, vcc; s_cbranch_vccnz to the end; s_nop
  std::vector<uint32_t> code = dwords_of_hex("0003927d03050200010087bf000080bf");
  code.push_back(end_of_program(Target::gfx1030));
  LiftOptions options;
  options.observe_everything = true;
  const auto read = read_code(Target::gfx1030, WaveSize::wave32, Bytes(code.data(), code.size() * 4), 0);
  ASSERT_TRUE(read.ok());
  const Function function = lift(*read, options);
  EXPECT_EQ(function.width, 32);
  expect_sound(function, "wave32");
  EXPECT_NE(print(function).find("bits.s32"), std::string::npos) << print(function);
}

// Both halves of a VOPD read before either writes: as values, or by the interpreter where that takes both at
// once.
TEST(Lift, BothHalvesOfADualInstructionReadFirst) {
  const auto lift_one = [](uint64_t dual) {
    const std::vector<uint32_t> code{static_cast<uint32_t>(dual), static_cast<uint32_t>(dual >> 32),
                                     end_of_program(Target::gfx1100)};
    const auto read = read_code(Target::gfx1100, WaveSize::wave32, Bytes(code.data(), code.size() * 4), 0);
    EXPECT_TRUE(read.ok());
    const Function function = lift(*read, {.observe_everything = true});
    expect_sound(function, "a VOPD");
    return print(function);
  };
  // v_dual_add_f32 v1, v0, v2 :: v_dual_mov_b32 v0, v3; v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0
  const std::string copied = lift_one(0x0100'0103'c910'0500), swapped = lift_one(0x0000'0100'ca10'0101);
  EXPECT_EQ(copied.find("call"), std::string::npos) << copied;
  EXPECT_NE(copied.find("v_add_f32"), std::string::npos) << copied;
  EXPECT_NE(swapped.find("call"), std::string::npos) << swapped;
}

// s_getpc_b64 s[0:1]; s_add_u32 s0, s0, 0x1000; s_addc_u32 s1, s1, 0; s_swappc_b64 s[30:31], s[0:1]
TEST(Lift, WhoIsCalledIsAFact) {
  const std::vector<uint32_t> code = dwords_of_hex("001c80be00ff00800010000001800182001e9ebe");
  auto read = read_code(Target::gfx90a, WaveSize::wave64, Bytes(code.data(), code.size() * 4), 0);
  ASSERT_TRUE(read.ok());
  LiftOptions options;
  options.address = 0x7000'ffff'f000;  // the lower half wraps
  const Function function = lift(straight_run(Target::gfx90a, WaveSize::wave64, read->instructions), options);
  expect_sound(function, "call");
  ASSERT_EQ(function.blocks[1].ending, Ending::call);
  const Value& exit = function[function.blocks[1].value];
  ASSERT_EQ(exit.registers.back(), kCallee);
  EXPECT_EQ(describe(find_facts(function)[exit.arguments.back()], Kind::s64),
            std::to_string(0x7000'ffff'f000 + 4 + 0x1000));
}

TEST(Lift, BytesThatAreNoCodeAreAWayOut) {
  constexpr uint32_t kCopy = 0x7e000300;  // v_mov_b32_e32 v0, v0
  const Function function = lifted(Target::gfx90a, {kCopy, 0xffffffff}, true);
  EXPECT_EQ(verify(function), "");
  EXPECT_EQ(function.blocks.back().ending, Ending::leave);
  const std::vector<uint32_t> nothing{0xffffffff};
  EXPECT_FALSE(read_code(Target::gfx90a, WaveSize::wave64, Bytes(nothing.data(), 4), 0).ok());
}

}  // namespace
}  // namespace morgana::device::lift
