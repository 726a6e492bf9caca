#include "runtime/unpack.h"

#include "codeobj/bundle.h"
#include "codeobj/link.h"

namespace morgana::runtime {
namespace {

Result<const codeobj::BundleEntry*> choose(const codeobj::Bundle& bundle, const AgentSpec* agent) {
  if (agent != nullptr) {
    MORGANA_TRY(codeobj::TargetId id, codeobj::parse_target_id(agent->processor));
    return bundle.select(id);
  }
  for (const codeobj::BundleEntry& entry : bundle.entries())
    if (entry.target && entry.target->target()) return &entry;
  return make_error(ErrorCode::not_found, "no code for an AMD GPU that Morgana knows");
}

}  // namespace

Result<codeobj::CodeObject> unpack(Bytes bytes, const AgentSpec* agent) {
  if (codeobj::is_code_object(bytes)) {
    MORGANA_TRY(codeobj::CodeObject object, codeobj::CodeObject::parse(bytes));
    return codeobj::linked(std::move(object));
  }
  MORGANA_TRY(codeobj::Bundle bundle, codeobj::Bundle::parse(bytes));
  MORGANA_TRY(const codeobj::BundleEntry* entry, choose(bundle, agent));
  MORGANA_TRY(codeobj::CodeObject object, codeobj::CodeObject::parse(entry->bytes));
  return codeobj::linked(std::move(object));
}

}  // namespace morgana::runtime
