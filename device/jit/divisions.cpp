#include "device/jit/divisions.h"

#include <array>
#include <optional>

namespace morgana::device::jit {
namespace {

using isa::Op;

// The instructions of one block, with the definitions that reach their operands.
class Sequence {
 public:
  Sequence(Flow& flow, const Block& block) : flow_(flow), first_(static_cast<int>(block.first)) {
    std::array<int, kVectorRegisters> vectors;
    std::array<int, kScalarRegisters> scalars;
    vectors.fill(-1);
    scalars.fill(-1);
    reaching_.resize(block.count);
    for (uint32_t k = 0; k < block.count; k++) {
      const Instruction& i = flow.instructions[block.first + k];
      if (i.how == How::vector) {
        const isa::Inst& inst = *i.step->inst;
        for (int s = 0; s < inst.n_src && s < 4; s++)
          for (unsigned d = 0; d < 2 && d < inst.src[s].dwords; d++) {
            const isa::Operand& operand = inst.src[s];
            if (operand.is_vgpr())
              reaching_[k].of[s][d] = vectors[operand.code - isa::kVgprBase + d];
            else if (operand.code + d < isa::kRegisterEnd)
              reaching_[k].of[s][d] = scalars[operand.code + d];
          }
        reaching_[k].vcc = scalars[isa::kVccLo];
      } else if (i.how == How::scalar && i.step->inst->row->op == moves_mask() &&
                 i.step->inst->src[0].code < isa::kRegisterEnd) {
        reaching_[k].of[0][0] = scalars[i.step->inst->src[0].code];
      }
      const int number = first_ + static_cast<int>(k);
      for (int w = 0; w < i.n_v_writes; w++)
        for (unsigned r = 0; r < i.v_writes[w].count; r++) vectors[i.v_writes[w].first + r] = number;
      for (int code = 0; code < kScalarRegisters; code++)
        if (i.s_writes.test(static_cast<size_t>(code))) scalars[code] = number;
    }
  }

  // Whether instruction `fixup` ends a division.
  bool ends_division(int fixup, bool wide) const {
    const auto op = [&](Op single, Op dual) { return wide ? dual : single; };
    if (!is_plain(fixup, op(Op::v_div_fixup_f32, Op::v_div_fixup_f64))) return false;
    const Value denominator{fixup, 1}, numerator{fixup, 2};
    const int fmas = definition({fixup, 0});
    if (!is_plain(fmas, op(Op::v_div_fmas_f32, Op::v_div_fmas_f64))) return false;
    const int last = definition({fmas, 0}), reciprocal = definition({fmas, 1}),
              quotient = definition({fmas, 2});
    // last = scaled numerator - scaled denominator * quotient
    const auto remainder = residual(last, quotient);
    if (!remainder) return false;
    const auto [d, n] = *remainder;
    const Op scale = op(Op::v_div_scale_f32, Op::v_div_scale_f64);
    if (!is_plain(d, scale) || !is_plain(n, scale) || !is_mask_of(fmas, n)) return false;
    for (const int s : {d, n})
      if (!is_same({s, 1}, denominator) || !is_same({s, 2}, numerator)) return false;
    if (!is_same({d, 0}, denominator) || !is_same({n, 0}, numerator)) return false;
    const int start = wide ? step(reciprocal, d) : reciprocal;
    const int estimate = step(start, d);
    if (!is_plain(estimate, op(Op::v_rcp_f32, Op::v_rcp_f64)) || definition({estimate, 0}) != d) return false;
    if (wide) return is_product(quotient, n, reciprocal, Op::v_mul_f64);
    // quotient = first + (scaled numerator - scaled denominator * first) * reciprocal
    const auto sum = fma(quotient);
    if (!sum) return false;
    const int first = definition(sum->c);
    if (!is_product(first, n, reciprocal, Op::v_mul_f32)) return false;
    for (const auto& [a, b] : {std::pair{sum->a, sum->b}, std::pair{sum->b, sum->a}})
      if (definition(b) == reciprocal && residual(definition(a), first) == remainder) return !sum->negated;
    return false;
  }

 private:
  // Source `source` of instruction number `at`.
  struct Value {
    int at, source;
  };
  struct Fma {
    Value a, b, c;
    bool negated;  // the first factor
  };
  struct Reaching {
    int of[4][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    int vcc = -1;
  };

  const isa::Inst& instruction(int number) const { return *flow_.instructions[number].step->inst; }
  const Reaching& reaching(int number) const { return reaching_[static_cast<size_t>(number - first_)]; }

  bool is_bare(int number, Op op) const {
    if (number < 0) return false;
    const Instruction& i = flow_.instructions[number];
    if (i.how != How::vector) return false;
    const isa::Inst& inst = *i.step->inst;
    return inst.row->op == op && !inst.abs && !inst.omod && !inst.clamp && !inst.op_sel && !inst.sdwa &&
           !inst.dpp;
  }
  bool is_plain(int number, Op op) const { return is_bare(number, op) && !instruction(number).neg; }

