#include "device/observe/hazard_rows.h"

#include <algorithm>
#include <string_view>

#include "device/isa/effects.h"

namespace morgana::device {
namespace {

using isa::Format;
using isa::Op;

constexpr uint32_t kAll = (1u << kGcnTargetCount) - 1;
constexpr uint32_t bit_of(Target target) { return 1u << static_cast<uint32_t>(target); }
constexpr uint32_t from(Target target) { return kAll & ~(bit_of(target) - 1); }
constexpr uint32_t from_to(Target first, Target last) { return from(first) & (bit_of(last) * 2 - 1); }

struct TableRow {
  HazardRow row;
  uint32_t targets;
};

constexpr std::array<uint8_t, 4> waits(int a) {
  const auto one = static_cast<uint8_t>(a);
  return {one, one, one, one};
}
constexpr std::array<uint8_t, 4> waits(const std::array<uint8_t, 4>& all) { return all; }

#define ALL kAll
#define FROM(target) from(Target::target)
#define FROM_TO(first, last) from_to(Target::first, Target::last)
#define ONLY(target) bit_of(Target::target)
#define WAITS(...) (std::array<uint8_t, 4>{__VA_ARGS__})
#define HAZARD(first, second, link, wait, targets, source) \
  {{Event::first, Event::second, Link::link, waits(wait), source}, targets},
constexpr TableRow kRows[] = {
#include "device/observe/hazards.def"
};

bool begins_with_one_of(std::string_view mnemonic, std::initializer_list<std::string_view> begins) {
  return std::ranges::any_of(begins, [&](std::string_view begin) { return mnemonic.starts_with(begin); });
}

// CDNA4 guide, table 12.
bool is_trans(std::string_view mnemonic) {
  return begins_with_one_of(mnemonic,
                            {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"});
}

bool reads_code(const isa::Inst& inst, uint16_t code) {
  return std::any_of(inst.src.begin(), inst.src.begin() + inst.n_src,
                     [code](const isa::Operand& one) { return one.present() && one.code == code; });
}

uint64_t matrix_events(const TargetInfo& target, const isa::Inst& inst) {
  const std::string_view mnemonic = inst.row->mnemonic;
  uint64_t events = bit(Event::matrix);
  if (inst.row->dst[0] == isa::Type::f64 || mnemonic.starts_with("v_mfma_f64")) {
    events |= bit(Event::f64_matrix) | bit(Event::no_xdl_matrix);
    return events | bit(mnemonic.starts_with("v_mfma_f64_4x4") ? Event::small_f64 : Event::large_f64);
  }
  events |= bit(Event::matrix32);
  if (!target.is_gfx940) return events;
  // Those of f32 are no XDL instructions since gfx940 (CDNA4 guide 7.6).
  const bool is_single = mnemonic.ends_with("_f32") && !mnemonic.ends_with("_xf32");
  return events | (is_single ? bit(Event::sgemm) | bit(Event::no_xdl_matrix) : bit(Event::xdl));
}

uint64_t valu_events(const TargetInfo& target, const isa::Inst& inst) {
  const std::string_view mnemonic = inst.row->mnemonic;
  uint64_t events = bit(Event::valu) | bit(Event::vector);
  const bool is_matrix = inst.row->flags & (isa::kMfma | isa::kSmfmac);
  const bool is_dot = mnemonic.starts_with("v_dot");
  events |= is_matrix ? matrix_events(target, inst) : bit(Event::no_matrix);
  if (is_dot) events |= bit(Event::dot);
  if (!is_matrix && !is_dot) events |= bit(Event::plain_valu);
  events |= bit(is_trans(mnemonic) ? Event::trans : Event::not_trans);
  if (inst.dpp) events |= bit(Event::dpp);
  const uint32_t written_part = mnemonic.starts_with("v_cvt_sr_") ? 12 : 8;  // one of four bytes; a half
  if (inst.sdwa ? inst.dst_sel != 6 && inst.row->format != Format::VOPC : (inst.op_sel & written_part) != 0)
    events |= bit(Event::part);
  if (reads_code(inst, isa::kSrcVccz) || reads_code(inst, isa::kSrcExecz)) events |= bit(Event::zero_flag);
  if (reads_code(inst, isa::kSrcLdsDirect)) events |= bit(Event::lds_direct);
  if (mnemonic.starts_with("v_permlane")) events |= bit(Event::permlane);
  switch (inst.row->op) {
    case Op::v_div_fmas_f32:
    case Op::v_div_fmas_f64: return events | bit(Event::div_fmas);
    case Op::v_readlane_b32:
      return events | bit(Event::lane_move) | bit(Event::lane_read) | bit(Event::lane_any);
    case Op::v_readfirstlane_b32: return events | bit(Event::lane_read) | bit(Event::lane_any);
    case Op::v_writelane_b32: return events | bit(Event::lane_move) | bit(Event::lane_any);
    case Op::v_fma_f64:
    case Op::v_fmac_f64: return events | bit(Event::fma_f64);
    case Op::v_accvgpr_read_b32: return events | bit(Event::acc_read);
    case Op::v_accvgpr_write_b32: return events | bit(Event::acc_write);
    default: return events;
  }
}

uint64_t memory_events(const isa::Inst& inst, const UsedRegisters& used) {
  uint64_t events = bit(Event::vector) | bit(Event::memory) | bit(Event::no_matrix);
  const uint32_t flags = inst.row->flags;
  if (inst.row->format == Format::DS) {
    if (inst.gds || (flags & isa::kGws)) events |= bit(Event::message);
    if (inst.row->op == Op::ds_read_addtid_b32 || inst.row->op == Op::ds_write_addtid_b32)
      events |= bit(Event::add_tid);
    return events;
  }
  events |= bit(Event::vector_memory);
  if (inst.lds || (flags & (isa::kLdsDst | isa::kLdsSrc))) events |= bit(Event::lds_dma);
  // Buffer stores with an SGPR as offset do not need it, and images have descriptors of 256 bits (table 11).
  const bool has_offset =
      (inst.row->format == Format::MUBUF || inst.row->format == Format::MTBUF) && used.src[3].count != 0;
  if ((flags & (isa::kStore | isa::kAtomic)) && used.src[1].count > 2 && !has_offset &&
      inst.row->format != Format::MIMG)
    events |= bit(Event::wide_store);
  return events;
}

uint64_t scalar_events(const isa::Inst& inst) {
  const uint64_t salu = bit(Event::salu);
  const uint32_t hardware = inst.simm16 & 63u, first = inst.simm16 >> 6 & 31,
                 count = (inst.simm16 >> 11) + 1u;
  constexpr uint32_t kMode = 1, kTrapsts = 3, kVskip = 28;
  switch (inst.row->op) {
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32:
      return salu | bit(Event::setreg) | (hardware == kTrapsts ? bit(Event::setreg_trapsts) : 0) |
             (hardware == kMode && kVskip - first < count ? bit(Event::setreg_vskip) : 0);
    case Op::s_getreg_b32:
      return salu | bit(Event::getreg) | (hardware == kMode ? bit(Event::getreg_mode) : 0);
    case Op::s_setvskip: return salu | bit(Event::setvskip);
    case Op::s_movrels_b32:
    case Op::s_movrels_b64:
    case Op::s_movreld_b32:
    case Op::s_movreld_b64: return salu | bit(Event::scalar_relative);
    case Op::s_rfe_b64:
    case Op::s_rfe_restore_b64: return salu | bit(Event::rfe);
    case Op::s_sendmsg:
    case Op::s_sendmsghalt:
    case Op::s_ttracedata: return bit(Event::message);
    default: return is_salu(inst.row->format) ? salu : 0;
  }
}

}  // namespace

std::vector<HazardRow> hazard_rows(Target target) {
  std::vector<HazardRow> rows;
  for (const TableRow& one : kRows)
    if (one.targets & bit_of(target)) rows.push_back(one.row);
  return rows;
}

uint64_t events_of(const TargetInfo& target, const isa::Inst& inst, const UsedRegisters& used) {
  const Format format = inst.row->format;
  if (is_valu(format)) return valu_events(target, inst);
  if (isa::is_vector_memory(format) || format == Format::DS) return memory_events(inst, used);
  if (isa::is_scalar_memory(format))
    return bit(Event::scalar_memory) | (used.src[0].count == 4 ? bit(Event::scalar_buffer) : 0);
  return scalar_events(inst);
}

// The guide's own words of each instruction (CDNA4 12.10), and LLVM's schedules of the older targets.
size_t passes_index(const TargetInfo& target, const isa::Inst& inst) {
  constexpr size_t kTwo = 0, kFour = 1, kEight = 2, kSixteen = 3;
  const std::string_view mnemonic = inst.row->mnemonic;
  if (mnemonic.find("_4x4x") != std::string_view::npos) return kTwo;
  const bool is_large = mnemonic.find("_32x32x") != std::string_view::npos;
  if (!target.is_gfx940) return is_large ? kSixteen : kEight;
  const bool is_slow = begins_with_one_of(mnemonic, {"v_mfma_f32_32x32x2_f32", "v_mfma_f32_16x16x4_f32"}) ||
                       mnemonic.find("_2b_") != std::string_view::npos ||
                       mnemonic.find("_4b_") != std::string_view::npos;
  // Twice as long where either matrix is of 8 bits (CDNA4 7.1.5).
  const bool is_long = is_slow || (mnemonic.ends_with("_f8f6f4") && (inst.cbsz < 2 || inst.blgp < 2));
  return is_large ? (is_long ? kSixteen : kEight) : (is_long ? kEight : kFour);
}

}  // namespace morgana::device
