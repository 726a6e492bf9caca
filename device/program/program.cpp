#include "device/program/program.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <new>
#include <unordered_map>
#include <vector>

#include "device/isa/constants.h"
#include "device/isa/decode.h"
#include "device/lift/lift.h"
#include "device/lift/quiet.h"
#include "device/lift/stores.h"
#include "device/lift/turns.h"
#include "device/lift/written.h"

namespace morgana::device {

// Instructions and constants that steps point to. Grows, never moves, dies with the Program.
struct Program::Backing {
  std::deque<isa::Inst> instructions;
  struct Key {
    uint32_t low, high;
    bool wide;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return std::hash<uint64_t>{}((uint64_t{key.high} << 32 | key.low) * 2 + key.wide);
    }
  };
  // A constant of all lanes: low dwords, high dwords.
  struct alignas(256) Lanes {
    uint32_t value[2 * kLanes];
  };
  std::deque<Lanes> lanes;
  std::unordered_map<Key, const uint32_t*, Hash> constants;

  // `kLanes` copies of the low dword, then of the high dword.
  const uint32_t* constant(const isa::Constant& constant) {
    const Key key{constant.low, constant.high, constant.wide};
    auto [it, is_new] = constants.try_emplace(key, nullptr);
    if (is_new) {
      Lanes& block = lanes.emplace_back();
      for (int i = 0; i < kLanes; i++) {
        block.value[i] = constant.low;
        block.value[kLanes + i] = constant.high;
      }
      it->second = block.value;
    }
    return it->second;
  }

  // Room for `count` constants side by side, when an instruction has several.
  uint32_t* blocks(size_t count) {
    groups.emplace_back(std::make_unique<Lanes[]>(count));
    return groups.back()[0].value;
  }
  std::vector<std::unique_ptr<Lanes[]>> groups;
};

