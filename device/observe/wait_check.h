// WaitCheck: registers that are read or overwritten while memory still has to do with them, which only
// s_waitcnt tells (CDNA4 guide 4.4); gfx12 has an instruction for each counter.
//
// What a wave has issued is outstanding until a wait says that it is not, whatever the interpreter has done
// already. Of one kind results come in order, but those of scalar loads; of several kinds that one counter
// counts any may be the last. What is loaded to LDS past the registers is there when the wave that loads has
// waited for it, for it and for the others of its group.
#pragma once

#include <unordered_map>
#include <vector>

#include "device/observe/reporter.h"
#include "device/observe/used_registers.h"

namespace morgana::device {

class WaitCheck {
 public:
  explicit WaitCheck(Reporter& reporter) : reporter_(reporter) {}
  void group_begins(const Group& group, const Wave* waves) {
    groups_[&group] = {waves, std::vector<Pending>(group.wave_count)};
  }
  void before(const Moment& moment, const UsedRegisters& used);
  void group_ends(const Group& group) { groups_.erase(&group); }
  // Scalar loads of the wave are outstanding.
  bool awaits_scalars(const Wave& wave) const;

 private:
  enum class Kind : uint8_t { vector, flat, lds, scalar, gds, message };
  // gfx12 calls the first loadcnt, counts LDS alone by the second (dscnt), and has the last two besides.
  enum Counter : uint8_t { kVmcnt = 1, kLgkmcnt = 2, kExpcnt = 4, kKmcnt = 8, kSamplecnt = 16 };

  // Where a load leaves what it brings to LDS past the registers: lane l's `bytes` at begin + l * stride.
  struct Landing {
    uint64_t lanes = 0;
    uint64_t begin = 0;
    uint32_t stride = 0, bytes = 0;
    bool meets(uint64_t from, uint64_t to) const;  // [from, to)
  };

  // An instruction that was issued, and what is not known to be over.
  struct Issued {
    uint64_t pc = 0;
    Kind kind = Kind::vector;
    uint8_t counters = 0;   // that still count it
    uint8_t result_by = 0;  // those of which each says that the result is there
    Registers results;
    Registers data;  // read until expcnt says so
    Landing landing;
  };
  using Pending = std::vector<Issued>;
  struct GroupWaits {
    const Wave* waves = nullptr;
    std::vector<Pending> pending;  // of each wave
  };

  void look_at(const Moment& moment, const UsedRegisters& used, Pending& pending);
  void look_at_lds(const Moment& moment, GroupWaits& group);
  void issue(const Moment& moment, const UsedRegisters& used, Pending& pending) const;
  static void wait(Pending& pending, Counter counter, uint32_t count);
  static bool is_wait(Pending& pending, const isa::Inst& inst, Generation generation);
  static void forget(Pending& pending);
  void report(const Moment& moment, const Pending& pending, const Issued& before, uint32_t code, bool reads,
              bool is_data);
  void report_lds(const Moment& moment, const Access& access, uint32_t lane, const Wave& loader,
                  const Issued& load);

  Reporter& reporter_;
  std::unordered_map<const Group*, GroupWaits> groups_;
};

}  // namespace morgana::device
