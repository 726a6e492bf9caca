// Program: one region of guest code, decoded into Steps as execution reaches it.
//
// A CodeMap owns the Programs of a Device and finds them by address. A step is published with release order
// and does not change afterwards, so waves on any thread execute a Program while another thread decodes more
// of it. Decoding takes a whole straight run at a time, up to an instruction that ends it: only then can the
// steps of the run be numbered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "base/bytes.h"
#include "base/fork_safe.h"
#include "base/target.h"
#include "codeobj/kernel_descriptor.h"
#include "device/interp/code.h"
#include "device/kernel_accesses.h"
#include "device/written_registers.h"

namespace morgana::device {

// How many registers a wave has. Instructions may name others; then hardware's rule holds (CDNA4 guide
// 3.6.1).
struct Allocation {
  uint32_t sgprs, vgprs, agprs;
};

class Program : public Code {
 public:
  // `code` stays readable as long as the Program lives.
  Program(Target target, uint64_t address, Bytes code, WaveSize wave = WaveSize::wave64);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The step at `pc`, ready to run; nullptr when `pc` is not a dword of this region.
  const Step* at(uint64_t pc);

  Target target() const { return target_; }
  Bytes code() const { return code_; }
  // No other Program of the process has it.
  uint64_t number() const { return number_; }

  // Finds where the waves of a group take turns (lift/turns.h) in the kernel that begins at `entry`. Once for
  // each, before a wave comes there: published steps stay as they are.
  void find_turns(const Step* entry);

  // Of the kernel that begins at `entry`. Looks at all of its code, once. `acc_base`: place of AccVGPR 0.
  std::shared_ptr<KernelAccesses> accesses(const Step* entry, const codeobj::KernelDescriptor& descriptor,
                                           uint32_t acc_base);

  // Likewise, which of its registers are known to have been written; and what that has found before.
  std::shared_ptr<const WrittenRegisters> written(const Step* entry,
                                                  const codeobj::KernelDescriptor& descriptor,
                                                  uint32_t acc_base);
  std::shared_ptr<const WrittenRegisters> known_written(const Step* entry);

  // Decodes the straight run that starts at `step`. Called by the handler of steps that are not decoded yet.
  // `have` is what the wave has that came here first. It decides for all others, too: kernels that share code
  // use the same registers.
  void decode(const Step* step, const Allocation& have);
  // What a step has of its operands, for one outside the Program: of one of two instructions in one.
  void set_operands(const isa::Inst& inst, Step& step);

 private:
  struct Backing;  // what steps point to
  struct Decoded {
    uint64_t index;
    Handler handler;
    bool is_last;  // nothing falls through
  };
  void prepare(uint64_t index);
  void fail(Step& step, FaultKind kind, const char* detail);
  Decoded decode_one(uint64_t index, const Allocation& have);
  void fill_operands(const isa::Inst& inst, Step& step);

  Target target_;
  WaveSize wave_;  // of the waves that execute it: how wide lane masks are
  Bytes code_;
  const uint64_t number_;
  Step* storage_ = nullptr;  // one step per dword and one past the end; reserved lazily
  ForkSafe<std::mutex> mutex_;
  std::unique_ptr<Backing> backing_;
  std::set<uint64_t> searched_, turns_;  // dwords: kernels that find_turns was called for; what it found
  // Of kernels, by dword.
  std::map<uint64_t, std::shared_ptr<KernelAccesses>> accesses_;
  std::map<uint64_t, std::shared_ptr<const WrittenRegisters>> written_;
};

// The code regions of a Device.
class CodeMap {
 public:
  explicit CodeMap(Target target) : target_(target) {}

  // The steps of waves of 64 and of 32, made when somebody first looks for them: a driver may take all memory
  // for code.
  struct Region {
    Bytes code;
    std::unique_ptr<Program> wave64, wave32;
  };

  void add(uint64_t address, Bytes code);
  Region remove(uint64_t address);  // what was added there

  // The program that `pc` lies in, or nullptr. Valid until its region is removed.
  Program* find(uint64_t pc, WaveSize wave = WaveSize::wave64) const;

 private:
  Target target_;
  mutable ForkSafe<std::shared_mutex> mutex_;
  mutable std::map<uint64_t, Region> regions_;
};

}  // namespace morgana::device
