// Memory instructions, and whatever the interpreter executes.
#include <set>

#include "device/lift/lifter.h"

namespace morgana::device::lift {

using isa::Direction;
using isa::Effects;
using isa::Fn;
using isa::Format;
using isa::Inst;
using isa::Space;

// --- Accesses ---

bool Lifter::scalar_load(const Inst& inst) {
  const isa::Operand& to = inst.dst[0];
  const isa::MemoryAccess& row = isa::effects(inst.row->op).access;
  if (row.direction != Direction::load || to.code + to.dwords > isa::kTba) return false;
  Value access;
  access.operation = Operation::access, access.kind = Kind::memory, access.op = inst.row->op;
  access.access = {row.space,
                   row.direction,
                   row.element,
                   row.count,
                   false,
                   false,
                   inst.offset_imm ? inst.offset * (inst.offset_is_dwords ? 4 : 1) : 0,
                   0};
  ValueId address = operands_.scalar(inst, 0);
  if (inst.src[1].present()) {
    const ValueId offset = builder_.compute(Fn::to_64, Kind::s64, {operands_.scalar(inst, 1)});
    address = builder_.compute(Fn::add, Kind::s64, {address, offset});
  }
  access.arguments = {builder_.read(kMemory), address};
  const ValueId loaded = builder_.add(std::move(access));
  builder_.write(kMemory, loaded);
  for (int d = 0; d < to.dwords; d++)
    builder_.write(static_cast<Register>(to.code + d), builder_.part(loaded, d, Kind::s32));
  return true;
}

// Of each lane: 64 bits in memory, 32 in LDS and scratch.
ValueId Lifter::address_of(const Inst& inst) {
  const bool has_vector = inst.src[0].present(),
             has_scalar = inst.format != Format::DS && inst.src[2].present();
  switch (inst.format) {
    case Format::GLOBAL: {
      if (!has_scalar) return operands_.lanes(inst, 0);
      const ValueId base = operands_.lanes(inst, 2);
      const ValueId index = builder_.compute(Fn::to_64, Kind::lanes64, {operands_.lanes(inst, 0)});
      return builder_.compute(Fn::add, Kind::lanes64, {base, index});
    }
    case Format::SCRATCH: {
      if (!has_scalar)
        return has_vector ? operands_.lanes(inst, 0) : operands_.splat(builder_.constant(0, Kind::s32));
      const ValueId base = operands_.lanes(inst, 2);
      if (!has_vector) return base;
      return builder_.compute(Fn::add, Kind::lanes32, {base, operands_.lanes(inst, 0)});
    }
    default: return operands_.lanes(inst, 0);
  }
}

bool Lifter::access_instruction(const Inst& inst, const Effects& effects) {
  const isa::MemoryAccess& row = effects.access;
  if (row.space == Space::constant) return scalar_load(inst);
  const bool is_atomic = row.direction == Direction::atomic && row.element != isa::Type::none && !row.half &&
                         inst.src[0].present() && row.addresses == 1 &&
                         (row.space == Space::lds || row.space == Space::flat || row.space == Space::global);
  if (!(row.is_plain || is_atomic) || inst.lds || inst.gds || inst.tfe) return false;
  const bool is_lds = row.space == Space::lds;
  const bool has_result = inst.dst[0].present() && inst.n_dst > 0;
  // Two stores at one place are one, of DATA0.
  const bool is_one = row.direction == Direction::store && inst.offset0 == inst.offset1;
  const bool two = row.addresses == 2 && !is_one;
  Value access;
  access.operation = Operation::access, access.kind = Kind::memory, access.op = inst.row->op;
  access.access = {row.space, row.direction,           row.element, row.count,
                   two,       is_atomic && has_result, inst.offset, 0};
  if (row.addresses == 2) {
    const int unit = static_cast<int>(access_bytes(row)) * (inst.row->flags & isa::kStride64 ? 64 : 1);
    access.access.offset = inst.offset0 * unit, access.access.second = two ? inst.offset1 * unit : 0;
  }
  const ValueId memory = builder_.read(kMemory), mask = operands_.exec_mask(), address = address_of(inst);
  access.arguments = {memory, mask, address};
  // What is stored or combined, dword by dword; DATA1 of LDS stands in the place of SADDR.
  const int last = is_lds && !(row.addresses == 2 && is_one) ? 2 : 1;
  for (int s = 1; s <= last && s < inst.n_src; s++)
    for (unsigned d = 0; d < inst.src[s].dwords; d++)
      access.arguments.push_back(builder_.read(static_cast<Register>(operands_.place(inst.src[s]) + d)));
  // How far LDS reaches is M0's affair up to gfx8.
  if (is_lds && info(code_.target).generation < Generation::gfx9)
    access.arguments.push_back(builder_.read(isa::kM0));
  const ValueId done = builder_.add(std::move(access));
  builder_.write(kMemory, done);
  if (!has_result) return true;
  std::vector<ValueId> loaded;
  for (int d = 0; d < inst.dst[0].dwords; d++) loaded.push_back(builder_.part(done, d, Kind::lanes32));
  for (unsigned d = 0; d < inst.dst[0].dwords; d++)
    operands_.set_lanes(static_cast<Register>(operands_.place(inst.dst[0]) + d), loaded[d], false);
  return true;
}

// --- The interpreter's handlers ---

void Lifter::add_reads(const Inst& inst, const Effects& effects, Value& call) {
  std::set<Register> read;
  const auto note = [&](const isa::Operand& operand, unsigned count) {
    if (operand.code == isa::kSrcScc) read.insert(kScc);
    if (operand.code == isa::kSrcVccz) read.insert({isa::kVccLo, isa::kVccHi});
    if (operand.code == isa::kSrcLdsDirect) read.insert(isa::kM0);
    if (!is_register(operand)) return;
    const unsigned end = operand.is_scalar() ? unsigned{isa::kRegisterEnd} : unsigned{kRegisters};
    for (unsigned d = 0; d < count && operands_.place(operand) + d < end; d++)
      read.insert(static_cast<Register>(operands_.place(operand) + d));
  };
  // How many registers an image's address has is for the resource to say.
  const unsigned most = inst.row->flags & isa::kSampler ? 13 : 5;
  for (int s = 0; s < inst.n_src; s++)
    note(inst.src[s], inst.format == Format::MIMG && s == 0 ? most : inst.src[s].dwords);
  // Lanes that are not active, and parts of active ones, stay.
  for (int d = 0; d < inst.n_dst; d++) note(inst.dst[d], inst.dst[d].dwords);
  if (is_vector(inst) || (effects.reads & isa::kStateExec)) read.insert({isa::kExecLo, isa::kExecHi});
  if (effects.reads & isa::kStateVcc) read.insert({isa::kVccLo, isa::kVccHi});
  if (effects.reads & isa::kStateScc) read.insert(kScc);
  if (effects.reads & isa::kStateM0) read.insert(isa::kM0);
  if ((effects.reads | effects.writes) & isa::kStateAny)
    for (const Register code : named_.registers) {
      read.insert(code);
      if (named_.pairs.test(code)) read.insert(static_cast<Register>(code + 1));
    }
  call.arguments.push_back(builder_.read(kMemory));
  for (auto at = read.begin(); at != read.end(); ++at) {
    const bool pair = named_.pairs.test(*at) && read.contains(static_cast<Register>(*at + 1));
    call.registers.push_back(*at);
    call.arguments.push_back(builder_.read(*at, pair));
    if (pair) ++at;
  }
}

void Lifter::add_writes(const Inst& inst, const Effects& effects, Value& call) const {
  std::set<Register> written;
  for (int d = 0; d < inst.n_dst; d++) {
    const isa::Operand& to = inst.dst[d];
    if (!is_register(to)) continue;
    const unsigned end = to.is_scalar() ? unsigned{isa::kRegisterEnd} : unsigned{kRegisters};
    for (unsigned n = 0; n < to.dwords && operands_.place(to) + n < end; n++)
      written.insert(static_cast<Register>(operands_.place(to) + n));
  }
  if (effects.writes & isa::kStateExec) written.insert({isa::kExecLo, isa::kExecHi});
  if (effects.writes & isa::kStateVcc) written.insert({isa::kVccLo, isa::kVccHi});
  if (effects.writes & isa::kStateScc) written.insert(kScc);
  if (effects.writes & isa::kStateM0) written.insert(isa::kM0);
  if (effects.writes & isa::kStateAny)
    for (const Register code : named_.registers) {
      written.insert(code);
      if (named_.pairs.test(code)) written.insert(static_cast<Register>(code + 1));
    }
  for (auto at = written.begin(); at != written.end(); ++at) {
    const bool pair = named_.pairs.test(*at) && written.contains(static_cast<Register>(*at + 1));
    call.writes.push_back(static_cast<Register>(*at | (pair ? kPair : 0)));
    if (pair) ++at;
  }
}

void Lifter::call(const Inst& inst, const Effects& effects) {
  Value call;
  call.operation = Operation::call, call.kind = Kind::memory, call.op = inst.row->op;
  add_reads(inst, effects, call);
  add_writes(inst, effects, call);
  const std::vector<Register> writes = call.writes;
  const ValueId done = builder_.add(std::move(call));
  builder_.write(kMemory, done);
  for (size_t n = 0; n < writes.size(); n++) {
    const auto code = static_cast<Register>(writes[n] & ~kPair);
    const bool pair = (writes[n] & kPair) != 0;
    const Kind kind = kind_of_register(code, pair);
    builder_.write(code, builder_.part(done, static_cast<int64_t>(n), kind), pair);
  }
}

}  // namespace morgana::device::lift
