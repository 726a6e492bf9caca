#include "device/jit/strip_addresses.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "device/isa/effects.h"
#include "device/jit/serial_loops.h"

namespace morgana::device::jit {
namespace {

constexpr size_t kMostPlaces = 16;

class Finder {
 public:
  Finder(const Flow& flow, const SerialLoop& loop)
      : flow_(flow), loop_(loop), block_(flow.blocks[loop.head()]) {}

  std::optional<StripAddresses> find() {
    group();
    if (found_.places.size() > kMostPlaces || !slice()) return std::nullopt;
    return std::move(found_);
  }

 private:
  // How often the register has been written in this iteration, at the instruction that is being looked at.
  // By the vectors' and scalars' own numbers.
  using Origin = std::tuple<unsigned, int, int, unsigned, int>;

  void group() {
    std::vector<int> vector(kVectorRegisters, 0), scalar(isa::kRegisterEnd, 0);
    std::map<Origin, size_t> groups;
    for (uint32_t n = block_.first; n < block_.first + block_.count; n++) {
      const Instruction& i = flow_.instructions[n];
      if (i.how == How::memory) {
        const isa::Inst& inst = *i.step->inst;
        const bool pair = is_wide(i);
        const unsigned from = inst.src[0].code - isa::kVgprBase, base = pair ? 0 : inst.src[2].code;
        const bool has_register = !pair && base + 1 < isa::kRegisterEnd;
        const Origin origin{from, vector[from], pair ? vector[from + 1] : -1, base,
                            has_register ? scalar[base] + scalar[base + 1] : -1};
        const auto [group, is_new] = groups.try_emplace(origin, found_.places.size());
        if (is_new)
          found_.places.push_back(
              {n, (loop_.writes & address(i)).any(),
               has_register && (loop_.numbers.test(base) || loop_.numbers.test(base + 1))});
        add(static_cast<uint32_t>(group->second), i);
      }
      const VectorSet written = set_of(i.v_writes, i.n_v_writes);
      for (unsigned r = 0; r < kVectorRegisters; r++) vector[r] += written.test(r);
      for (unsigned code = 0; code < isa::kRegisterEnd; code++) scalar[code] += i.s_writes.test(code);
    }
  }

  void add(uint32_t range, const Instruction& i) {
    const isa::Inst& inst = *i.step->inst;
    const uint32_t stores = writes_memory(i);
    const int32_t from = inst.offset;
    const int32_t to = from + static_cast<int32_t>(access_bytes(isa::effects(inst.row->op).access));
    auto& all = found_.accesses;
    const auto same = std::find_if(
        all.begin(), all.end(), [&](const StripAccess& a) { return a.range == range && a.stores == stores; });
    if (same == all.end())
      all.push_back({range, from, to, stores});
    else
      same->from = std::min(same->from, from), same->to = std::max(same->to, to);
  }

  // Backwards from the accesses, round the loop until nothing is added. false: a load is needed.
  bool slice() {
    std::vector<bool> taken(block_.count, false);
    VectorSet at_end;
    for (bool changed = true; changed;) {
      VectorSet needed = at_end;
      ScalarSet masks;  // the loop writes them before it reads them
      for (uint32_t n = block_.count; n-- > 0;) {
        const Instruction& i = flow_.instructions[block_.first + n];
        const VectorSet written = set_of(i.v_writes, i.n_v_writes);
        if ((written & needed).any() || (i.how == How::vector && (i.s_writes & masks).any())) {
          if (i.how != How::vector) return false;
          taken[n] = true;
          if (!i.merges) needed &= ~written;
          masks &= ~i.s_writes;
          needed |= set_of(i.v_reads, i.n_v_reads);
          masks |= i.s_reads;
        }
        if (i.how == How::memory) needed |= address(i);
      }
      changed = (needed & ~at_end).any();
      at_end |= needed;
    }
    for (uint32_t n = 0; n < block_.count; n++)
      if (taken[n]) found_.slice.push_back(block_.first + n);
    return true;
  }

  static VectorSet address(const Instruction& i) {
    VectorSet registers;
    const unsigned from = i.step->inst->src[0].code - isa::kVgprBase;
    registers.set(from);
    if (is_wide(i)) registers.set(from + 1);
    return registers;
  }

  const Flow& flow_;
  const SerialLoop& loop_;
  const Block& block_;
  StripAddresses found_;
};

}  // namespace

std::optional<StripAddresses> strip_addresses(const Flow& flow, const SerialLoop& loop) {
  return Finder(flow, loop).find();
}

}  // namespace morgana::device::jit
