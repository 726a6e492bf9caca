// The guest's registers: what holds them, how they come from the Wave and go there, how instructions read and
// write them.
#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/jit/join_halves.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

// Of 64 lanes, of which the host's registers hold two to eight.
constexpr size_t kManyLive = 48;
// Where waves begin, wait for others or give way. Kernels that AMD wrote by hand have up to tens of
// thousands.
constexpr size_t kManyRowsMoved = 3000;

}  // namespace

// Registers that stay in the Wave: those that handlers access for the most part, and in kernels of many
// registers, whose code would mostly move them, those that it would move more often than access.
void Translator::choose_homes() {
  std::vector<int> gain(kVectorRegisters, 0);
  for (const Instruction& i : flow_.instructions) {
    const bool matrix = is_matrix(i);
    const auto count = [&](const Span* spans, int n) {
      for (int s = 0; s < n; s++)
        for (unsigned r = 0; r < spans[s].count; r++) gain[spans[s].first + r] += matrix ? 2 : -1;
    };
    count(i.v_reads, i.n_v_reads);
    count(i.v_writes, i.n_v_writes);
    homes_ |= set_of(&i.indexed, 1);
  }
  for (unsigned r = 0; r < kVectorRegisters; r++)
    if (gain[r] > 0) homes_.set(r);
  if (loops_over_waves(flow_, key_)) return;
  size_t rows = 0;
  const auto moved = [&](const VectorSet& live, unsigned times) {
    rows += times * live.count();
    for (unsigned r = 0; r < kVectorRegisters; r++)
      if (live.test(r)) gain[r] += static_cast<int>(times);
  };
  for (const jit::Block& block : flow_.blocks)
    if (block.is_entry) moved(block.needed, 2);
  if (rows < kManyRowsMoved) return;
  for (const Instruction& i : flow_.instructions)
    if (i.how == How::memory) moved(i.live, 1);
  const VectorSet crowded = crowded_registers();
  for (unsigned r = 0; r < kVectorRegisters; r++)
    if (gain[r] > 0 && crowded.test(r)) homes_.set(r);
}

// Those of loops, and of blocks outside them, where so many are live at once that the host's registers hold
// few of them: LLVM would keep the others on its stack, and each way in and out would move them all.
VectorSet Translator::crowded_registers() const {
  VectorSet crowded, kept;
  std::vector<bool> is_in_loop(flow_.blocks.size());
  const auto instructions_of = [this](uint32_t block) {
    return std::span(flow_.instructions).subspan(flow_.blocks[block].first, flow_.blocks[block].count);
  };
  const auto look_at = [&](std::span<const uint32_t> blocks) {
    VectorSet accessed;
    for (const uint32_t block : blocks)
      for (const Instruction& i : instructions_of(block))
        accessed |= set_of(i.v_reads, i.n_v_reads) | set_of(i.v_writes, i.n_v_writes);
    const bool is_crowded = std::ranges::any_of(blocks, [&](uint32_t block) {
      return std::ranges::any_of(instructions_of(block), [&](const Instruction& i) {
        return (i.live & accessed).count() > kManyLive;
      });
    });
    return std::pair(accessed, is_crowded);
  };
  for (const SerialLoop& loop : candidates_) kept |= loop.reads | loop.writes;
  for (const Loop& loop : innermost_loops(flow_)) {
    const auto [accessed, is_crowded] = look_at(loop.blocks);
    (is_crowded ? crowded : kept) |= accessed;
    for (const uint32_t block : loop.blocks) is_in_loop[block] = true;
  }
  for (uint32_t block = 0; block < flow_.blocks.size(); block++) {
    if (is_in_loop[block]) continue;
    const auto [accessed, is_crowded] = look_at({&block, 1});
    if (is_crowded) crowded |= accessed;
  }
  return crowded & ~kept;
}

// Writes do nothing: NULL, and the registers of the trap handler, of which an unprivileged wave reads TBA and
// TMA up to gfx8 and those that tell a wave of gfx12 its group, which stay in the Wave.
namespace {
bool drops_writes(unsigned code) { return code == isa::kNull || isa::is_trap_register(code); }
}  // namespace

