#include "device/observe/follower.h"

#include <algorithm>
#include <string_view>

#include "device/isa/cancels.h"
#include "device/isa/dual.h"

namespace morgana::device {
namespace {

using isa::Class;
using isa::Fn;
using isa::Op;
using isa::Operand;
using isa::Type;

// Functions that put parts of their operands side by side: open where all of them are.
bool gathers(std::string_view mnemonic) {
  constexpr std::string_view kBegins[] = {"v_perm_",   "v_align",   "v_pack_",   "v_cvt_pk", "v_pk_",
                                          "v_bitop3_", "v_mad_mix", "v_fma_mix", "v_dot",    "v_cvt_sr"};
  return std::ranges::any_of(kBegins, [&](auto begin) { return mnemonic.starts_with(begin); });
}

uint64_t both(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

// A mask is one register in a wave of 32.
bool is_wide(const Operand& operand) {
  return operand.dwords == 2 || (operand.type == Type::mask && operand.dwords != 1);
}

// The bits of a dword that the instruction takes of a source.
uint32_t taken(const isa::Inst& inst, size_t source) {
  if (inst.sdwa && source < 2) {
    const uint8_t select = inst.src_sel[source];
    return select < 4 ? 0xffu << select * 8 : select == 4 ? 0xffffu : select == 5 ? 0xffff'0000u : kAllBits;
  }
  if (isa::is_16_bit(inst.src[source].type)) return inst.op_sel >> source & 1 ? 0xffff'0000u : 0xffffu;
  return kAllBits;
}

}  // namespace

Shadowed Follower::scalar(const Operand& operand) const {
  const uint32_t code = operand.code;
  const int width = is_wide(operand) ? 64 : 32;
  if (code < isa::kRegisterEnd)
    return {isa::number_of(wave_.s[code] | uint64_t{wave_.s[code + 1]} << 32, width),
            both(open_.scalar[code].open, open_.scalar[code + 1].open) & isa::ones(width),
            both(open_.scalar[code].used, open_.scalar[code + 1].used) & isa::ones(width)};
  if (code == isa::kSrcScc)
    return {isa::number_of(wave_.scc, width), open_.scc ? uint64_t{1} : 0, open_.scc ? uint64_t{1} : 0};
  if (code == isa::kLiteral)
    return known(static_cast<uint64_t>(int64_t{static_cast<int32_t>(inst_.literal)}), width);
  if (isa::is_inline_integer(code))
    return known(static_cast<uint64_t>(int64_t{isa::inline_integer(code)}), width);
  return known(wave_.s[code & 255], width);
}

Shadowed Follower::lane(const Operand& operand, uint32_t lane) const {
  if (operand.is_scalar()) {
    Shadowed whole = scalar(operand);
    if (operand.type != Type::mask) return whole;
    return {isa::number_of(whole.value.bits >> lane, 1), whole.open >> lane & 1, whole.used >> lane & 1};
  }
  const size_t at = slot(operand) * kLanes + lane;
  const bool wide = operand.dwords == 2;
  const uint64_t value = wave_.v[at] | (wide ? uint64_t{wave_.v[at + kLanes]} << 32 : 0);
  const OpenBits low = open_.vector[at], high = wide ? open_.vector[at + kLanes] : OpenBits();
  return {isa::number_of(value, wide ? 64 : 32), both(low.open, high.open), both(low.used, high.used)};
}

// Whether any bit that may matter is.
bool Follower::is_open(const Operand& operand) const {
  if (!operand.present()) return false;
  const uint32_t dwords = std::max<uint32_t>(operand.dwords, is_wide(operand) ? 2 : 1);
  uint32_t any = 0;
  if (operand.is_scalar()) {
    if (operand.code == isa::kSrcScc) return open_.scc;
    for (uint32_t d = 0; d < dwords && operand.code + d < isa::kRegisterEnd; d++)
      any |= open_.scalar[operand.code + d];
    return any != 0;
  }
  const OpenBits* const at = open_.vector.data() + slot(operand) * kLanes;
  for (size_t i = 0; i < size_t{dwords} * kLanes; i++) any |= at[i];
  return any != 0;
}

bool Follower::is_wholly_open(size_t source, uint32_t lane) const {
  const Operand& operand = inst_.src[source];
  if (!operand.present()) return false;
  const uint32_t bits = taken(inst_, source);
  if (operand.is_scalar()) {
    if (operand.code >= isa::kRegisterEnd) return false;
    if (operand.type == Type::mask) return scalar(operand).open >> lane & 1;
    for (uint32_t d = 0; d < operand.dwords; d++)
      if ((open_.scalar[operand.code + d] & bits) != bits) return false;
    return true;
  }
  if (inst_.dpp && source == 0) return is_wholly_open(operand);
  const OpenBits* const at = open_.vector.data() + slot(operand) * kLanes + lane;
  for (uint32_t d = 0; d < operand.dwords; d++)
    if ((at[size_t{d} * kLanes] & bits) != bits) return false;
  return true;
}

// Whether it is a float of which a part is: no instruction takes only the rest.
bool Follower::is_number_in_part(size_t source, uint32_t lane) const {
  const Type type = inst_.src[source].type;
  return (type == Type::f32 || type == Type::f64) && !inst_.sdwa && !inst_.dpp &&
         this->lane(inst_.src[source], lane).open != 0;
}

// In all lanes.
bool Follower::is_wholly_open(const Operand& operand) const {
  if (!operand.present()) return false;
  if (operand.is_scalar()) {
    if (operand.code >= isa::kRegisterEnd) return false;
    for (uint32_t d = 0; d < operand.dwords; d++)
      if (open_.scalar[operand.code + d] != kAllBits) return false;
    return true;
  }
  const OpenBits* const at = open_.vector.data() + slot(operand) * kLanes;
  return std::all_of(at, at + size_t{operand.dwords} * kLanes,
                     [](uint32_t bits) { return bits == kAllBits; });
}

void Follower::set_scalar(const Operand& operand, uint64_t open, uint64_t used) {
  if (!operand.present() || operand.code >= isa::kRegisterEnd || operand.code == isa::kNull) return;
  const bool wide = is_wide(operand);
  if (operand.code == isa::kExecLo || operand.code == isa::kExecHi) return report_choice(open);
  open_.scalar[operand.code] = {static_cast<uint32_t>(open), static_cast<uint32_t>(used)};
  if (wide)
    open_.scalar[operand.code + 1] = {static_cast<uint32_t>(open >> 32), static_cast<uint32_t>(used >> 32)};
}

void Follower::set_lane(const Operand& operand, uint32_t lane, uint64_t open, uint64_t used) {
  for (uint32_t d = 0; d < operand.dwords; d++) {
    const uint32_t shift = d == 0 ? 0 : 32;
    vector(operand, d, lane) = {static_cast<uint32_t>(open >> shift), static_cast<uint32_t>(used >> shift)};
  }
}

// Written: in the active lanes.
void Follower::close(const Operand& operand) {
  if (!operand.present()) return;
  if (operand.is_scalar()) {
    if (operand.code == isa::kNull) return;
    for (uint32_t d = 0; d < std::max<uint32_t>(operand.dwords, is_wide(operand) ? 2 : 1); d++)
      if (operand.code + d < isa::kRegisterEnd) open_.scalar[operand.code + d] = 0;
    return;
  }
  for (uint32_t d = 0; d < operand.dwords; d++) {
    OpenBits* const at = &vector(operand, d, 0);
    if (~exec_ == 0)
      std::fill_n(at, kLanes, 0);
    else
      for_lanes(exec_, [at](uint32_t l) { at[l] = 0; });
  }
}

void Follower::report(uint32_t lane, std::string what, const char* why, const Access* access) {
  if (!reporter_.is_new(FindingKind::uninitialized, moment_.pc)) return;
  Finding finding;
  finding.kind = FindingKind::uninitialized;
  finding.detail = why;
  if (access != nullptr) {
    finding.space = access->space;
    finding.has_address = true;
    finding.address = access->address[lane];
  }
  finding.sides.push_back(
      reporter_.side(wave_, moment_.pc, lane, std::move(what), access != nullptr && access->writes));
  reporter_.report(std::move(finding));
}

void Follower::report_choice(uint64_t open) {
  if (open == 0) return;
  report(static_cast<uint32_t>(__builtin_ctzll(open)), "choice of lanes",
         "which lanes go on depends on a value that nobody has written");
}

Shadowed Follower::Algebra::leaf(const isa::Term& term) const {
  const isa::Inst& inst = follower.inst_;
  const auto mask = [&](uint64_t value, uint64_t open) -> Shadowed {
    if (lane < 0) return {isa::number_of(value, 64), open};
    return {isa::number_of(value >> lane, 1), open >> lane & 1};
  };
  const auto operand = [&](const Operand& of) {
    return lane < 0 ? follower.scalar(of) : follower.lane(of, static_cast<uint32_t>(lane));
  };
  switch (term.fn) {
    case Fn::source: return operand(inst.src[static_cast<size_t>(term.value)]);
    case Fn::constant: return {isa::constant_of(term), 0};
    case Fn::signed_immediate:
      return known(static_cast<uint64_t>(int64_t{static_cast<int16_t>(inst.simm16)}), 32);
    case Fn::unsigned_immediate: return known(inst.simm16, 32);
    case Fn::scc: return {isa::number_of(follower.wave_.scc, 1), follower.open_.scc ? uint64_t{1} : 0};
    case Fn::vcc:
      return mask(follower.wave_.vcc(),
                  (follower.open_.scalar[isa::kVccLo] | uint64_t{follower.open_.scalar[isa::kVccHi]} << 32) &
                      follower.wave_.lanes);
    case Fn::exec: return mask(follower.exec_, 0);
    case Fn::result: return result;
    case Fn::old: return operand(inst.dst[0]);
    default: return known(0, 64);
  }
}

void Follower::follow_scalar() {
  bool any = false;
  for (int i = 0; i < inst_.n_src; i++) any |= is_open(inst_.src[static_cast<size_t>(i)]);
  if (effects_.reads & isa::kStateScc) any |= open_.scc;
  if (effects_.result.has(Fn::old)) any |= is_open(inst_.dst[0]);
  const bool sets_scc = effects_.writes & isa::kStateScc;
  if (!any || isa::cancels(inst_)) {
    close(inst_.dst[0]);
    if (sets_scc) open_.scc = false;
    return;
  }
  Algebra algebra{*this, -1, {}};
  if (effects_.result.empty() && inst_.n_dst > 0) {
    // Fields of bits and their like: of what is open in part all.
    set_scalar(inst_.dst[0], ~uint64_t{0});
    if (sets_scc) open_.scc = true;
    return;
  }
  if (!effects_.result.empty()) algebra.result = isa::evaluate<Shadowed>(effects_.result, algebra);
  const Shadowed scc = sets_scc ? isa::evaluate<Shadowed>(effects_.scc, algebra) : Shadowed{};
  const Shadowed exec = effects_.exec.empty() ? Shadowed{} : isa::evaluate<Shadowed>(effects_.exec, algebra);
  if (sets_scc) open_.scc = scc.open != 0;
  report_choice(exec.open);
  if (exec.open != 0 && sets_scc) open_.scc = false;
  if (inst_.n_dst > 0) set_scalar(inst_.dst[0], algebra.result.open, algebra.result.used);
}

void Follower::follow_control() {
  const Op op = inst_.row->op;
  if (op == Op::s_set_gpr_idx_on) open_.is_indexed = true;
  if (op == Op::s_set_gpr_idx_off) open_.is_indexed = false;
  const uint32_t first = exec_ != 0 ? static_cast<uint32_t>(__builtin_ctzll(exec_)) : 0;
  switch (effects_.control) {
    case isa::Control::branch:
      if (isa::evaluate<Shadowed>(effects_.condition, Algebra{*this, -1, {}}).open != 0) {
        report(first, "branch", "the branch depends on a value that nobody has written");
        if (effects_.condition.has(Fn::scc)) open_.scc = false;
        if (effects_.condition.has(Fn::vcc)) open_.scalar[isa::kVccLo] = open_.scalar[isa::kVccHi] = 0;
      }
      break;
    case isa::Control::set_pc:
    case isa::Control::swap_pc:
      if (is_open(inst_.src[0])) {
        report(first, "jump", "the way depends on a value that nobody has written");
        close(inst_.src[0]);
      }
      break;
    default: break;
  }
  if (inst_.n_dst > 0) close(inst_.dst[0]);
}

// Whether the table's expression is what the instruction computes, with all its modifiers.
bool Follower::is_exact() const {
  if (effects_.result.empty() || inst_.sdwa || inst_.dpp || inst_.clamp || inst_.op_sel != 0 ||
      inst_.omod != 0)
    return false;
  for (int i = 0; i < inst_.n_src; i++) {
    const Type type = inst_.src[static_cast<size_t>(i)].type;
    if (isa::is_16_bit(type) || isa::is_packed_16_bit(type) || isa::is_packed_32_bit(type)) return false;
  }
  return true;
}

void Follower::follow_lane(uint32_t lane, bool is_exact, std::array<uint64_t, 2>& masks) {
  if (!is_exact) return follow_function(lane, masks);
  Algebra algebra{*this, static_cast<int>(lane), {}};
  algebra.result = isa::evaluate<Shadowed>(effects_.result, algebra);
  std::array<uint64_t, 2> open{algebra.result.open, 0};
  if (inst_.n_dst > 1 && inst_.dst[1].present())
    open[1] = effects_.second.empty() ? (open[0] != 0 ? ~uint64_t{0} : 0)
                                      : isa::evaluate<Shadowed>(effects_.second, algebra).open;
  for (size_t d = 0; d < inst_.n_dst; d++) {
    const Operand& to = inst_.dst[d];
    if (!to.present()) continue;
    if (to.is_scalar())
      masks[d] |= (open[d] & 1) << lane;
    else
      set_lane(to, lane, open[d], d == 0 ? algebra.result.used : 0);
  }
}

void Follower::follow_function(uint32_t lane, std::array<uint64_t, 2>& masks) {
  bool any = false, all = true;
  for (size_t i = 0; i < inst_.n_src; i++) {
    if (!inst_.src[i].present() || (inst_.src[i].is_scalar() && inst_.src[i].code >= isa::kRegisterEnd))
      continue;
    const bool open = is_wholly_open(i, lane) || is_number_in_part(i, lane);
    any |= open;
    all &= open;
  }
  const bool open =
      compares_halves() ? is_comparison_open(lane) : any && (all || !gathers(inst_.row->mnemonic));
  for (size_t d = 0; d < inst_.n_dst; d++) {
    const Operand& to = inst_.dst[d];
    if (!to.present()) continue;
    if (to.is_scalar()) {
      if (open) masks[d] |= uint64_t{1} << lane;
      continue;
    }
    uint32_t written = kAllBits, kept = 0;
    if (inst_.sdwa && inst_.dst_sel != 6) {
      written = inst_.dst_sel < 4 ? 0xffu << inst_.dst_sel * 8 : inst_.dst_sel == 4 ? 0xffffu : 0xffff'0000u;
      if (inst_.dst_unused == 2) kept = ~written;
    } else if (isa::is_16_bit(to.type)) {
      written = inst_.op_sel & 8 ? 0xffff'0000u : 0xffffu;
      kept = inst_.op_sel & 8 ? 0xffffu : 0;
    }
    for (uint32_t dword = 0; dword < to.dwords; dword++) {
      OpenBits& bits = vector(to, dword, lane);
      bits = (bits & kept) | (open ? written : 0);
    }
  }
}

void Follower::follow_lanes() {
  if (open_.is_indexed) {
    std::ranges::fill(open_.vector, 0);
    for (size_t d = 0; d < inst_.n_dst; d++) close(inst_.dst[d]);
    return;
  }
  bool any = false;
  for (size_t i = 0; i < inst_.n_src; i++) any |= is_open(inst_.src[i]);
  if (!any || isa::cancels(inst_)) {
    for (size_t d = 0; d < inst_.n_dst; d++) close(inst_.dst[d]);
    return;
  }
  std::array<uint64_t, 2> masks{};
  if (is_packed()) return for_lanes(exec_, [&](uint32_t l) { follow_packed(l); });
  const bool exact = is_exact();
  for_lanes(exec_, [&](uint32_t l) { follow_lane(l, exact, masks); });
  for (size_t d = 0; d < inst_.n_dst; d++)
    if (inst_.dst[d].present() && inst_.dst[d].is_scalar()) set_scalar(inst_.dst[d], masks[d]);
  if (inst_.row->flags & isa::kWritesExec) report_choice(masks[0]);
}

void Follower::follow_cross() {
  const Op op = inst_.row->op;
  const Operand& to = inst_.dst[0];
  if (op == Op::v_readfirstlane_b32 || op == Op::v_readlane_b32) {
    uint32_t from = exec_ != 0 ? static_cast<uint32_t>(__builtin_ctzll(exec_)) : 0;
    if (op == Op::v_readlane_b32)
      from = static_cast<uint32_t>(scalar(inst_.src[1]).value.bits) % wave_.lane_count();
    const Shadowed read = lane(inst_.src[0], from);
    set_scalar(to, read.open, read.used);
    return;
  }
  if (op == Op::v_writelane_b32) {
    const auto at = static_cast<uint32_t>(scalar(inst_.src[1]).value.bits) % wave_.lane_count();
    const Shadowed written = scalar(inst_.src[0]);
    vector(to, 0, at) = {static_cast<uint32_t>(written.open), static_cast<uint32_t>(written.used)};
    return;
  }
  // What v_permlane16 and its like find in the destination stays only where there is no lane to read.
  const bool keeps_old = inst_.row->flags & isa::kTiedDst && inst_.n_dst == 1;
  bool open = false;
  for (size_t i = 0; i + (keeps_old ? 1 : 0) < inst_.n_src; i++) open |= is_wholly_open(inst_.src[i]);
  for (size_t d = 0; d < inst_.n_dst; d++) {
    const Operand& target = inst_.dst[d];
    if (!target.present() || target.is_scalar()) continue;
    std::fill_n(&vector(target, 0, 0), size_t{target.dwords} * kLanes, open ? kAllBits : 0);
  }
}

void Follower::follow_opaque() {
  const Op op = inst_.row->op;
  const uint32_t index = wave_.m0();
  const size_t vectors = open_.vector.size() / kLanes;
  if (op == Op::v_movrels_b32 || op == Op::v_movreld_b32 || op == Op::v_movrelsd_b32) {
    const size_t to = slot(inst_.dst[0]) + (op == Op::v_movrels_b32 ? 0 : index);
    if (to >= vectors) return;
    for_lanes(exec_, [&](uint32_t l) {
      OpenBits bits;
      if (inst_.src[0].is_scalar()) {
        bits = static_cast<uint32_t>(scalar(inst_.src[0]).open);
      } else {
        const size_t from = slot(inst_.src[0]) + (op == Op::v_movreld_b32 ? 0 : index);
        if (from < vectors) bits = open_.vector[from * kLanes + l];
      }
      open_.vector[to * kLanes + l] = bits;
    });
    return;
  }
  if (op == Op::s_movreld_b32 || op == Op::s_movreld_b64) {
    const uint32_t to = inst_.dst[0].code + index;
    for (uint32_t d = 0; d < inst_.dst[0].dwords; d++)
      if (to + d < isa::kRegisterEnd)
        open_.scalar[to + d] = static_cast<uint32_t>(scalar(inst_.src[0]).open >> d * 32);
    return;
  }
  for (size_t d = 0; d < inst_.n_dst; d++) close(inst_.dst[d]);
}

void Follower::follow() {
  if (inst_.second != nullptr) {
    if (const auto halves = isa::halves(inst_)) {
      for (const isa::Inst& half : *halves)
        Follower({wave_, half, moment_.pc, moment_.accesses}, group_, reporter_).follow();
      return;
    }
  }
  switch (effects_.kind) {
    case Class::scalar: return follow_scalar();
    case Class::control: return follow_control();
    case Class::lanes:
    case Class::position: return follow_lanes();
    case Class::cross: return follow_cross();
    case Class::access: return follow_access();
    case Class::opaque: return follow_opaque();
    default: return;
  }
}

}  // namespace morgana::device
