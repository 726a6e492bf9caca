#include "device/lift/code.h"

#include <algorithm>
#include <map>
#include <set>

#include "device/isa/decode.h"
#include "device/isa/effects.h"

namespace morgana::device::lift {
namespace {

using isa::Control;

constexpr size_t kMostInstructions = 100'000;

// Bytes from an instruction with a relative target to where it goes.
uint32_t target_of(const Decoded& at) {
  return at.next() + static_cast<uint32_t>(4 * int32_t{static_cast<int16_t>(at.inst.simm16)});
}
bool ends_run(Control control) { return control != Control::none; }
bool falls_through(Control control, bool beyond_leaves) {
  return (beyond_leaves && control == Control::leave) || control == Control::none ||
         control == Control::branch || control == Control::barrier || control == Control::sleep ||
         control == Control::call || control == Control::swap_pc;
}
bool has_target(Control control) { return control == Control::jump || control == Control::branch; }

struct Reader {
  Target target;
  WaveSize wave;
  Bytes code;
  bool beyond_leaves;
  std::map<uint32_t, isa::Inst> found;
  std::set<uint32_t> leaders;

  bool reach(uint32_t entry) {
    std::vector<uint32_t> pending{entry};
    leaders.insert(entry);
    while (!pending.empty()) {
      uint32_t at = pending.back();
      pending.pop_back();
      while (!found.contains(at)) {
        const auto rest = at % 4 == 0 ? code.slice(at, code.size() - std::min<uint64_t>(at, code.size()))
                                      : Result<Bytes>(Bytes());
        if (!rest.ok() || rest->empty()) break;
        const auto inst = isa::decode(target, *rest, wave);
        if (!inst.ok()) break;
        if (found.size() >= kMostInstructions) return false;
        const Decoded& decoded = {at, found.emplace(at, *inst).first->second};
        const Control control = isa::effects(inst->row->op).control;
        if (has_target(control)) {
          leaders.insert(target_of(decoded));
          pending.push_back(target_of(decoded));
        }
        at = decoded.next();
        if (ends_run(control)) leaders.insert(at);
        if (!falls_through(control, beyond_leaves)) break;
      }
    }
    return true;
  }
};

}  // namespace

Code straight_run(Target target, WaveSize wave, std::vector<Decoded> instructions) {
  Code code;
  code.target = target;
  code.wave = wave;
  code.instructions = std::move(instructions);
  code.runs.push_back({code.instructions.front().pc, 0, static_cast<uint32_t>(code.instructions.size()),
                       Run::kNowhere, Run::kNowhere});
  return code;
}

Result<Code> read_code(Target target, WaveSize wave, Bytes bytes, uint32_t entry, bool beyond_leaves) {
  Code code;
  code.target = target;
  code.wave = wave;
  Reader reader{target, wave, bytes, beyond_leaves, {}, {}};
  if (!reader.reach(entry))
    return make_error(ErrorCode::malformed, "more than {} instructions", kMostInstructions);
  if (!reader.found.contains(entry))
    return make_error(ErrorCode::malformed, "no instruction at {:#x}, where the code begins", entry);
  std::map<uint32_t, uint32_t> run_at;
  uint32_t expected = ~0u;
  for (const auto& [pc, inst] : reader.found) {
    // Where instructions overlap, or nothing was found, a run begins too.
    if (code.runs.empty() || reader.leaders.contains(pc) || pc != expected) {
      run_at[pc] = static_cast<uint32_t>(code.runs.size());
      code.runs.push_back(
          {pc, static_cast<uint32_t>(code.instructions.size()), 0, Run::kNowhere, Run::kNowhere});
    }
    code.instructions.push_back({pc, inst});
    code.runs.back().count++;
    expected = pc + inst.size;
  }
  const auto run_of = [&](uint32_t pc) {
    const auto found = run_at.find(pc);
    return found == run_at.end() ? Run::kNowhere : found->second;
  };
  for (Run& run : code.runs) {
    const Decoded& last = code.instructions[run.first + run.count - 1];
    const Control control = isa::effects(last.inst.row->op).control;
    if (has_target(control)) run.target = run_of(target_of(last));
    if (falls_through(control, beyond_leaves)) run.next = run_of(last.next());
  }
  code.entry = run_of(entry);
  return code;
}

}  // namespace morgana::device::lift
