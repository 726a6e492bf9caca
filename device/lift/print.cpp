#include <fmt/format.h>

#include "device/isa/decode.h"
#include "device/lift/text.h"

namespace morgana::device::lift {
namespace {

std::string operand(ValueId id) { return fmt::format("%{}", id); }

std::string list(const std::vector<ValueId>& values) {
  std::string text;
  for (const ValueId id : values) text += (text.empty() ? "" : ", ") + operand(id);
  return text;
}

std::string form(const AccessForm& a) {
  std::string text = fmt::format("{} {} {}x{}", name(a.space), name(a.direction), name(a.element), a.count);
  if (a.two)
    text += fmt::format(" +{} +{}", a.offset, a.second);
  else if (a.offset != 0)
    text += fmt::format(" +{}", a.offset);
  return text + (a.returns ? " returns" : "");
}

// What stands behind the equals sign.
std::string body(const Value& v) {
  switch (v.operation) {
    case Operation::input:
      return fmt::format("input.{} {}", name(v.kind), name_of(static_cast<Register>(v.number)));
    case Operation::constant: return fmt::format("constant.{} {}", name(v.kind), v.number);
    case Operation::compute: return fmt::format("{}.{} {}", name(v.fn), name(v.kind), list(v.arguments));
    case Operation::part: return fmt::format("part.{} {} {}", name(v.kind), v.number, list(v.arguments));
    case Operation::function:
      return fmt::format("function.{} {} {}", name(v.kind), isa::name(v.op), list(v.arguments));
    case Operation::access:
      return fmt::format("access {} {} ({})", isa::name(v.op), form(v.access), list(v.arguments));
    case Operation::exit:
    case Operation::call: {
      std::string text = v.operation == Operation::call
                             ? fmt::format("call {} ({}", isa::name(v.op), operand(v.arguments[0]))
                             : "exit (";
      const size_t first = v.operation == Operation::call;
      for (size_t r = 0; r < v.registers.size(); r++)
        text += fmt::format("{}{}={}", r + first > 0 ? ", " : "", name_of(v.registers[r]),
                            operand(v.arguments[r + first]));
      text += ")";
      if (!v.writes.empty()) text += " ->";
      for (const Register code : v.writes)
        text += fmt::format(" {}{}", name_of(static_cast<Register>(code & ~kPair)), code & kPair ? "+" : "");
      return text;
    }
    default: return fmt::format("{}.{} {}", name(v.operation), name(v.kind), list(v.arguments));
  }
}

std::string edge(const Edge& to) { return fmt::format("block{}({})", to.block, list(to.arguments)); }

}  // namespace

std::string print(const Function& function, const std::function<std::string(ValueId)>& comment) {
  std::string text = fmt::format("wave{}\n", function.width);
  const auto note = [&](ValueId id) {
    const std::string said = comment ? comment(id) : "";
    return said.empty() ? "" : "  ; " + said;
  };
  for (size_t b = 0; b < function.blocks.size(); b++) {
    const Block& block = function.blocks[b];
    std::string parameters;
    for (const ValueId id : block.parameters)
      parameters += fmt::format("{}{}.{} {}", parameters.empty() ? "" : ", ", operand(id),
                                name(function[id].kind), name_of(static_cast<Register>(function[id].number)));
    text += fmt::format("block{}({}) @{:x}\n", b, parameters, block.pc);
    if (comment)
      for (const ValueId id : block.parameters)
        if (const std::string said = comment(id); !said.empty())
          text += fmt::format("  ; %{}: {}\n", id, said);
    for (const ValueId id : block.values)
      text += fmt::format("  {} = {} @{:x}{}\n", operand(id), body(function[id]), function[id].pc, note(id));
    text += fmt::format("  {}", name(block.ending));
    if (block.value != kNoValue) text += " " + operand(block.value);
    for (const Edge& to : block.edges) text += " " + edge(to);
    text += fmt::format(" @{:x}\n", block.end_pc);
  }
  return text;
}

}  // namespace morgana::device::lift
