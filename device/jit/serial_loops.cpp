#include "device/jit/serial_loops.h"

#include <algorithm>
#include <array>

#include "device/isa/constants.h"
#include "device/isa/effects.h"

namespace morgana::device::jit {
namespace {

// Steps of a chain of results through one iteration, in cycles of the host: a lane alone waits for it.
constexpr int kFloatSteps = 4, kMostSteps = 9;
// Lane by lane pays when there are no more other instructions than this for a gather.
constexpr uint32_t kOthersPerGather = 6;

// A bf16 comes from a conversion, which is quicker.
bool has_float_steps(isa::Type type) {
  return isa::is_float(type) && type != isa::Type::bf16 && type != isa::Type::pk_bf16;
}

// Bit by bit, so that a lane's bit follows from its own bits.
bool is_bitwise(const isa::Expression& value) {
  struct Bitwise {
    bool leaf(const isa::Term& term) const { return term.fn == isa::Fn::source; }
    bool apply(isa::Fn fn, const bool* v) const {
      if (fn == isa::Fn::invert) return v[0];
      return (fn == isa::Fn::bit_and || fn == isa::Fn::bit_or || fn == isa::Fn::bit_xor) && v[0] && v[1];
    }
  };
  return !value.empty() && isa::evaluate<bool>(value, Bitwise{});
}
// One lane's bit.
template <class Source>
bool combine(const isa::Expression& value, const Source& source) {
  struct Bits {
    const Source& source;
    isa::Number leaf(const isa::Term& term) const { return {source(term.value), 1}; }
    isa::Number apply(isa::Fn fn, const isa::Number* v) const { return isa::compute(fn, v); }
  };
  return isa::evaluate<isa::Number>(value, Bits{source}).bits != 0;
}

// The constants 0 and -1 are masks too.
constexpr uint16_t kNone = isa::kInlineZero;
bool is_mask_code(const Flow& flow, uint16_t code) {
  if (code == kNone || code == isa::kInlineMinusOne) return true;
  return code < isa::kRegisterEnd && code % 2 == 0 && (code == isa::kExecLo || flow.wide.test(code));
}

class Examiner {
 public:
  Examiner(const Flow& flow, uint32_t index)
      : flow_(flow),
        body_(flow.blocks[index]),
        behind_(index + 2 < flow.blocks.size() ? &flow.blocks[index + 2] : nullptr) {}

  bool examine() {
    const uint32_t last = body_.count - 1;
    for (uint32_t k = 0; k <= last; k++) {
      const Instruction& i = at(k);
      if (i.reads_all || i.crosses_lanes || i.writes_exec != (k == last)) return false;
      if (!(i.how == How::scalar    ? scalar(i)
            : i.how == How::vector  ? vector(i)
            : i.how == How::memory  ? load(i, body_.first + k)
            : i.how == How::nothing ? true
                                    : false))
        return false;
    }
    loop_.instructions = body_.count + 1;
    // What counts as a mask is nowhere read as a number, and SCC says nothing of single lanes.
    for (unsigned code = 0; code < isa::kRegisterEnd; code++)
      if (numbers_.test(code) &&
          (loop_.masks.test(code & ~1u) || code == isa::kExecLo || code == isa::kExecHi))
        return false;
    if (behind_->s_live_in.test(kScc) || body_.s_live_in.test(kScc)) return false;
    return idles() && !waits();
  }

  SerialLoop take() { return std::move(loop_); }

 private:
  const Instruction& at(uint32_t k) const { return flow_.instructions[body_.first + k]; }

  bool mask(const isa::Operand& operand, bool writes) {
    if (operand.dwords != 2 || !is_mask_code(flow_, operand.code)) return false;
    if (operand.code >= isa::kRegisterEnd) return !writes;
    if (operand.code == isa::kExecLo) return true;
    loop_.masks.set(operand.code);
    if (writes) loop_.set_masks.set(operand.code);
    return true;
  }