void Translator::make_registers() {
  if (homes_.any()) b_.CreateStore(b_.getInt8(1), field(frame_, offsetof(WaveFrame, has_stored)));
  registers_ = b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, v)), "registers");
  for (unsigned r = 0; r < kVectorRegisters; r++)
    if (homes_.test(r))
      vectors_[r] = wave_v(r);
    else if (flow_.vectors.test(r))
      vectors_[r] = b_.CreateAlloca(lanes_, nullptr, "v" + std::to_string(r));
  for (unsigned code = 0; code < isa::kExecLo; code += 2) {
    const bool is_read = target_.generation < Generation::gfx9 && code < isa::kTtmpGfx6;
    if (!flow_.scalars.test(code) || (drops_writes(code) && !is_read)) continue;
    if (flow_.wide.test(code)) {
      scalars_[code] = b_.CreateAlloca(i64_, nullptr, "s" + std::to_string(code));
    } else {
      scalars_[code] = b_.CreateAlloca(i32_, nullptr, "s" + std::to_string(code));
      scalars_[code + 1] = b_.CreateAlloca(i32_, nullptr, "s" + std::to_string(code + 1));
    }
  }
  if (is_wave32())
    for (const Instruction& i : flow_.instructions) make_masks(i);
  for (unsigned r = 0; r < kVectorRegisters; r++) {
    if (!shapes_.supposed_registers().test(r)) continue;
    supposed_[r] = b_.CreateAlloca(b_.getInt1Ty(), nullptr, "supposed" + std::to_string(r));
    b_.CreateStore(b_.getFalse(), supposed_[r]);
  }
  scalars_[isa::kExecLo] = b_.CreateAlloca(is_wave32() ? i32_ : i64_, nullptr, "exec");
  if (is_wave32()) scalars_[isa::kExecHi] = b_.CreateAlloca(i32_, nullptr, "exec_hi");
  scc_ = b_.CreateAlloca(i32_, nullptr, "scc");
  began_with_ = b_.CreateAlloca(i64_, nullptr, "began_with");
  count_ = b_.CreateAlloca(i64_, nullptr, "count");
  count_before_ = b_.CreateAlloca(i64_, nullptr, "count_before");
  b_.CreateStore(b_.getInt64(0), count_);
  b_.CreateStore(b_.getInt64(0), count_before_);
  steps_ = b_.CreateLoad(ptr_, field(frame_, offsetof(WaveFrame, steps)), "steps");
  singles_base_ = b_.CreateLoad(ptr_, field(frame_, offsetof(WaveFrame, singles)), "singles");
  limit_ = b_.CreateLoad(i64_, field(frame_, offsetof(WaveFrame, limit)), "limit");
  code_ = b_.CreateLoad(i64_, field(frame_, offsetof(WaveFrame, code)), "code");
  Value* group = b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, group)));
  lds_ = b_.CreateLoad(ptr_, field(group, offsetof(Group, lds)), "lds");
}

void Translator::make_masks(const Instruction& i) {
  if (i.how != How::vector && i.how != How::exec_op) return;
  const isa::Inst& inst = *i.step->inst;
  const auto note = [&](const isa::Operand& operand) {
    const bool is_mask = operand.type == isa::Type::mask || i.how == How::exec_op;
    const unsigned code = operand.code;
    if (is_mask && code < isa::kTba && scalars_[code & ~1u] && !masks_[code])
      masks_[code] = b_.CreateAlloca(i64_, nullptr, "mask" + std::to_string(code));
  };
  for (int s = 0; s < inst.n_src; s++) note(inst.src[s]);
  for (int d = 0; d < inst.n_dst; d++) note(inst.dst[d]);
}

llvm::Value* Translator::wave_s(unsigned code) {
  return field(wave_, code == kScc ? offsetof(Wave, scc) : offsetof(Wave, s) + code * 4);
}
llvm::Value* Translator::wave_v(unsigned place) { return field(registers_, size_t{place} * kLanes * 4); }

void Translator::load_vectors(const VectorSet& vectors) {
  for (unsigned r = 0; r < kVectorRegisters; r++)
    if (vectors_[r] && !homes_.test(r) && vectors.test(r)) put_vgpr(r, load_row(wave_v(r), kRegisterAlign));
}

