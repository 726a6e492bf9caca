#include "device/isa/memory_text.h"

namespace morgana::isa {
namespace {

constexpr std::string_view kScopes[] = {"SCOPE_CU", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS"};
constexpr int kScopeDevice = 2, kScopeSystem = 3;

// gfx12's temporal hint. Atomics have bits: 1 returns the old value, 2 not temporal, 4 cascading.
std::string atomic_hint(const Inst& inst) {
  const bool returns = (inst.th & 1) != 0, streams = (inst.th & 2) != 0;
  if (inst.th & 4) {
    if (inst.scope >= kScopeDevice) return streams ? "TH_ATOMIC_CASCADE_NT" : "TH_ATOMIC_CASCADE_RT";
    return fmt::format("TH_ATOMIC_{:#x}", inst.th);
  }
  if (streams) return returns ? "TH_ATOMIC_NT_RETURN" : "TH_ATOMIC_NT";
  return "TH_ATOMIC_RETURN";
}

std::string temporal_hint(const Inst& inst) {
  if (inst.row->flags & kAtomic) return atomic_hint(inst);
  constexpr std::string_view kHints[] = {"RT", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
  const bool store = (inst.row->flags & kStore) != 0;
  if (inst.th == 7 && !store) return "0x7";
  std::string_view hint = kHints[inst.th & 7];
  if (inst.th == 3) hint = inst.scope == kScopeSystem ? "BYPASS" : store ? "WB" : "LU";
  return fmt::format("TH_{}_{}", store ? "STORE" : "LOAD", hint);
}

}  // namespace

void MemoryText::cache_bits() {
  modifier_if(inst_.glc, "glc");
  modifier_if(inst_.sc0, "sc0");
  modifier_if(inst_.slc, "slc");
  modifier_if(inst_.nt, "nt");
  modifier_if(inst_.dlc, "dlc");
  modifier_if(inst_.scc, "scc");
  modifier_if(inst_.sc1, "sc1");
  if (inst_.th != 0) modifier("th:" + temporal_hint(inst_));
  if (inst_.scope != 0) modifier(fmt::format("scope:{}", kScopes[inst_.scope & 3]));
  modifier_if(inst_.nv && info(target_).generation >= Generation::gfx12, "nv");
}

Operand vdata(const Inst& inst) {
  if (inst.row->src[kVdata] == Type::none) return inst.dst[0];
  Operand data = inst.src[kVdata];
  data.dwords = uint8_t(data.dwords + int(inst.tfe));
  return data;
}

}  // namespace morgana::isa
