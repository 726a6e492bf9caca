// WaitCheck: registers that are read or overwritten while memory still has to do with them, which only
// s_waitcnt tells (CDNA4 guide 4.4); gfx12 has an instruction for each counter.
//
// What a wave has issued is outstanding until a wait says that it is not, whatever the interpreter has done
// already. Of one kind results come in order, but those of scalar loads; of several kinds that one counter
// counts any may be the last.
#pragma once

#include <unordered_map>
#include <vector>

#include "device/observe/reporter.h"
#include "device/observe/used_registers.h"

namespace morgana::device {

class WaitCheck {
 public:
  explicit WaitCheck(Reporter& reporter) : reporter_(reporter) {}
  void group_begins(const Group& group) { groups_[&group].assign(group.wave_count, {}); }
  void before(const Moment& moment, const UsedRegisters& used);
  void group_ends(const Group& group) { groups_.erase(&group); }
  // Scalar loads of the wave are outstanding.
  bool awaits_scalars(const Wave& wave) const;

 private:
  enum class Kind : uint8_t { vector, flat, lds, scalar, gds, message };
  // gfx12 calls the first loadcnt, counts LDS alone by the second (dscnt), and has the last two besides.
  enum Counter : uint8_t { kVmcnt = 1, kLgkmcnt = 2, kExpcnt = 4, kKmcnt = 8, kSamplecnt = 16 };

  // An instruction that was issued, and what is not known to be over.
  struct Issued {
    uint64_t pc = 0;
    Kind kind = Kind::vector;
    uint8_t counters = 0;   // that still count it
    uint8_t result_by = 0;  // those of which each says that the result is there
    Registers results;
    Registers data;  // read until expcnt says so
  };
  using Pending = std::vector<Issued>;

  void look_at(const Moment& moment, const UsedRegisters& used, Pending& pending);
  void issue(const Moment& moment, const UsedRegisters& used, Pending& pending) const;
  static void wait(Pending& pending, Counter counter, uint32_t count);
  static bool is_wait(Pending& pending, const isa::Inst& inst, Generation generation);
  static void forget(Pending& pending);
  void report(const Moment& moment, const Pending& pending, const Issued& before, uint32_t code, bool reads,
              bool is_data);

  Reporter& reporter_;
  std::unordered_map<const Group*, std::vector<Pending>> groups_;
};

}  // namespace morgana::device
