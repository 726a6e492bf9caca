// What wave IR means, executed value by value: for tests, which compare it with the interpreter. Functions
// and calls are executed by the interpreter, each instruction alone; everything else here.
//
// One thread; slow.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "device/lift/code.h"
#include "device/lift/ir.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {

class IrEvaluator {
 public:
  // `function` was lifted from `code`, which was read from `dwords`; `entry` is the address that it has,
  // `options` say how its waves are started.
  IrEvaluator(const lift::Code& code, const std::vector<uint32_t>& dwords, const lift::Function& function,
              uint64_t entry, const RigOptions& options);
  ~IrEvaluator();

  using Lanes = std::array<uint64_t, kLanes>;  // numbers of the wave: in the first

  // Is told each value that is found, and each that an edge gives a parameter.
  void watch(std::function<void(lift::ValueId, const Lanes&)> watcher) { watcher_ = std::move(watcher); }

  // From the registers, LDS and scratch of `wave` on, which get what the function leaves. How it ended, or
  // nullopt: it has not, after `most` blocks.
  std::optional<lift::Ending> run(Wave& wave, uint32_t most = 100'000);

 private:
  void set(lift::ValueId id, const Lanes& to);
  void evaluate(lift::ValueId id);
  void compute(const lift::Value& value, Lanes& to) const;
  void function(lift::ValueId id, Lanes& to);
  void atomic(lift::ValueId id);
  lift::Register place(const isa::Operand& operand) const;
  void call(lift::ValueId id);
  void move_dword(const lift::AccessForm& form, uint64_t address, int lane, uint64_t& data) const;
  void access(lift::ValueId id);
  uint8_t* memory_of(isa::Space space, uint64_t address, int lane) const;
  struct Instruction;
  Instruction& instruction_at(uint32_t pc, bool is_function = false);
  unsigned lanes() const { return static_cast<unsigned>(function_.width); }
  uint64_t read_mask(const Wave& wave, const isa::Operand& operand) const;
  void move_memory(WaveRig& rig, bool back) const;
  Lanes read(const Wave& wave, lift::Register code, lift::Kind kind) const;
  static void write(Wave& wave, lift::Register code, lift::Kind kind, const Lanes& from);
  const Lanes& argument(const lift::Value& value, size_t n) const { return values_[value.arguments[n]]; }
  lift::Kind kind(lift::ValueId id) const { return function_[id].kind; }

  const lift::Code& code_;
  const std::vector<uint32_t> dwords_;
  const lift::Function& function_;
  const uint64_t entry_;
  const RigOptions options_;
  std::vector<Lanes> values_;
  std::map<uint32_t, std::unique_ptr<Instruction>> instructions_;
  std::map<lift::ValueId, std::vector<Lanes>> parts_;  // of calls, accesses and functions
  std::function<void(lift::ValueId, const Lanes&)> watcher_;
  Wave* wave_ = nullptr;
};

}  // namespace morgana::device
