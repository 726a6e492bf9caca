#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codeobj/bundle.h"
#include "codeobj/code_object.h"
#include "codeobj/describe.h"
#include "device/isa/decode.h"
#include "device/lift/facts.h"
#include "device/lift/lift.h"
#include "device/lift/stores.h"
#include "device/lift/text.h"
#include "device/lift/verify.h"
#include "device/lift/written.h"
#include "tools/morgana/commands.h"
#include "tools/morgana/program.h"

namespace morgana::tools {
namespace {

using device::lift::Code;
using device::lift::Fact;
using device::lift::Function;
using device::lift::ValueId;

struct Wanted {
  std::string kernel;  // empty: all
  std::optional<Target> target;
  bool facts = false, check = false;
};

struct Lifted {
  Code code;
  Function function;
  uint32_t acc_base = 256;  // the place of AccVGPR 0
};

// A function that is well-formed, or an error that says why there is none.
Result<Lifted> lift_kernel(const codeobj::CodeObject& object, const codeobj::Kernel& kernel) {
  for (const codeobj::CodeRange& range : codeobj::code_ranges(object)) {
    if (kernel.entry_address < range.address || kernel.entry_address - range.address >= range.bytes.size())
      continue;
    const auto entry = static_cast<uint32_t>(kernel.entry_address - range.address);
    auto code = device::lift::read_code(object.target(), kernel.descriptor.wave_size(), range.bytes, entry);
    if (!code.ok()) return code.error();
    device::lift::LiftOptions options;
    if (info(object.target()).unified_vgprs) options.acc_base = kernel.descriptor.accum_offset;
    Lifted lifted{std::move(code).value(), {}, options.acc_base};
    lifted.function = device::lift::lift(lifted.code, options);
    if (const std::string wrong = device::lift::verify(lifted.function); !wrong.empty())
      return make_error(ErrorCode::internal, "the lifted function is not well-formed: {}", wrong);
    return lifted;
  }
  return make_error(ErrorCode::malformed, "the kernel's code is not in the file");
}

// Which arguments go into the addresses of stores, by their bytes.
void print_stores(const Lifted& lifted, const device::lift::ArgumentRegisters& registers) {
  const device::lift::Stores stores = device::lift::find_stores(lifted.function, registers);
  if (!stores.is_known) fmt::print("; stores: nothing is known\n");
  for (const device::lift::ArgumentSet& followed : stores.followed) {
    std::vector<std::string> bytes;
    for (size_t n = 0; n < followed.size(); n++)
      if (followed.test(n))
        bytes.push_back(n < device::lift::kOtherArguments ? std::to_string(4 * n) : "any");
    fmt::print("; stores: by arguments at {}\n",
               bytes.empty() ? "none" : fmt::to_string(fmt::join(bytes, " ")));
  }
}

// Where registers may be read that nobody has written.
void print_unproven(const Lifted& lifted, const codeobj::KernelDescriptor& descriptor) {
  const device::WrittenRegisters written = device::lift::find_written(
      lifted.code, device::written_at_entry(descriptor, lifted.code.target), lifted.acc_base);
  if (!written.is_known) fmt::print("; written: nothing is known\n");
  for (const device::WrittenRegisters::Reader& reader : written.unproven) {
    const auto at = std::ranges::find(lifted.code.instructions, reader.dword * 4, &device::lift::Decoded::pc);
    fmt::print("; written: v{} may not be at {:#x}: {}\n", fmt::join(reader.registers, " v"), at->pc,
               isa::disassemble(lifted.code.target, at->inst));
  }
}

// Each value's facts, and of the first value of an instruction its assembly.
void print_kernel(const codeobj::Kernel& kernel, const Lifted& lifted, bool with_facts) {
  const auto facts = with_facts ? device::lift::find_facts(lifted.function) : std::vector<Fact>{};
  std::map<uint32_t, const isa::Inst*> instructions;
  for (const device::lift::Decoded& at : lifted.code.instructions) instructions[at.pc] = &at.inst;
  uint32_t last = ~0u;
  const auto comment = [&](ValueId id) {
    const device::lift::Value& value = lifted.function[id];
    std::string text;
    if (!facts.empty()) text = device::lift::describe(facts[id], value.kind);
    if (value.operation == device::lift::Operation::input ||
        value.operation == device::lift::Operation::parameter || value.pc == last)
      return text;
    last = value.pc;
    const auto found = instructions.find(last);
    if (found == instructions.end()) return text;
    return text + (text.empty() ? "" : "  ; ") + isa::disassemble(lifted.code.target, *found->second);
  };
  fmt::print("; {}\n", codeobj::printable(kernel.name));
  if (with_facts) {
    print_stores(lifted, device::lift::argument_registers(kernel.descriptor));
    print_unproven(lifted, kernel.descriptor);
  }
  fmt::print("{}", device::lift::print(lifted.function, comment));
}

// One line: how much there is of what, and whether the text form comes back as it was.
bool check_kernel(const codeobj::CodeObject& object, const codeobj::Kernel& kernel, const Lifted& lifted) {
  const Function& function = lifted.function;
  size_t values = 0, calls = 0, leaves = 0;
  for (const device::lift::Block& block : function.blocks) {
    values += block.values.size();
    leaves += block.ending == device::lift::Ending::leave;
    for (const ValueId id : block.values) calls += function[id].operation == device::lift::Operation::call;
  }
  const std::string text = device::lift::print(function);
  const auto again = device::lift::parse(text);
  const bool same = again.ok() && device::lift::verify(*again).empty() && device::lift::print(*again) == text;
  fmt::print("{} {}: {} instructions, {} blocks, {} values, {} calls of the interpreter, {} ways out{}\n",
             info(object.target()).name, codeobj::printable(kernel.name), lifted.code.instructions.size(),
             function.blocks.size(), values, calls, leaves,
             same         ? ""
             : again.ok() ? "; its text is read as something else"
                          : "; its text cannot be read: " + again.error().message);
  return same;
}

// How many kernels there are of those wanted; `failed`: of how many nothing came.
int do_object(const codeobj::CodeObject& object, const Wanted& wanted, int& failed) {
  int count = 0;
  for (const codeobj::Kernel& kernel : object.kernels()) {
    if (!wanted.kernel.empty() && kernel.name != wanted.kernel) continue;
    count++;
    const auto lifted = lift_kernel(object, kernel);
    if (!lifted.ok()) {
      fail("ir", fmt::format("{}: {}", codeobj::printable(kernel.name), lifted.error().message));
      failed++;
    } else if (!wanted.check) {
      print_kernel(kernel, *lifted, wanted.facts);
    } else if (!check_kernel(object, kernel, *lifted)) {
      failed++;
    }
  }
  return count;
}

int do_file(const std::string& path, const Wanted& wanted) {
  auto file = read_program(path, wanted.target ? std::string(info(*wanted.target).name) : "");
  if (!file.ok()) return fail("ir", file.error().message);
  auto bundle = codeobj::Bundle::parse(Bytes(*file));
  if (!bundle.ok()) return fail("ir", bundle.error().in(path).message);
  int count = 0, failed = 0;
  for (const codeobj::BundleEntry& entry : bundle->entries()) {
    const bool fits = entry.target && (!wanted.target || entry.target->target() == *wanted.target);
    if (!fits || !codeobj::is_code_object(entry.bytes)) continue;
    auto object = codeobj::CodeObject::parse(entry.bytes);
    if (!object.ok()) return fail("ir", object.error().in(path).message);
    count += do_object(*object, wanted, failed);
    if (!wanted.kernel.empty() && count > 0 && !wanted.check) break;
  }
  if (count == 0)
    return fail("ir", wanted.kernel.empty() ? fmt::format("{}: no kernels", path)
                                            : fmt::format("{}: no kernel '{}'", path, wanted.kernel));
  return failed == 0 ? 0 : 1;
}

}  // namespace

int ir_command(Words words) {
  std::vector<std::string_view> own(words.begin(), words.end());
  Wanted wanted;
  auto kernel = take_option(own, "--kernel");
  auto target = take_option(own, "--target");
  if (!kernel.ok()) return fail("ir", kernel.error().message, 2);
  if (!target.ok()) return fail("ir", target.error().message, 2);
  wanted.facts = take_flag(own, "--facts");
  wanted.check = take_flag(own, "--check");
  if (kernel->has_value()) wanted.kernel = **kernel;
  if (target->has_value()) {
    wanted.target = find_target(**target);
    if (!wanted.target) return fail("ir", fmt::format("no target '{}'", **target), 2);
  }
  if (own.size() != 1 || own.front().starts_with('-'))
    return fail("ir", "one file is needed: morgana ir FILE [--kernel K]", 2);
  return do_file(std::string(own.front()), wanted);
}

}  // namespace morgana::tools
