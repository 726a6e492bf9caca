#include "device/jit/lookups.h"

namespace morgana::device::jit {
namespace {

bool is_load(const Instruction& i) { return i.how == How::memory && !writes_memory(i); }

// What follows from loads behind an instruction.
void step(const Instruction& i, VectorSet& loaded) {
  const VectorSet read = set_of(i.v_reads, i.n_v_reads), written = written_vectors(i);
  if (is_load(i) || (read & loaded).any())
    loaded |= written;
  else if (!i.merges && !i.keeps_old)
    loaded &= ~written;
}

}  // namespace

std::vector<bool> find_lookups(const Flow& flow) {
  std::vector<bool> found(flow.instructions.size());
  std::vector<VectorSet> at_begin(flow.blocks.size());
  std::vector<uint32_t> pending;
  for (uint32_t b = static_cast<uint32_t>(flow.blocks.size()); b-- > 0;) pending.push_back(b);
  while (!pending.empty()) {
    const Block& block = flow.blocks[pending.back()];
    VectorSet loaded = at_begin[pending.back()];
    pending.pop_back();
    for (uint32_t n = block.first; n < block.first + block.count; n++) {
      const Instruction& i = flow.instructions[n];
      if (is_load(i) && i.step->inst->format == isa::Format::DS)
        found[n] = (set_of(i.v_reads, i.n_v_reads) & loaded).any();
      step(i, loaded);
    }
    for (const uint32_t to : block.successors) {
      const VectorSet more = at_begin[to] | loaded;
      if (more == at_begin[to]) continue;
      at_begin[to] = more;
      pending.push_back(to);
    }
  }
  return found;
}

}  // namespace morgana::device::jit