  bool scalar(const Instruction& i) {
    const isa::Inst& inst = *i.step->inst;
    if (!is_bitwise(isa::effects(inst.row->op).result)) return false;
    for (int s = 0; s < inst.n_src; s++)
      if (!mask(inst.src[s], false)) return false;
    return mask(inst.dst[0], true);
  }

  bool vector(const Instruction& i) {
    const isa::Inst& inst = *i.step->inst;
    const VectorFunction& f = *i.vector;
    if (f.writes_exec || isa::effects(inst.row->op).kind == isa::Class::position) return false;
    for (int s = 0; s < inst.n_src; s++) {
      const isa::Operand& operand = inst.src[s];
      if (!operand.present() || !operand.is_scalar()) continue;
      if (s < f.n_src && f.src_registers[s] == 0) {
        if (i.step->kind[s] != Source::none && !mask(operand, false)) return false;
      } else if (operand.code < isa::kRegisterEnd) {
        for (unsigned d = 0; d < operand.dwords && operand.code + d < isa::kRegisterEnd; d++)
          numbers_.set(operand.code + d);
      } else if (operand.code >= isa::kSrcVccz && operand.code <= isa::kSrcScc) {
        return false;
      }
    }
    if (f.writes_mask && !mask(inst.dst[f.dst_registers ? 1 : 0], true)) return false;
    read_and_write(i);
    loop_.others++;
    return true;
  }

  bool load(const Instruction& i, uint32_t number) {
    const isa::Inst& inst = *i.step->inst;
    if (inst.row->format != isa::Format::GLOBAL || (inst.row->flags & isa::kStore) || i.is_result_dead)
      return false;
    for (int s = 0; s < inst.n_src; s++)
      if (inst.src[s].present() && inst.src[s].is_scalar())
        for (unsigned d = 0; d < inst.src[s].dwords && inst.src[s].code + d < isa::kRegisterEnd; d++)
          numbers_.set(inst.src[s].code + d);
    read_and_write(i);
    loop_.loads.push_back(number);
    return true;
  }

  void read_and_write(const Instruction& i) {
    const VectorSet written = set_of(i.v_writes, i.n_v_writes);
    loop_.reads |= set_of(i.v_reads, i.n_v_reads) & ~loop_.writes;
    if (i.merges) loop_.reads |= written & ~loop_.writes;
    loop_.writes |= written;
  }

  // Whether an iteration leaves a lane outside EXEC as it is: whole waves iterate until the last lane is
  // done.
  bool idles() const {
    std::vector<uint16_t> codes;
    for (uint16_t code = 0; code < isa::kExecLo; code += 2)
      if (loop_.masks.test(code)) codes.push_back(code);
    if (codes.size() > 8) return false;
    for (uint32_t bits = 0; bits < 1u << codes.size(); bits++) {
      std::array<bool, isa::kRegisterEnd> before{};
      for (size_t c = 0; c < codes.size(); c++) before[codes[c]] = bits >> c & 1;
      std::array<bool, isa::kRegisterEnd> now = before;
      const auto value = [&](const isa::Operand& operand) {
        return operand.code == isa::kInlineMinusOne ||
               (operand.code < isa::kRegisterEnd && now[operand.code]);
      };
      for (uint32_t k = 0; k < body_.count; k++) {
        const Instruction& i = at(k);
        const isa::Inst& inst = *i.step->inst;
        if (i.how == How::scalar)
          now[inst.dst[0].code] =
              combine(isa::effects(inst.row->op).result, [&](int s) { return value(inst.src[s]); });
        else if (i.how == How::vector && i.vector->writes_mask)
          now[inst.dst[i.vector->dst_registers ? 1 : 0].code] = false;
      }
      if (now[isa::kExecLo]) return false;
      for (const uint16_t code : codes)
        if (now[code] != before[code] && (behind_->s_live_in.test(code) || body_.s_live_in.test(code)))
          return false;
    }
    return true;
  }

