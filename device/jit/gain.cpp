#include "device/jit/gain.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace morgana::device::jit {
namespace {

// Multiply-adds of a matrix instruction: "16x16x32" says how many each result takes.
double multiply_adds(const isa::Row& row, unsigned lanes) {
  const char* times = row.mnemonic;
  for (int i = 0; i < 2 && times != nullptr; i++) times = std::strchr(times + 1, 'x');
  const int k = times == nullptr ? 1 : std::atoi(times + 1);
  return static_cast<double>(isa::dwords(row.dst[0])) * lanes * k;
}

// Nanoseconds of the interpreter, measured with AVX-512 at 3.7 GHz; only their ratios count.
struct Cost {
  double spared = 0, stays = 0;
};
Cost cost_of(const Instruction& i, unsigned lanes) {
  const isa::Row& row = *i.step->inst->row;
  switch (i.how) {
    case How::vector:
    case How::lane:
    case How::indexed: return {.spared = 8};
    case How::memory: return {.spared = 12};
    case How::call:
      if (is_matrix(i)) return {.stays = 30 + multiply_adds(row, lanes) / 100};
      return {.stays = isa::accesses_memory(row.format) ? 50.0 : 20.0};
    case How::call_all:
    case How::leave: return {.stays = 10};
    default: return {.spared = 2};
  }
}

}  // namespace

double gain(const Flow& flow) {
  std::vector<bool> loops(flow.instructions.size());
  for (const Block& block : flow.blocks)
    if (block.is_loop_header)
      std::fill(loops.begin() + block.first, loops.begin() + std::max(block.first, flow.last_back(block) + 1),
                true);
  const bool has_loops = std::ranges::find(loops, true) != loops.end();
  Cost all;
  for (size_t n = 0; n < loops.size(); n++) {
    if (has_loops && !loops[n]) continue;
    const Cost cost = cost_of(flow.instructions[n], flow.lanes);
    all.spared += cost.spared;
    all.stays += cost.stays;
  }
  return all.spared + all.stays == 0 ? 1 : all.spared / (all.spared + all.stays);
}

}  // namespace morgana::device::jit
