#include "device/coverage.h"

#include "device/interp/code.h"
#include "device/isa/decode.h"

namespace morgana::device {
namespace {

RowState state_of(Target target, const std::vector<uint32_t>& code) {
  const Result<isa::Inst> inst = isa::decode(target, Bytes(code.data(), code.size() * 4));
  if (!inst.ok()) return RowState::missing;
  Step step{};
  step.inst = &*inst;
  step.plain = !inst->sdwa && !inst->dpp;
  if (level().select(target, *inst, step) != nullptr) return RowState::semantics;
  return inst->row->flags & isa::kGraphics ? RowState::graphics : RowState::missing;
}

}  // namespace

const char* name(RowState state) {
  constexpr const char* kNames[] = {"semantics", "graphics-only", "missing"};
  return kNames[static_cast<int>(state)];
}

std::vector<RowCoverage> coverage(Target target) {
  std::vector<RowCoverage> result;
  for (const isa::Row& row : isa::all_rows()) {
    for (const isa::Form form : isa::kForms) {
      const std::vector<uint32_t> code = isa::example(target, row, form);
      const int opcode =
          isa::is_promoted(form) ? isa::vop3_opcode(target, row) : row.opcode[static_cast<int>(target)];
      if (!code.empty())
        result.push_back({&row, form, opcode, state_of(target, code)});
      else if (form == isa::Form::plain && opcode >= 0)
        result.push_back({&row, form, opcode, RowState::missing});
    }
  }
  return result;
}

}  // namespace morgana::device
