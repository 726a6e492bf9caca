// MemoryCheck: accesses that lie in no allocation, that the program has said do not happen, or outside of the
// LDS or the scratch that was asked for.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "device/observe/reporter.h"

namespace morgana::device {

class MemoryCheck {
 public:
  // All outlive it. `wants_aligned`: also accesses at addresses that are no multiples of their size.
  MemoryCheck(const Launch& launch, Reporter& reporter, bool wants_aligned);
  bool wants_aligned() const { return wants_aligned_; }
  void before(const Moment& moment);
  SeenRanges& seen() { return seen_; }
  bool allows(const isa::Inst& inst, std::span<const Access> accesses, uint32_t slot);
  // The same of what compiled code asks of lanes that all lie in one allocation, or in LDS; false of others.
  bool allows(const Wave& wave, const Neighbours& lanes);

 private:
  // The first byte of a lane that it may not access so.
  struct Forbidden {
    FindingKind kind;
    uint32_t lane;
    uint64_t address;
  };
  // `range`: what all lanes lie in, if that is one.
  std::optional<Forbidden> find_forbidden(const isa::Inst& inst, const Access& access, SeenRange& range);
  KnownMemory memory_at(uint64_t address);
  void look_at_global(const Moment& moment, const Access& access);
  void look_at_part(const Moment& moment, const Access& access, uint64_t size, FindingKind kind);
  void look_at_alignment(const Moment& moment, const Access& access);
  void report_array(const Moment& moment, uint32_t lane);
  void report(const Moment& moment, const Access& access, uint32_t lane, FindingKind kind, uint64_t address,
              std::string detail);

  const Launch& launch_;
  Reporter& reporter_;
  const bool wants_aligned_;
  std::vector<KnownMemory> own_;    // what the launch itself reads: arguments, packet, queue
  std::vector<KnownMemory> known_;  // lately used first
  SeenRanges seen_;
};

}  // namespace morgana::device
