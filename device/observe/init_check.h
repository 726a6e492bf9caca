// InitCheck: values that nobody has written decide where the kernel goes, which memory it touches, or what
// others see.
//
// Every bit of registers, LDS and scratch has a shadow: open, until something is written there. What is
// computed of open bits is open, too, as exactly as rules.def says what instructions compute; of functions
// that are not written down the result is open where a whole operand is. Copies say nothing: registers of
// callers are saved, padding is copied, lanes that a branch left out are merged.
//
// Where the kernel's code says enough of its registers (WrittenRegisters), and dwords of LDS and scratch are
// written whole, these begin as kUnwritten, as global memory does, and compiled code goes on as long as it
// reads nothing else than what has been written. A wave that does leaves it, and is followed from there on.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "device/observe/reporter.h"
#include "device/written_registers.h"

namespace morgana::device {

inline constexpr uint32_t kAllBits = ~uint32_t{0};  // the bits of a register

// What is open of a register in a lane, a bit each.
struct OpenBits {
  constexpr OpenBits(uint32_t bits = 0, uint32_t computed = 0) : open(bits), used(computed) {}
  operator uint32_t() const { return open; }
  OpenBits& operator|=(OpenBits more) {
    open |= more.open, used |= more.used;
    return *this;
  }
  OpenBits& operator&=(uint32_t kept) {
    open &= kept, used &= kept;
    return *this;
  }
  uint32_t open;
  uint32_t used;  // of these: what was computed, not merely brought here (shadow.h)
};

struct OpenWave {
  std::vector<OpenBits> vector;  // by register, AccVGPRs as they lie behind the VGPRs, and lane
  std::array<OpenBits, isa::kRegisterEnd + 2> scalar{};
  std::vector<uint8_t> scratch;  // by byte and lane
  bool scc = false;
  bool is_indexed = false;   // vector operands are not those that instructions name
  bool is_followed = false;  // otherwise nothing above is said yet
};
// Of a dword in LDS or scratch that was written with open bits.
struct OpenDword {
  uint32_t value = 0, open = 0;
  bool is_computed = false;  // of what was there, by an atomic: whatever the value is now
};
struct OpenGroup {
  std::vector<OpenWave> waves;
  std::vector<uint8_t> lds;
  // Where a byte is kUnwritten's until it is written: what is open of other dwords, by host address.
  bool has_marks = false;
  std::unordered_map<uint64_t, OpenDword> dwords;
};

class InitCheck {
 public:
  InitCheck(const Launch& launch, Reporter& reporter)
      : launch_(launch), reporter_(reporter), sees_parts_(reporter.host().sees_unwritten_part()) {}
  // Dwords of which some bytes were written look in compiled code like others.
  bool sees_parts() const { return sees_parts_; }
  void knows(const std::shared_ptr<const WrittenRegisters>& written);
  bool looks_at_loads() const { return written_ != nullptr; }
  uint64_t* followed(const Wave& wave) { return followed_[&wave].data(); }
  bool reads_unwritten(const Wave& wave, std::span<const Access> accesses);
  void loaded_unwritten(const Wave& wave, const isa::Inst& inst) { loaded_[&wave] = &inst; }

  void group_begins(const Group& group, const Wave* waves);
  void before(const Moment& moment);
  void group_ends(const Group& group) { groups_.erase(&group); }

 private:
  void begin_wave(const Wave& wave, OpenWave& one) const;
  void go_on(const Moment& moment, OpenWave& one);

  const Launch& launch_;
  Reporter& reporter_;
  const bool sees_parts_;
  std::shared_ptr<const WrittenRegisters> written_;  // null: all waves are followed from the beginning
  std::unordered_map<const Group*, OpenGroup> groups_;
  std::unordered_map<const Wave*, std::array<uint64_t, WrittenRegisters::kMostFollowed>> followed_;
  std::unordered_map<const Wave*, const isa::Inst*> loaded_;  // the last that compiled code has executed
};

}  // namespace morgana::device