void Translator::load_live(const VectorSet& vectors, const ScalarSet& scalars) {
  load_vectors(vectors);
  for (unsigned code = 0; code <= isa::kExecLo; code += 2) {
    const bool is_live = scalars.test(code) || scalars.test(code + 1) || code == isa::kExecLo;
    if (!scalars_[code] || !is_live) continue;
    if (flow_.wide.test(code)) {
      b_.CreateStore(b_.CreateAlignedLoad(i64_, wave_s(code), llvm::Align(8)), scalars_[code]);
    } else {
      b_.CreateStore(b_.CreateLoad(i32_, wave_s(code)), scalars_[code]);
      b_.CreateStore(b_.CreateLoad(i32_, wave_s(code + 1)), scalars_[code + 1]);
    }
  }
  for (unsigned code = 0; code < isa::kExecLo; code++)
    if (scalars.test(code)) renew_mask(code);
  if (scalars.test(kScc)) b_.CreateStore(b_.CreateLoad(i32_, wave_s(kScc)), scc_);
}

void Translator::store_live(const VectorSet& vectors, const ScalarSet& scalars) {
  b_.CreateStore(b_.getInt8(1), field(frame_, offsetof(WaveFrame, has_stored)));
  for (unsigned r = 0; r < kVectorRegisters; r++)
    if (is_stored_live(r, vectors)) store_row(vgpr(r), wave_v(r), kRegisterAlign);
  for (unsigned code = 0; code < isa::kExecLo; code += 2) {
    if (!scalars_[code] || !(scalars.test(code) || scalars.test(code + 1))) continue;
    if (s_in_wave_.test(code) && s_in_wave_.test(code + 1)) continue;
    if (flow_.wide.test(code)) {
      b_.CreateAlignedStore(s64(code), wave_s(code), llvm::Align(8));
    } else {
      b_.CreateStore(s32(code), wave_s(code));
      b_.CreateStore(s32(code + 1), wave_s(code + 1));
    }
  }
  if (scalars.test(kScc) && !s_in_wave_.test(kScc)) b_.CreateStore(b_.CreateLoad(i32_, scc_), wave_s(kScc));
}

unsigned Translator::place(const isa::Operand& operand) const {
  return operand.is_agpr() ? key_.acc_base + operand.code - isa::kAgprBase : operand.code - isa::kVgprBase;
}

// The lanes that EXEC has; the others keep what they held where somebody may see it.
void Translator::set_vgpr(const Instruction& i, unsigned place, Value* lanes) {
  unmasked_[place] = nullptr;
  if (i.keeps_old && !is_full()) {
    unmasked_[place] = lanes;
    lanes = b_.CreateSelect(exec_lanes(), lanes, vgpr(place));
  }
  put_vgpr(place, lanes);
}

// Of dwords, or of `element` for each lane.
llvm::Value* Translator::load_row(Value* from, llvm::Align align, llvm::Type* element) {
  llvm::Type* const type = element ? element : i32_;
  if (key_.occupied == kLanes)
    return b_.CreateAlignedLoad(llvm::FixedVectorType::get(type, kLanes), from, align);
  auto* const part = llvm::FixedVectorType::get(type, key_.occupied);
  llvm::SmallVector<int, kLanes> all(kLanes);
  for (int l = 0; l < kLanes; l++) all[static_cast<size_t>(l)] = std::min<int>(l, key_.occupied);
  return b_.CreateShuffleVector(b_.CreateAlignedLoad(part, from, align), llvm::Constant::getNullValue(part),
                                all);
}
llvm::StoreInst* Translator::store_row(Value* lanes, Value* to, llvm::Align align) {
  llvm::SmallVector<int, kLanes> lower(key_.occupied);
  std::iota(lower.begin(), lower.end(), 0);
  return b_.CreateAlignedStore(key_.occupied < kLanes ? b_.CreateShuffleVector(lanes, lower) : lanes, to,
                               align);
}

// What an instruction writes has several origins, or another than set_vgpr.
void Translator::forget_unmasked(const Instruction& i) {
  for (int w = 0; w < i.n_v_writes; w++)
    for (unsigned r = 0; r < i.v_writes[w].count; r++) unmasked_[i.v_writes[w].first + r] = nullptr;
}