  Op moves_mask() const { return flow_.mask_dwords() == 1 ? Op::s_mov_b32 : Op::s_mov_b64; }
  // Whether VCC, which instruction `fmas` reads, is the mask that `scale` has written, there or to be moved.
  bool is_mask_of(int fmas, int scale) const {
    const int from = reaching(fmas).vcc;
    if (from < 0) return false;
    const uint16_t code = instruction(scale).dst[1].code;
    if (from == scale) return code == isa::kVccLo;
    const isa::Inst& move = instruction(from);
    return move.row->op == moves_mask() && move.src[0].code == code && reaching(from).of[0][0] == scale;
  }
  // The instruction of this block that a register operand comes from, or -1.
  int definition(Value value) const {
    const isa::Operand& operand = instruction(value.at).src[value.source];
    if (!operand.is_vgpr()) return -1;
    const int* from = reaching(value.at).of[value.source];
    if (from[0] < 0 || (operand.dwords == 2 && from[0] != from[1])) return -1;
    const isa::Operand& result = instruction(from[0]).dst[0];
    return result.code == operand.code && result.dwords == operand.dwords ? from[0] : -1;
  }
  bool is_same(Value a, Value b) const {
    const isa::Inst &x = instruction(a.at), &y = instruction(b.at);
    const isa::Operand &p = x.src[a.source], &q = y.src[b.source];
    if (p.code != q.code || p.dwords != q.dwords || p.is_agpr() || p.code == isa::kSrcLdsDirect ||
        x.literal != y.literal)
      return false;
    for (int d = 0; d < 2; d++)
      if (reaching(a.at).of[a.source][d] != reaching(b.at).of[b.source][d]) return false;
    return true;
  }

  std::optional<Fma> fma(int number) const {
    for (const Op op : {Op::v_fma_f32, Op::v_fmac_f32, Op::v_fma_f64, Op::v_fmac_f64}) {
      if (!is_bare(number, op) || instruction(number).n_src < 3) continue;
      const uint8_t neg = instruction(number).neg;
      if (neg == 2) return Fma{{number, 1}, {number, 0}, {number, 2}, true};
      if (neg < 2) return Fma{{number, 0}, {number, 1}, {number, 2}, neg == 1};
    }
    return std::nullopt;
  }
  bool is_product(int number, int x, int y, Op op) const {
    if (!is_plain(number, op)) return false;
    const int a = definition({number, 0}), b = definition({number, 1});
    return (a == x && b == y) || (a == y && b == x);
  }
  // number = n - d * value: d and n.
  std::optional<std::pair<int, int>> residual(int number, int value) const {
    const auto f = fma(number);
    if (!f || !f->negated || value < 0) return std::nullopt;
    const int a = definition(f->a), b = definition(f->b);
    if (a != value && b != value) return std::nullopt;
    return std::pair{b == value ? a : b, definition(f->c)};
  }
  // number = (1 - d * r) * r + r: r, or -1.
  int step(int number, int d) const {
    const auto f = fma(number);
    if (!f || f->negated) return -1;
    const int r = definition(f->c);
    if (r < 0) return -1;
    for (const auto& [error, factor] : {std::pair{f->a, f->b}, std::pair{f->b, f->a}}) {
      if (definition(factor) != r) continue;
      const int e = definition(error);
      const auto g = e < 0 ? std::nullopt : fma(e);
      if (!g || !g->negated || instruction(g->c.at).src[g->c.source].code != isa::kInlineOne) continue;
      const int a = definition(g->a), b = definition(g->b);
      if ((a == d && b == r) || (a == r && b == d)) return r;
    }
    return -1;
  }

  const Flow& flow_;
  const int first_;
  std::vector<Reaching> reaching_;
};

}  // namespace

void find_divisions(Flow& flow, const Mode& mode) {
  for (const Block& block : flow.blocks) {
    std::optional<Sequence> sequence;
    for (uint32_t k = 0; k < block.count; k++) {
      Instruction& i = flow.instructions[block.first + k];
      if (i.how != How::vector) continue;
      const Op op = i.step->inst->row->op;
      const bool wide = op == Op::v_div_fixup_f64;
      if (!wide && op != Op::v_div_fixup_f32) continue;
      // The sequence divides with one rounding as long as nothing is flushed on the way.
      if ((wide ? mode.denorm16_64() : mode.denorm32()) != 3) continue;
      if (!sequence) sequence.emplace(flow, block);
      i.divides = sequence->ends_division(static_cast<int>(block.first + k), wide);
    }
  }
}

}  // namespace morgana::device::jit
