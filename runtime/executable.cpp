#include "runtime/executable.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "codeobj/line_table.h"
#include "codeobj/loader.h"
#include "runtime/enqueue_records.h"
#include "runtime/kernel_notes.h"
#include "runtime/memory.h"
#include "runtime/unpack.h"

namespace morgana::runtime {

struct Executable::Impl {
  codeobj::CodeObject object;
  codeobj::LoadedCode loaded;
  std::vector<uint64_t> code;  // segments that the device may execute
  std::optional<codeobj::LineTable> lines;

  uint64_t file_address(uint64_t pc) const { return pc - loaded.bias; }
};

namespace {

Status check_runs_on(const codeobj::CodeObject& object, const AgentSpec& agent) {
  // A software GPU runs code of either xnack and sramecc setting, so only the processor counts.
  MORGANA_TRY(codeobj::TargetId id, codeobj::parse_target_id(agent.processor));
  if (codeobj::compatible(object.target_id(), id)) return {};
  return make_error(ErrorCode::unsupported, "the code object is for {}; the device is {}",
                    object.target_id().str(), agent.processor);
}

std::vector<uint32_t> pointer_offsets(const codeobj::KernelMetadata& kernel) {
  std::vector<uint32_t> offsets;
  for (const codeobj::KernelArg& arg : kernel.args)
    if (arg.kind == codeobj::ArgKind::global_buffer && arg.size == sizeof(uint64_t))
      offsets.push_back(arg.offset);
  return offsets;
}

}  // namespace

Result<std::string> Executable::processor_of(Bytes code_object) {
  MORGANA_TRY(codeobj::CodeObject object, unpack(code_object, nullptr));
  return object.target_id().processor;
}

Result<std::shared_ptr<Executable>> Executable::load(Agent& agent, Bytes code_object) {
  MORGANA_TRY(codeobj::CodeObject object, unpack(code_object, &agent.spec()));
  MORGANA_CHECK(check_runs_on(object, agent.spec()));

  std::shared_ptr<Executable> executable(new Executable);
  executable->agent_ = &agent;
  executable->impl_ = std::make_unique<Impl>();
  Impl& impl = *executable->impl_;
  impl.object = std::move(object);

  void* memory = nullptr;
  codeobj::LoadCallbacks callbacks;
  callbacks.allocate = [&](size_t size, size_t alignment) -> Result<void*> {
    auto allocated = allocate(size, alignment, "code object");
    if (allocated.ok()) memory = *allocated;
    return allocated;
  };
  auto loaded = codeobj::load(impl.object, callbacks);
  if (!loaded.ok()) {
    release(memory);
    return loaded.error();
  }
  impl.loaded = std::move(loaded).value();

  device::Device::prepare_compiler();
  for (const auto& segment : impl.loaded.segments) {
    if ((segment.flags & PF_X) == 0) continue;
    agent.device().add_code(segment.address, segment.size);
    impl.code.push_back(segment.address);
  }
  for (const std::string& text : impl.object.metadata().printf) {
    auto format = codeobj::parse_printf_format(text);
    if (format.ok())
      executable->printf_formats_.push_back(std::move(format).value());
    else
      log(LogLevel::warn, "printf format '{}': {}", text, format.error().message);
  }
  // Both lists are in the order of CodeObject::kernels().
  for (size_t i = 0; i < impl.loaded.kernels.size(); ++i) {
    const codeobj::Kernel& parsed = impl.object.kernels()[i];
    const codeobj::LoadedKernel& placed = impl.loaded.kernels[i];
    executable->kernels_.push_back({parsed.name, &parsed.metadata, parsed.descriptor,
                                    placed.descriptor_address, placed.entry_address, executable.get(),
                                    pointer_offsets(parsed.metadata)});
    executable->fill_handle(executable->kernels_.back());
  }
  for (const auto& loaded : impl.loaded.variables) {
    Variable variable{loaded.name, loaded.address, loaded.size};
    if (!executable->take_sub_groups(variable)) executable->variables_.push_back(std::move(variable));
  }
  auto lines = codeobj::LineTable::read(impl.object);
  if (lines.ok()) impl.lines = std::move(lines).value();
  return executable;
}

void Executable::fill_handle(Kernel& kernel) {
  if (!kernel.is_block()) return;
  const auto address = symbol_address(kernel.metadata->device_enqueue_symbol);
  const bool is_inside = address && std::ranges::any_of(impl_->loaded.segments, [&](const auto& segment) {
                           return segment.size >= sizeof(BlockHandle) &&
                                  *address - segment.address <= segment.size - sizeof(BlockHandle);
                         });
  if (!is_inside) {
    log(LogLevel::warn, "kernel '{}': no place for the handle '{}'", kernel.name,
        kernel.metadata->device_enqueue_symbol);
    return;
  }
  const BlockHandle handle{kernel.descriptor_address, kernel.metadata->private_segment_fixed_size,
                           kernel.metadata->group_segment_fixed_size};
  std::memcpy(reinterpret_cast<void*>(*address), &handle, sizeof handle);  // NOLINT: an address
  kernel.handle = *address;
}

// Whether it is none of the program's: what the compiler tells of a kernel.
bool Executable::take_sub_groups(const Variable& variable) {
  const std::string_view name = variable.name;
  const auto kernel_before = [&](std::string_view ending) {
    return name.ends_with(ending) && variable.size == sizeof(uint32_t)
               ? std::ranges::find(kernels_, name.substr(0, name.size() - ending.size()), &Kernel::name)
               : kernels_.end();
  };
  if (kernel_before(kSubGroupSizeEnding) != kernels_.end()) return true;  // its name says all
  const auto found = kernel_before(kSubGroupsEnding);
  if (found == kernels_.end()) return false;
  std::memcpy(&found->sub_groups, reinterpret_cast<const void*>(variable.address),  // NOLINT: an address
              sizeof found->sub_groups);
  return true;
}

Executable::~Executable() {
  if (impl_ == nullptr) return;
  for (uint64_t address : impl_->code) agent_->device().remove_code(address);
  release(impl_->loaded.memory);
}

const Kernel* Executable::kernel(std::string_view name) const {
  auto found = std::ranges::find_if(kernels_, [&](const Kernel& kernel) { return kernel.name == name; });
  return found == kernels_.end() ? nullptr : &*found;
}

const Kernel* Executable::block(uint64_t handle) const {
  auto found = std::ranges::find_if(kernels_, [&](const Kernel& kernel) { return kernel.handle == handle; });
  return handle == 0 || found == kernels_.end() ? nullptr : &*found;
}

const codeobj::CodeObject& Executable::code_object() const { return impl_->object; }

uint64_t Executable::bias() const { return impl_->loaded.bias; }

std::optional<uint64_t> Executable::symbol_address(std::string_view name) const {
  for (const codeobj::ElfSymbol& symbol : impl_->object.symbols())
    if (symbol.name == name && symbol.section != SHN_UNDEF && symbol.section < SHN_LORESERVE)
      return symbol.value + impl_->loaded.bias;
  return std::nullopt;
}

std::optional<uint64_t> Executable::first_function() const {
  const codeobj::ElfSymbol* first = nullptr;
  for (const codeobj::ElfSymbol& symbol : impl_->object.symbols())
    if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF && (!first || symbol.value < first->value))
      first = &symbol;
  if (first == nullptr) return std::nullopt;
  return first->value + impl_->loaded.bias;
}

std::string Executable::source_line(uint64_t pc) const {
  if (!impl_->lines) return {};
  auto line = impl_->lines->find(impl_->file_address(pc));
  return line ? fmt::format("{}:{}", line->file, line->line) : std::string{};
}

std::string Executable::function_at(uint64_t pc) const {
  const codeobj::ElfSymbol* symbol = impl_->object.function_at(impl_->file_address(pc));
  return symbol == nullptr ? std::string{} : std::string(symbol->name);
}

uint64_t Executable::offset_in_function(uint64_t pc) const {
  const codeobj::ElfSymbol* symbol = impl_->object.function_at(impl_->file_address(pc));
  return symbol == nullptr ? 0 : impl_->file_address(pc) - symbol->value;
}

}  // namespace morgana::runtime