void Translator::forget_unmasked() {
  std::fill(unmasked_.begin(), unmasked_.end(), nullptr);
  carries_.clear();
}

// Of those that drop writes, the ones without a home.
bool Translator::is_zero(unsigned code) const {
  return code == isa::kNull || (drops_writes(code) && scalars_[code & ~1u] == nullptr);
}

llvm::Value* Translator::s32(unsigned code) {
  if (is_zero(code)) return b_.getInt32(0);
  const unsigned even = code & ~1u;
  if (!flow_.wide.test(even)) return b_.CreateLoad(i32_, scalars_[code]);
  Value* both = b_.CreateLoad(i64_, scalars_[even]);
  return b_.CreateTrunc(code & 1 ? b_.CreateLShr(both, 32) : both, i32_);
}
llvm::Value* Translator::s64(unsigned code) {
  if (is_zero(code)) return b_.getInt64(0);
  if (is_bit(code)) return b_.CreateSExt(b_.CreateLoad(b_.getInt1Ty(), bit_of_mask_[code]), i64_);
  if (!(code & 1) && flow_.wide.test(code)) return b_.CreateLoad(i64_, scalars_[code]);
  Value* low = s32(code);
  return join_dwords(b_, low, s32(code + 1));
}
void Translator::set_s32(unsigned code, Value* value) {
  if (drops_writes(code)) return;
  const unsigned even = code & ~1u;
  if (masks_[code]) b_.CreateStore(b_.CreateZExt(value, i64_), masks_[code]);
  if (!flow_.wide.test(even)) {
    b_.CreateStore(value, scalars_[code]);
    if (even == isa::kExecLo) b_.CreateStore(value, wave_s(code));
    return;
  }
  Value* both = b_.CreateLoad(i64_, scalars_[even]);
  Value* wide = b_.CreateZExt(value, i64_);
  if (code & 1) {
    both = b_.CreateOr(b_.CreateAnd(both, 0xffff'ffff), b_.CreateShl(wide, 32));
  } else {
    both = b_.CreateOr(b_.CreateAnd(both, 0xffff'ffff'0000'0000), wide);
  }
  b_.CreateStore(both, scalars_[even]);
  if (even == isa::kExecLo) b_.CreateAlignedStore(both, wave_s(isa::kExecLo), llvm::Align(8));
}
void Translator::set_s64(unsigned code, Value* value) {
  if (drops_writes(code)) return;
  if (const auto bit = bit_of_mask_.find(code); is_serial_ && bit != bit_of_mask_.end()) {
    b_.CreateStore(b_.CreateTrunc(value, b_.getInt1Ty()), bit->second);
    return;
  }
  if (!(code & 1) && flow_.wide.test(code)) {
    b_.CreateStore(value, scalars_[code]);
    renew_mask(code), renew_mask(code + 1);
    // What the Wave holds of EXEC is always right: handlers and fault reports read it.
    if (code == isa::kExecLo) b_.CreateAlignedStore(value, wave_s(isa::kExecLo), llvm::Align(8));
    return;
  }
  set_s32(code, b_.CreateTrunc(value, i32_));
  set_s32(code + 1, b_.CreateTrunc(b_.CreateLShr(value, 32), i32_));
}

llvm::Value* Translator::mask(unsigned code) {
  if (!is_wave32() || is_bit(code)) return s64(code);
  return masks_[code] ? b_.CreateLoad(i64_, masks_[code]) : b_.CreateZExt(s32(code), i64_);
}
// Not in the Wave.
void Translator::put_exec(Value* bits) {
  llvm::AllocaInst* const exec = scalars_[isa::kExecLo];
  b_.CreateStore(b_.CreateTrunc(bits, exec->getAllocatedType()), exec);
}
void Translator::set_mask(unsigned code, Value* bits) {
  if (!is_wave32() || is_bit(code)) return set_s64(code, bits);
  set_s32(code, b_.CreateTrunc(bits, i32_));
  if (masks_[code]) b_.CreateStore(bits, masks_[code]);
}

}  // namespace morgana::device::jit
