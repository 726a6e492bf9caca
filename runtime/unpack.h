// Makes one linked code object of whatever bytes a program hands over: ELF, relocatable ELF, offload bundle,
// compressed bundle, HIP fat binary.
#pragma once

#include "base/bytes.h"
#include "codeobj/code_object.h"
#include "runtime/agent.h"

namespace morgana::runtime {

// Chooses the entry that fits `agent` best; without an agent the first AMD GPU entry.
Result<codeobj::CodeObject> unpack(Bytes bytes, const AgentSpec* agent);

}  // namespace morgana::runtime