namespace {

bool is_special(uint16_t code, Target target) {
  return (code >= isa::first_ttmp(info(target).generation) && code < isa::kTrapRegisterEnd) ||
         isa::is_aperture(code) || code == isa::kSrcPopsExitingWaveId ||
         (code >= isa::kSrcVccz && code <= isa::kSrcLdsDirect);
}

uint16_t sink(uint16_t code) { return code == isa::kNull ? isa::kNullSink : code; }

bool is_relative_branch(const isa::Inst& inst) {
  return (inst.row->flags & isa::kBranch) &&
         (inst.format == isa::Format::SOPP || inst.format == isa::Format::SOPK);
}

bool exceeds(const isa::Operand& operand, const Allocation& have, uint32_t sgpr_codes) {
  if (!operand.present()) return false;
  const uint32_t code = operand.code, dwords = operand.dwords ? operand.dwords : 1u;
  if (operand.is_agpr()) return code - isa::kAgprBase + dwords > have.agprs;
  if (operand.is_vgpr()) return code - isa::kVgprBase + dwords > have.vgprs;
  return code < sgpr_codes && code + dwords > have.sgprs;
}

// Whether the instruction names a register beyond `have`.
bool exceeds(const isa::Inst& inst, const Allocation& have, Target target) {
  const uint32_t sgpr_codes = isa::sgpr_end(info(target).generation);
  for (int i = 0; i < inst.n_dst; i++)
    if (exceeds(inst.dst[i], have, sgpr_codes)) return true;
  for (int i = 0; i < inst.n_src; i++)
    if (exceeds(inst.src[i], have, sgpr_codes)) return true;
  return false;
}

// Whether some dword of the code may be an S_GETREG_B32 of TRAPSTS. A literal that looks like one costs
// speed, nothing else.
bool may_read_trapsts(Bytes code, Target target) {
  const Generation generation = info(target).generation;
  const bool is_18 = generation < Generation::gfx8 || generation == Generation::gfx10;
  const uint32_t id = generation >= Generation::gfx12 ? 18 : 3;  // EXCP_FLAG_USER has what TRAPSTS had
  const uint32_t wanted = 0xb000'0000u | (is_18 ? 18u : 17u) << 23 | id;
  for (uint64_t i = 0; i + 4 <= code.size(); i += 4) {
    uint32_t dword;
    std::memcpy(&dword, code.data() + i, 4);
    if ((dword & 0xff80'003f) == wanted) return true;
  }
  return false;
}

}  // namespace

namespace {
std::atomic<uint64_t> next_number{1};
}

Program::Program(Target target, uint64_t code_address, Bytes code, WaveSize wave)
    : target_(target),
      wave_(wave),
      code_(code),
      number_(next_number++),
      backing_(std::make_unique<Backing>()) {
  address = code_address;
  count = code.size() / 4;
  reads_exceptions = may_read_trapsts(code, target);
  // Zero pages of the reservation become real when a step in them is prepared.
  void* memory = mmap(nullptr, (count + 1) * sizeof(Step), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  storage_ = static_cast<Step*>(memory);
  steps = storage_;
}

Program::~Program() { munmap(storage_, (count + 1) * sizeof(Step)); }

const Step* Program::at(uint64_t pc) {
  if (!contains(pc) || pc % 4 != 0) return nullptr;
  const uint64_t index = (pc - address) / 4;
  if (steps[index].run.load(std::memory_order_acquire) == nullptr) {
    std::lock_guard lock(mutex_);
    prepare(index);
  }
  return steps + index;
}

// Gives the step the handler that decodes it when a wave reaches it; the step behind the last one gets a
// handler that faults.
void Program::prepare(uint64_t index) {
  Step& step = storage_[index];
  if (step.run.load(std::memory_order_relaxed) != nullptr) return;
  if (index == count) {
    fail(step, FaultKind::bad_jump, "execution ran off the end of the loaded code");
    return;
  }
  step.run.store(level().undecoded, std::memory_order_release);
}

void Program::fail(Step& step, FaultKind kind, const char* detail) {
  step.extra = static_cast<uint32_t>(kind);
  step.constants = reinterpret_cast<const uint32_t*>(detail);
  step.dwords = 1;
  step.run.store(level().fault, std::memory_order_release);
}

void Program::find_turns(const Step* entry) {
  std::lock_guard lock(mutex_);
  const uint64_t index = static_cast<uint64_t>(entry - steps);
  if (!searched_.insert(index).second) return;
  const auto kernel = lift::read_code(target_, wave_, code_, static_cast<uint32_t>(index * 4), true);
  if (!kernel.ok()) return;
  for (const uint32_t at : lift::find_turns(*kernel)) turns_.insert(at / 4);
}

std::shared_ptr<KernelAccesses> Program::accesses(const Step* entry,
                                                  const codeobj::KernelDescriptor& descriptor,
                                                  uint32_t acc_base) {
  std::lock_guard lock(mutex_);
  const uint64_t index = static_cast<uint64_t>(entry - steps);
  std::shared_ptr<KernelAccesses>& known = accesses_[index];
  if (known != nullptr) return known;
  known = std::make_shared<KernelAccesses>();
  const auto kernel = lift::read_code(target_, wave_, code_, static_cast<uint32_t>(index * 4), true);
  if (!kernel.ok()) return known;
  lift::LiftOptions options;
  options.acc_base = acc_base;
  const lift::Stores stores =
      lift::find_stores(lift::lift(*kernel, options), lift::argument_registers(descriptor));
  known->knows_stores = stores.is_known;
  for (const lift::ArgumentSet& followed : stores.followed) {
    std::vector<uint32_t>& arguments = known->stored_by.emplace_back();
    for (uint32_t n = 0; n < lift::kArgumentDwords; n++)
      if (followed.test(n)) arguments.push_back(n);
    if (followed.test(lift::kOtherArguments)) arguments.push_back(KernelAccesses::kAnyArgument);
  }
  const std::vector<uint32_t> quiet = lift::find_quiet_lds(*kernel);
  known->quiet_lds.resize(quiet.empty() ? 0 : quiet.back() / 4 + 1);
  for (const uint32_t at : quiet) known->quiet_lds[at / 4] = true;
  return known;
}

std::shared_ptr<const WrittenRegisters> Program::written(const Step* entry,
                                                         const codeobj::KernelDescriptor& descriptor,
                                                         uint32_t acc_base) {
  std::lock_guard lock(mutex_);
  const uint64_t index = static_cast<uint64_t>(entry - steps);
  std::shared_ptr<const WrittenRegisters>& known = written_[index];
  if (known != nullptr) return known;
  const auto kernel = lift::read_code(target_, wave_, code_, static_cast<uint32_t>(index * 4), true);
  known = std::make_shared<WrittenRegisters>(
      kernel.ok() ? lift::find_written(*kernel, written_at_entry(descriptor, target_), acc_base)
                  : WrittenRegisters());
  return known;
}

std::shared_ptr<const WrittenRegisters> Program::known_written(const Step* entry) {
  std::lock_guard lock(mutex_);
  const auto known = written_.find(static_cast<uint64_t>(entry - steps));
  return known == written_.end() ? nullptr : known->second;
}

void Program::decode(const Step* first, const Allocation& have) {
  std::lock_guard lock(mutex_);
  const uint64_t begin = static_cast<uint64_t>(first - steps);
  if (begin > count) return;
  // Decode to the end of the straight run, or to where an earlier decoding took over.
  std::vector<Decoded> run;
  uint64_t index = begin;
  int32_t end_ordinal = 0;
  while (true) {
    prepare(index);
    const Handler handler = steps[index].run.load(std::memory_order_relaxed);
    if (handler != level().undecoded) {
      end_ordinal = steps[index].ordinal;
      break;
    }
    const Decoded decoded = decode_one(index, have);
    run.push_back(decoded);
    if (decoded.is_last) break;
    index += storage_[index].dwords;
  }
  int32_t ordinal = end_ordinal;
  for (size_t i = run.size(); i-- > 0;) storage_[run[i].index].ordinal = --ordinal;
  for (const Decoded& decoded : run)
    storage_[decoded.index].run.store(decoded.handler, std::memory_order_release);
}

Program::Decoded Program::decode_one(uint64_t index, const Allocation& have) {
  Step& step = storage_[index];
  const auto failed = [&](FaultKind kind, const char* detail) {
    step.extra = static_cast<uint32_t>(kind);
    step.constants = reinterpret_cast<const uint32_t*>(detail);
    step.dwords = 1;
    return Decoded{index, level().fault, true};
  };
  const Bytes bytes(code_.data() + index * 4, code_.size() - index * 4);
  Result<isa::Inst> result = isa::decode(target_, bytes, wave_);
  if (!result.ok()) return failed(FaultKind::illegal_instruction, "not an instruction of this target");
  const isa::Inst& inst = backing_->instructions.emplace_back(*result);
  step.inst = &inst;
  step.dwords = inst.size / 4;
  if (index + step.dwords > count)
    return failed(FaultKind::illegal_instruction, "instruction ends beyond the code");
  fill_operands(inst, step);
  Handler handler = level().select(target_, inst, step);
  if (handler == nullptr) {
    const bool graphics = inst.row->flags & isa::kGraphics;
    return failed(graphics ? FaultKind::graphics : FaultKind::unimplemented, inst.row->mnemonic);
  }
  if (!(inst.row->flags & isa::kBranch) && exceeds(inst, have, target_)) handler = level().bounded;
  if (turns_.contains(index)) handler = level().turn;
  if (is_relative_branch(inst)) {
    int64_t target = static_cast<int64_t>(index) + step.imm;
    if (target < 0 || target > static_cast<int64_t>(count)) target = static_cast<int64_t>(count);
    step.imm = static_cast<int32_t>(target - static_cast<int64_t>(index));
    prepare(static_cast<uint64_t>(target));
  }
  const bool is_last = inst.row->flags & isa::kTerminator;
  if (!is_last) prepare(index + step.dwords);
  return {index, handler, is_last};
}

void Program::set_operands(const isa::Inst& inst, Step& step) {
  std::lock_guard lock(mutex_);
  fill_operands(inst, step);
}

void Program::fill_operands(const isa::Inst& inst, Step& step) {
  const int operands = inst.n_src < 4 ? inst.n_src : 4;
  isa::Constant constants[4];
  int n_constants = 0;
  for (int i = 0; i < operands; i++) {
    isa::Operand operand = inst.src[i];
    if (operand.code == isa::kNull) operand.code = isa::kInlineZero;
    if (!operand.present()) {
      step.kind[i] = Source::none;
    } else if (operand.is_vgpr()) {
      step.kind[i] = Source::vgpr;
      step.src[i] = (operand.code - isa::kVgprBase) * kLanes * 4;
    } else if (operand.is_agpr()) {
      step.kind[i] = Source::agpr;
      step.src[i] = (operand.code - isa::kAgprBase) * kLanes * 4;
    } else if (isa::is_constant(operand.code)) {
      step.kind[i] = Source::constant;
      step.src[i] = n_constants * 2 * kLanes;
      constants[n_constants++] = isa::constant_value(operand.code, operand.type, inst.literal);
    } else {
      step.kind[i] = is_special(operand.code, target_) ? Source::special : Source::scalar;
      step.src[i] = operand.code;
    }
  }
  if (n_constants == 0 && (inst.row->flags & isa::kLiteralK))
    constants[n_constants++] = {inst.literal, 0, false};
  if (n_constants == 1) {
    step.constants = backing_->constant(constants[0]);
  } else if (n_constants > 1) {
    uint32_t* block = backing_->blocks(static_cast<size_t>(n_constants));
    for (int i = 0; i < n_constants; i++)
      std::memcpy(block + i * 2 * kLanes, backing_->constant(constants[i]), 2 * kLanes * 4);
    step.constants = block;
  }
  const isa::Operand& dst = inst.dst[0];
  step.dst = dst.is_agpr()   ? (dst.code - isa::kAgprBase) * kLanes * 4
             : dst.is_vgpr() ? (dst.code - isa::kVgprBase) * kLanes * 4
                             : sink(dst.code);
  step.sdst = inst.n_dst > 1 ? sink(inst.dst[1].code) : 0;
  step.plain = inst.neg == 0 && inst.abs == 0 && inst.neg_hi == 0 && inst.omod == 0 && !inst.clamp &&
               !inst.sdwa && !inst.dpp && inst.op_sel == 0;
}

void CodeMap::add(uint64_t address, Bytes code) {
  std::unique_lock lock(mutex_);
  regions_.insert_or_assign(address, Region{code, nullptr, nullptr});
}

CodeMap::Region CodeMap::remove(uint64_t address) {
  std::unique_lock lock(mutex_);
  auto found = regions_.extract(address);
  return found.empty() ? Region() : std::move(found.mapped());
}

Program* CodeMap::find(uint64_t pc, WaveSize wave) const {
  if (wave == WaveSize::wave32 && !has_wave32(target_)) return nullptr;
  const auto program = wave == WaveSize::wave32 ? &Region::wave32 : &Region::wave64;
  uint64_t address = 0;
  Bytes code;
  {
    std::shared_lock lock(mutex_);
    auto it = regions_.upper_bound(pc);
    if (it == regions_.begin()) return nullptr;
    --it;
    address = it->first;
    code = it->second.code;
    if (pc - address >= code.size() / 4 * 4) return nullptr;
    if (Program* const made = (it->second.*program).get()) return made;
  }
  // Without the lock: it reads the code, which may wait in a handler of SIGSEGV (touched_pages.h).
  auto made = std::make_unique<Program>(target_, address, code, wave);
  std::unique_lock lock(mutex_);
  const auto it = regions_.find(address);
  if (it == regions_.end() || it->second.code.size() != code.size()) return nullptr;  // removed meanwhile
  std::unique_ptr<Program>& kept = it->second.*program;
  if (!kept) kept = std::move(made);
  return kept.get();
}

}  // namespace morgana::device
