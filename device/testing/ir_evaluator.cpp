#include "device/testing/ir_evaluator.h"

#include <algorithm>
#include <cstring>

#include "device/apertures.h"
#include "device/isa/decode.h"
#include "device/isa/dual.h"
#include "device/lift/operands.h"
#include "device/state/scratch.h"

namespace morgana::device {

using lift::Kind;
using lift::Operation;
using lift::Register;
using lift::Value;
using lift::ValueId;

struct IrEvaluator::Instruction {
  isa::Inst inst;
  std::unique_ptr<WaveRig> rig;
};

IrEvaluator::IrEvaluator(const lift::Code& code, const std::vector<uint32_t>& dwords,
                         const lift::Function& function, uint64_t entry, const RigOptions& options)
    : code_(code),
      dwords_(dwords),
      function_(function),
      entry_(entry),
      options_(options),
      values_(function.values.size()) {}

IrEvaluator::~IrEvaluator() = default;

// --- Registers of a wave ---

// The registers behind Wave::v, by their place: AccVGPRs lie elsewhere where the file is not unified.
namespace {
uint32_t* lanes_at(const Wave& wave, Register code) {
  const unsigned place = code - lift::kVector;
  return place >= 256 && !wave.target->unified_vgprs ? wave.a + (place - 256) * kLanes
                                                     : wave.v + place * kLanes;
}
}  // namespace

IrEvaluator::Lanes IrEvaluator::read(const Wave& wave, Register code, Kind kind) const {
  Lanes lanes{};
  if (code == lift::kScc) {
    lanes[0] = wave.scc;
  } else if (code < isa::kRegisterEnd) {
    lanes[0] = wave.s[code] | (kind == Kind::s64 ? uint64_t{wave.s[code + 1]} << 32 : 0);
  } else if (code >= lift::kVector) {
    for (unsigned l = 0; l < kLanes; l++) {
      lanes[l] = lanes_at(wave, code)[l];
      if (kind == Kind::lanes64)
        lanes[l] |= uint64_t{lanes_at(wave, static_cast<Register>(code + 1))[l]} << 32;
    }
  }
  return lanes;
}

void IrEvaluator::write(Wave& wave, Register code, Kind kind, const Lanes& from) {
  if (code == lift::kScc) {
    wave.scc = static_cast<uint32_t>(from[0]);
  } else if (code < isa::kRegisterEnd) {
    wave.s[code] = static_cast<uint32_t>(from[0]);
    if (kind == Kind::s64) wave.s[code + 1] = static_cast<uint32_t>(from[0] >> 32);
  } else if (code >= lift::kVector) {
    for (unsigned l = 0; l < kLanes; l++) {
      lanes_at(wave, code)[l] = static_cast<uint32_t>(from[l]);
      if (kind == Kind::lanes64)
        lanes_at(wave, static_cast<Register>(code + 1))[l] = static_cast<uint32_t>(from[l] >> 32);
    }
  }
}

Register IrEvaluator::place(const isa::Operand& operand) const {
  if (!operand.is_agpr()) return operand.code;
  const unsigned base = info(code_.target).unified_vgprs ? options_.accum_offset : 256;
  return static_cast<Register>(lift::kVector + base + operand.code - isa::kAgprBase);
}

// --- Single instructions ---

namespace {
// Vector sources that are EXEC become other SGPRs, which the instruction does not name: the lanes of a
// function are all active. Of a VOPD both first sources.
void replace_exec(const isa::Inst& inst, std::vector<uint32_t>& words) {
  const auto names = [&](unsigned code) {
    const auto is_near = [&](const isa::Operand& o) {
      return o.present() && o.code + 1 >= code && o.code <= code + 1;
    };
    return std::any_of(inst.src.begin(), inst.src.begin() + inst.n_src, is_near) ||
           std::any_of(inst.dst.begin(), inst.dst.begin() + inst.n_dst, is_near);
  };
  uint32_t other = 90;
  while (names(other)) other -= 4;
  const auto replace = [&](uint32_t& word, int place) {
    const uint32_t code = word >> (9 * place) & 0x1ff;
    if (code == isa::kExecLo || code == isa::kExecHi) word += (other - isa::kExecLo) << (9 * place);
  };
  const bool is_long = inst.format == isa::Format::VOP3 || inst.format == isa::Format::VOP3P;
  for (int s = 0; s < (is_long ? 3 : 1); s++) replace(words[is_long ? 1 : 0], s);
  if (inst.second != nullptr) replace(words[1], 0);
}
}  // namespace

IrEvaluator::Instruction& IrEvaluator::instruction_at(uint32_t pc, bool is_function) {
  std::unique_ptr<Instruction>& slot = instructions_[pc];
  if (slot) return *slot;
  // The one there, or the VOPD of which it is the second half.
  const auto at = std::find_if(code_.instructions.rbegin(), code_.instructions.rend(),
                               [pc](const lift::Decoded& one) { return one.pc <= pc; });
  const uint32_t* const first = dwords_.data() + at->pc / 4;
  slot = std::make_unique<Instruction>();
  slot->inst = at->inst;
  std::vector<uint32_t> words(first, first + slot->inst.size / 4);
  if (is_function && slot->inst.format > isa::Format::SMEM) {
    replace_exec(slot->inst, words);
    slot->inst = *isa::decode(code_.target, Bytes(words.data(), words.size() * 4), code_.wave);
    if (slot->inst.second != nullptr) slot->inst = (*isa::halves(slot->inst))[pc == at->pc ? 0 : 1];
  }
  slot->rig = std::make_unique<WaveRig>(code_.target, words, options_);
  return *slot;
}

uint64_t IrEvaluator::read_mask(const Wave& wave, const isa::Operand& operand) const {
  return read(wave, operand.code, lanes() == 32 ? Kind::s32 : Kind::s64)[0];
}

// LDS and scratch of the wave to that of `rig`, or back.
void IrEvaluator::move_memory(WaveRig& rig, bool back) const {
  Wave& other = rig.wave();
  const auto move = [&](uint8_t* here, uint8_t* there, size_t size) {
    if (size != 0) std::memcpy(back ? here : there, back ? there : here, size);
  };
  move(wave_->group->lds, other.group->lds, wave_->group->lds_size);
  move(wave_->scratch, other.scratch, size_t{wave_->scratch_lane_bytes} * kLanes);
}

void IrEvaluator::function(ValueId id, Lanes& to) {
  const Value& value = function_[id];
  const Instruction& instruction = instruction_at(value.pc, true);
  const isa::Inst& inst = instruction.inst;
  if (isa::effects(value.op).result.has(isa::Fn::next_pc)) {
    to[0] = entry_ + value.pc + inst.size;
    return;
  }
  WaveRig& rig = *instruction.rig;
  rig.restart();
  Wave& wave = rig.wave();
  // Where EXEC is zero nobody asks for a lane.
  wave.set_exec(~uint64_t{0});
  for (int s = 0; s < inst.n_src; s++) {
    const uint64_t number = argument(value, static_cast<size_t>(s))[0];
    if (inst.src[s].code == isa::kSrcScc) wave.scc = static_cast<uint32_t>(number);
    if (inst.src[s].code == isa::kSrcVccz) wave.set_vcc(number == 0);
    if (inst.src[s].code == isa::kSrcExecz && !lift::has_lanes(value.kind)) wave.set_exec(number == 0);
  }
  // The number of a scalar operand stands in every lane.
  for (int s = 0; s < inst.n_src; s++) {
    const isa::Operand& operand = inst.src[s];
    if (!lift::is_register(operand)) continue;
    Lanes lanes = argument(value, static_cast<size_t>(s));
    if (kind(value.arguments[static_cast<size_t>(s)]) == Kind::mask) {
      uint64_t bits = 0;
      for (unsigned l = 0; l < kLanes; l++) bits |= (lanes[l] & 1) << l;
      lanes[0] = bits;
    }
    const bool lanes_there = !operand.is_scalar();
    write(wave, place(operand), lift::kind_of(32 * operand.dwords, lanes_there), lanes);
  }
  if (rig.run_interpreted() != Exit::ended) return;
  const isa::Operand& result = inst.dst[0];
  if (value.kind == Kind::mask) {
    const uint64_t bits = read_mask(wave, result);
    for (unsigned l = 0; l < kLanes; l++) to[l] = bits >> l & 1;
    return;
  }
  to = read(wave, place(result), value.kind);
  if (inst.n_dst > 1 && inst.dst[1].present()) {
    Lanes mask{};
    const uint64_t bits = read_mask(wave, inst.dst[1]);
    for (unsigned l = 0; l < kLanes; l++) mask[l] = bits >> l & 1;
    parts_[id] = {to, mask};
  }
}

void IrEvaluator::call(ValueId id) {
  const Value& value = function_[id];
  WaveRig& rig = *instruction_at(value.pc).rig;
  rig.restart();
  Wave& wave = rig.wave();
  for (size_t r = 0; r < value.registers.size(); r++)
    write(wave, value.registers[r], kind(value.arguments[r + 1]), argument(value, r + 1));
  move_memory(rig, false);
  rig.run_interpreted();
  move_memory(rig, true);
  std::vector<Lanes>& parts = parts_[id];
  parts.clear();
  for (const Register code : value.writes) {
    const auto first = static_cast<Register>(code & ~lift::kPair);
    parts.push_back(read(wave, first, lift::kind_of_register(first, (code & lift::kPair) != 0)));
  }
}

// --- Memory ---

// One byte; nullptr: there is none.
uint8_t* IrEvaluator::memory_of(isa::Space space, uint64_t address, int lane) const {
  if (space == isa::Space::flat && address - kSharedBase < kApertureBytes)
    return memory_of(isa::Space::lds, address - kSharedBase, lane);
  if (space == isa::Space::flat && address - kPrivateBase < kApertureBytes)
    return memory_of(isa::Space::scratch, address - kPrivateBase, lane);
  if (space == isa::Space::lds)
    return address < wave_->group->lds_size ? wave_->group->lds + address : nullptr;
  if (space == isa::Space::scratch)
    return address < wave_->scratch_lane_bytes
               ? wave_->scratch + scratch_offset(address, static_cast<unsigned>(lane), lanes())
               : nullptr;
  return reinterpret_cast<uint8_t*>(address);
}

// One dword, or what is narrower, of a lane: stored, or loaded and extended. What is not there reads as 0.
void IrEvaluator::move_dword(const lift::AccessForm& form, uint64_t address, int lane, uint64_t& data) const {
  const auto size = std::min<uint32_t>(4, static_cast<uint32_t>(isa::bytes(form.element)));
  const bool stores = form.direction == isa::Direction::store;
  uint32_t loaded = 0;
  bool is_there = true;
  for (uint32_t b = 0; b < size; b++) {
    uint8_t* const byte = memory_of(form.space, address + b, lane);
    is_there = is_there && byte != nullptr;
    if (byte == nullptr) continue;
    if (stores)
      *byte = static_cast<uint8_t>(data >> 8 * b);
    else
      loaded |= uint32_t{*byte} << 8 * b;
  }
  if (stores) return;
  if (form.element == isa::Type::i8) loaded = static_cast<uint32_t>(static_cast<int8_t>(loaded));
  if (form.element == isa::Type::i16) loaded = static_cast<uint32_t>(static_cast<int16_t>(loaded));
  data = is_there ? loaded : 0;
}

// All lanes at the first place, then all at the second.
void IrEvaluator::access(ValueId id) {
  const Value& value = function_[id];
  const lift::AccessForm& form = value.access;
  const bool by_lane = lift::is_by_lane(form.space), is_lds = form.space == isa::Space::lds;
  const bool stores = form.direction == isa::Direction::store;
  const size_t at = by_lane ? 2 : 1;
  const auto size = static_cast<uint32_t>(isa::bytes(form.element)) * form.count;
  const unsigned dwords = std::max(1u, size / 4), places = form.two ? 2 : 1;
  // Where M0 is an argument it bounds LDS.
  const size_t data_end = at + 1 + (stores ? size_t{dwords} * places : 0);
  uint64_t lds_size = wave_->group->lds_size;
  if (is_lds && value.arguments.size() > data_end)
    lds_size = std::min(lds_size, argument(value, data_end)[0] & 0x1ffff);
  std::vector<Lanes>& parts = parts_[id];
  parts.assign(size_t{dwords} * places, Lanes{});
  for (unsigned place = 0; place < places; place++)
    for (int lane = 0; lane < (by_lane ? kLanes : 1); lane++) {
      const auto l = static_cast<unsigned>(lane);
      if (by_lane && !(argument(value, 1)[l] & 1)) continue;
      const auto offset = static_cast<uint64_t>(int64_t{place == 0 ? form.offset : form.second});
      uint64_t address = argument(value, at)[l] + offset;
      if (!by_lane) address &= ~uint64_t{3};
      if (is_lds || form.space == isa::Space::scratch) address = static_cast<uint32_t>(address);
      // LDS has all of it or nothing.
      if (is_lds && address + size > lds_size) continue;
      for (unsigned d = 0; d < dwords; d++) {
        const unsigned part = place * dwords + d;
        uint64_t data = stores ? argument(value, at + 1 + part)[l] : 0;
        move_dword(form, address + 4 * d, lane, data);
        if (!stores) parts[part][l] = data;
      }
    }
}

// By the interpreter, at the lowest address and what the lanes' are above it.
void IrEvaluator::atomic(ValueId id) {
  const Value& value = function_[id];
  const Instruction& instruction = instruction_at(value.pc);
  const isa::Inst& inst = instruction.inst;
  WaveRig& rig = *instruction.rig;
  rig.restart();
  Wave& wave = rig.wave();
  const Lanes &mask = argument(value, 1), &address = argument(value, 2);
  uint64_t exec = 0, least = ~uint64_t{0};
  for (unsigned l = 0; l < kLanes; l++) {
    exec |= (mask[l] & 1) << l;
    if (mask[l] & 1) least = std::min(least, address[l]);
  }
  wave.set_exec(exec);
  wave.m0() = ~0u;
  const bool has_base = inst.format == isa::Format::GLOBAL && inst.src[2].present();
  Lanes index = address;
  if (has_base) {
    for (uint64_t& lane : index) lane -= least;
    write(wave, place(inst.src[2]), Kind::s64, {least});
  }
  write(wave, place(inst.src[0]), inst.src[0].dwords == 2 ? Kind::lanes64 : Kind::lanes32, index);
  size_t next = 3;
  for (int s = 1; s <= (inst.format == isa::Format::DS ? 2 : 1) && s < inst.n_src; s++)
    for (unsigned d = 0; d < inst.src[s].dwords; d++)
      write(wave, static_cast<Register>(place(inst.src[s]) + d), Kind::lanes32, argument(value, next++));
  if (next < value.arguments.size()) wave.m0() = static_cast<uint32_t>(argument(value, next)[0]);
  move_memory(rig, false);
  rig.run_interpreted();
  move_memory(rig, true);
  std::vector<Lanes>& parts = parts_[id];
  parts.clear();
  for (unsigned d = 0; d < (inst.n_dst > 0 ? inst.dst[0].dwords : 0u); d++)
    parts.push_back(read(wave, static_cast<Register>(place(inst.dst[0]) + d), Kind::lanes32));
}

// --- Values ---

void IrEvaluator::compute(const Value& value, Lanes& to) const {
  const int count = lift::has_lanes(value.kind) ? kLanes : 1;
  for (int lane = 0; lane < count; lane++) {
    isa::Number numbers[3];
    for (size_t n = 0; n < value.arguments.size(); n++)
      numbers[n] = isa::number_of(argument(value, n)[static_cast<unsigned>(lane)],
                                  lift::bits_of(kind(value.arguments[n])));
    to[static_cast<unsigned>(lane)] = isa::compute(value.fn, numbers).bits;
  }
}

void IrEvaluator::set(ValueId id, const Lanes& to) {
  values_[id] = to;
  if (watcher_) watcher_(id, to);
}

void IrEvaluator::evaluate(ValueId id) {
  const Value& value = function_[id];
  Lanes to{};
  switch (value.operation) {
    case Operation::input: to = read(*wave_, static_cast<Register>(value.number), value.kind); break;
    case Operation::constant:
      to[0] = static_cast<uint64_t>(value.number) & isa::ones(lift::bits_of(value.kind));
      break;
    case Operation::compute: compute(value, to); break;
    case Operation::splat: to.fill(argument(value, 0)[0]); break;
    case Operation::join:
      for (unsigned l = 0; l < kLanes; l++) to[l] = argument(value, 0)[l] | argument(value, 1)[l] << 32;
      break;
    case Operation::mask:
      for (unsigned l = 0; l < kLanes; l++) to[l] = argument(value, 0)[0] >> l & 1;
      break;
    case Operation::bits:
      for (unsigned l = 0; l < lanes(); l++) to[0] |= (argument(value, 0)[l] & 1) << l;
      break;
    case Operation::merge:
      for (unsigned l = 0; l < kLanes; l++) to[l] = argument(value, argument(value, 0)[l] & 1 ? 1 : 2)[l];
      break;
    case Operation::function: function(id, to); break;
    case Operation::call: call(id); break;
    case Operation::access:
      if (value.access.direction == isa::Direction::atomic) return atomic(id);
      access(id);
      break;
    case Operation::part: to = parts_[value.arguments[0]][static_cast<size_t>(value.number)]; break;
    case Operation::exit:
    case Operation::parameter: return;
  }
  set(id, to);
}

std::optional<lift::Ending> IrEvaluator::run(Wave& wave, uint32_t most) {
  wave_ = &wave;
  for (uint32_t b = 0; most > 0; most--) {
    const lift::Block& block = function_.blocks[b];
    for (const ValueId id : block.values) evaluate(id);
    if (block.edges.empty() || block.ending == lift::Ending::call) {
      const Value& exit = function_[block.value];
      std::vector<Lanes> values;
      for (size_t r = 0; r < exit.registers.size(); r++) values.push_back(argument(exit, r));
      for (size_t r = 0; r < exit.registers.size(); r++)
        write(wave, exit.registers[r], kind(exit.arguments[r]), values[r]);
      return block.ending;
    }
    const bool takes_second = block.ending == lift::Ending::branch && values_[block.value][0] == 0;
    const lift::Edge& edge = block.edges[takes_second ? 1 : 0];
    std::vector<Lanes> values;
    for (const ValueId id : edge.arguments) values.push_back(values_[id]);
    b = edge.block;
    for (size_t p = 0; p < values.size(); p++) set(function_.blocks[b].parameters[p], values[p]);
  }
  return std::nullopt;
}

}  // namespace morgana::device
