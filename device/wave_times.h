// WaveTimes: what the check of races notes of a wave. Compiled code does it itself where the wave waits, at
// marks of barriers, and for most accesses to LDS.
//
// Of one wave of a launch, whose thread alone reads and writes it.
#pragma once

#include <cstdint>

#include "device/isa/inst.h"

namespace morgana::device {

struct LdsMarks;

// What the compiler puts before a barrier that orders some memory only (CheckHost::barrier_marks): an s_nop
// with a bit that hardware does not read and LLVM sets in no other.
inline constexpr uint32_t kBarrierMarkNop = 0x100;
inline bool is_barrier_mark(const isa::Inst& inst) {
  return inst.row->op == isa::Op::s_nop && inst.simm16 == kBarrierMarkNop;
}

struct WaveTimes {
  uint32_t number = 0;  // from 1 on
  uint32_t time = 1;    // goes on at barriers and where the wave has waited for its stores
  // The time of the first store that it has not waited for, to global memory and to LDS, and of the first
  // that lies in an L2 that not all groups share; 0: none does.
  uint32_t stores_since = 0, lds_since = 0, dirty_since = 0;
  uint64_t mark = 0;  // the address of the last mark (is_barrier_mark) since the group's barrier
  LdsMarks* lds = nullptr;
  // Some of its own records (RaceMark), so that most need not be looked up.
  static constexpr uint32_t kOwn = 4;
  uint32_t own[kOwn] = {};

  void stores(uint32_t& since) const {
    if (since == 0) since = time;
  }
  void waits(bool for_stores, bool for_lds) {
    if (for_stores) has_waited(stores_since);
    if (for_lds) has_waited(lds_since);
  }

 private:
  void has_waited(uint32_t& since) {
    if (since != 0) time++;
    since = 0;
  }
};

}  // namespace morgana::device