  // Whether a lane alone would wait for its own results: for loads whose addresses other loads gave, or for
  // long chains of arithmetic from one iteration to the next.
  bool waits() {
    VectorSet loaded;  // what follows from a load of this iteration
    std::vector<int> steps(kVectorRegisters, 0);
    const VectorSet carried = loop_.writes & body_.live_in;
    VectorSet addresses;  // registers at the beginning of an iteration that addresses follow from
    std::vector<VectorSet> origin(kVectorRegisters);
    for (unsigned r = 0; r < kVectorRegisters; r++) origin[r].set(r);
    for (uint32_t k = 0; k < body_.count; k++) {
      const Instruction& i = at(k);
      if (i.how != How::vector && i.how != How::memory) continue;
      const bool loads = i.how == How::memory;
      VectorSet read = set_of(i.v_reads, i.n_v_reads), from;
      int most = 0;
      bool follows = loads;
      for (unsigned r = 0; r < kVectorRegisters; r++) {
        if (!read.test(r)) continue;
        most = std::max(most, steps[r]);
        follows = follows || loaded.test(r);
        from |= origin[r];
      }
      if (loads) addresses |= from;
      loop_.is_indirect |= loads && (read & loaded).any();
      const int own = i.step->inst->row->dst[0] == isa::Type::none ? 0
                      : has_float_steps(i.step->inst->row->dst[0]) ? kFloatSteps
                                                                   : 1;
      for (int w = 0; w < i.n_v_writes; w++)
        for (unsigned r = i.v_writes[w].first; r < i.v_writes[w].first + i.v_writes[w].count; r++) {
          loaded.set(r, follows);
          steps[r] = loads ? 0 : most + own;
          origin[r] = from;
        }
    }
    for (unsigned r = 0; r < kVectorRegisters; r++)
      if (carried.test(r) && ((loaded.test(r) && addresses.test(r)) || steps[r] > kMostSteps)) return true;
    return false;
  }

  const Flow& flow_;
  const Block& body_;
  const Block* behind_;
  SerialLoop loop_;
  ScalarSet numbers_;  // scalars that are read as such
};

}  // namespace

std::optional<SerialLoop> serial_loop(const Flow& flow, const Shapes& shapes, uint32_t index) {
  if (index + 2 >= flow.blocks.size()) return std::nullopt;
  const Block &body = flow.blocks[index], &end = flow.blocks[index + 1];
  const Instruction& branch = flow.instructions[end.first];
  if (!body.is_loop_header || end.count != 1 || branch.how != How::branch ||
      isa::branch_test(branch.step->inst->row->op) != isa::BranchTest{isa::Fn::exec, true} ||
      branch.target != flow.instructions[body.first].at ||
      flow.block_of(branch.at + branch.step->dwords) != index + 2 ||
      body.successors != std::vector<uint32_t>{index + 1})
    return std::nullopt;
  if (!shapes.is_reached(index, 0) || !shapes.is_reached(index + 2, 0)) return std::nullopt;
  Examiner examiner(flow, index);
  if (!examiner.examine()) return std::nullopt;
  SerialLoop loop = examiner.take();
  const auto may_gather = [&](uint32_t load) {
    const isa::Inst& inst = *flow.instructions[load].step->inst;
    const bool pair = flow.instructions[load].step->kind[2] == Source::none;
    for (unsigned version = 0; version < 2; version++)
      if (shapes.is_reached(index, version) &&
          shapes.address(load, version, access_bytes(isa::effects(inst.row->op).access), pair).group > 1)
        return false;
    return true;
  };
  loop.gathers = std::max(1u, (loop.others + kOthersPerGather - 1) / kOthersPerGather);
  if (std::count_if(loop.loads.begin(), loop.loads.end(), may_gather) < loop.gathers) return std::nullopt;
  return loop;
}

}  // namespace morgana::device::jit
