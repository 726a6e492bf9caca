// What compiling spares: of kernels that consist of calls of the interpreter's handlers, next to nothing.
#include "device/jit/gain.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "device/jit/kernel.h"
#include "device/program/program.h"

namespace morgana::device::jit {
namespace {

double gain_of(const std::vector<uint32_t>& code) {
  const auto address = reinterpret_cast<uint64_t>(code.data());
  Program program(Target::gfx950, address, Bytes(code.data(), code.size() * 4));
  Specialisation key;
  key.sgprs = 104, key.vgprs = 256;
  const auto compilation = Compilation::begin(program, program.at(address), key);
  if (!compilation.ok()) {
    ADD_FAILURE() << compilation.error().message;
    return -1;
  }
  return (*compilation)->gain();
}

constexpr uint32_t kEnd = 0xbf810000;  // s_endpgm

TEST(Gain, IsAllOfWhatIsLifted) { EXPECT_EQ(gain_of({0x68020501 /* v_add_u32_e32 v1, v1, v2 */, kEnd}), 1); }

TEST(Gain, IsLittleOfAMatrixProductAndMoreBesideOtherWork) {
  std::vector<uint32_t> code(4, 0x68020501 /* v_add_u32_e32 v1, v1, v2 */);
  const size_t loop = code.size();
  code.insert(code.end(),
              {0xd3b50010, 0x04421100});  // v_mfma_f32_16x16x32_bf16 v[16:19], v[0:3], v[8:11], v[16:19]
  code.push_back(0x68020501);             // v_add_u32_e32 v1, v1, v2
  std::vector<uint32_t> more = code;
  more.insert(more.end(), 40, 0x68020501 /* v_add_u32_e32 v1, v1, v2 */);
  for (std::vector<uint32_t>* one : {&code, &more}) {
    one->push_back(0xbf850000 | (static_cast<uint16_t>(loop - one->size() - 1)));  // s_cbranch_scc1 loop
    one->push_back(kEnd);
  }
  EXPECT_GT(gain_of(code), 0.02);
  EXPECT_LT(gain_of(code), 0.2);
  EXPECT_GT(gain_of(more), 0.6);
  EXPECT_LT(gain_of(more), 0.9);
}

}  // namespace
}  // namespace morgana::device::jit
