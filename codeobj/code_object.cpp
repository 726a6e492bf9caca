#include "codeobj/code_object.h"

#include <algorithm>

#include "codeobj/processor.h"

namespace morgana::codeobj {
namespace {

const char* os_abi_name(uint8_t os_abi) {
  switch (os_abi) {
    case ELFOSABI_NONE: return "no OS";
    case kOsAbiPal: return "amdpal";
    case kOsAbiMesa3d: return "mesa3d";
    default: return "an unknown OS";
  }
}

const ElfNote* find_note(const std::vector<ElfNote>& notes, std::string_view name, uint32_t type) {
  for (const ElfNote& note : notes)
    if (note.name == name && note.type == type) return &note;
  return nullptr;
}

// The two-bit modes of EF_AMDGPU_FEATURE_*_V4: unsupported, any, off, on.
Feature feature_v4(uint32_t bits) { return static_cast<Feature>(bits & 3); }

Feature feature_v3(bool supported, bool on) {
  if (!supported) return Feature::unsupported;
  return on ? Feature::on : Feature::off;
}

Error unsupported_processor(std::string_view name) {
  return make_error(ErrorCode::unsupported, "code for {}, which Morgana cannot execute", name);
}

// What metadata and symbol table have in common. A kernel "saxpy" has the symbol "saxpy.kd"; in V2 the symbol
// "saxpy", which the metadata call "saxpy" or "saxpy@kd".
std::string_view kernel_key(std::string_view symbol) {
  if (symbol.ends_with(".kd") || symbol.ends_with("@kd")) symbol.remove_suffix(3);
  return symbol;
}

}  // namespace

bool is_code_object(Bytes bytes) {
  if (!is_elf(bytes)) return false;
  const auto header = bytes.read<Elf64_Ehdr>(0);
  return header && header->e_machine == kMachineAmdgpu;
}

uint64_t Kernel::kernarg_bytes() const {
  uint64_t size = std::max(descriptor.kernarg_size, metadata.kernarg_segment_size);
  for (const KernelArg& arg : metadata.args) size = std::max(size, uint64_t{arg.offset} + arg.size);
  return size;
}

Result<CodeObject> CodeObject::parse(Bytes bytes) {
  CodeObject object;
  auto storage = std::make_shared<std::vector<uint8_t>>(bytes.begin(), bytes.end());
  object.storage_ = storage;
  auto elf = ElfFile::parse(Bytes(storage->data(), storage->size()));
  if (!elf) return elf.error().in("code object");
  object.elf_ = std::make_shared<const ElfFile>(std::move(elf).value());

  const Elf64_Ehdr& header = object.elf_->header();
  if (header.e_machine != kMachineAmdgpu)
    return make_error(ErrorCode::malformed, "code object: ELF machine is {}, not {} (EM_AMDGPU)",
                      header.e_machine, kMachineAmdgpu);
  if (header.e_ident[EI_OSABI] != kOsAbiHsa)
    return make_error(ErrorCode::unsupported, "code object for {} (OS ABI {}); only amdhsa ({}) is supported",
                      os_abi_name(header.e_ident[EI_OSABI]), header.e_ident[EI_OSABI], kOsAbiHsa);
  if (header.e_type != ET_DYN && header.e_type != ET_REL)
    return make_error(ErrorCode::unsupported, "code object: ELF type {} is neither ET_DYN nor ET_REL",
                      header.e_type);
  if (header.e_ident[EI_ABIVERSION] > 4)
    return make_error(ErrorCode::unsupported, "code object: ABI version {} is newer than code object V6 (4)",
                      header.e_ident[EI_ABIVERSION]);
  object.version_ = header.e_ident[EI_ABIVERSION] + 2;

  const auto read = [&object]() -> Status {
    MORGANA_TRY(const auto notes, object.elf_->notes());
    MORGANA_CHECK(object.read_identity(notes));
    MORGANA_CHECK(object.read_metadata(notes));
    MORGANA_CHECK(object.read_symbols());
    return object.read_kernels();
  };
  if (auto status = read(); !status) return status.error().in("code object");
  return object;
}

Status CodeObject::read_identity(const std::vector<ElfNote>& notes) {
  if (version_ == 2) return read_identity_v2(notes);
  const uint32_t flags = elf_->header().e_flags;
  const uint8_t mach = flags & 0xff;
  const Processor* processor = find_processor(mach);
  if (processor == nullptr)
    return make_error(ErrorCode::unsupported, "unknown processor: EF_AMDGPU_MACH {:#04x} in e_flags {:#x}",
                      mach, flags);
  if (!processor->target) return unsupported_processor(processor->name);
  target_ = *processor->target;
  target_id_.processor = processor->name;
  if (version_ == 3) {
    target_id_.xnack = feature_v3(processor->has_xnack, (flags & 0x100) != 0);
    target_id_.sramecc = feature_v3(processor->has_sramecc, (flags & 0x200) != 0);
  } else {
    target_id_.xnack = feature_v4(flags >> 8);
    target_id_.sramecc = feature_v4(flags >> 10);
  }
  if (processor->is_generic) {
    if (version_ < 6)
      return make_error(ErrorCode::malformed, "generic processor {} in code object V{}; V6 introduced them",
                        processor->name, version_);
    generic_version_ = static_cast<uint8_t>(flags >> 24);
    if (generic_version_ == 0)
      return make_error(ErrorCode::malformed, "generic processor {} without a version in e_flags {:#x}",
                        processor->name, flags);
  }
  return {};
}

// V2 names its processor in notes, with fixed feature settings (AMDGPUUsage "Code Object V2 Note Records").
Status CodeObject::read_identity_v2(const std::vector<ElfNote>& notes) {
  const ElfNote* version = find_note(notes, "AMD", kNoteHsaIsaVersion);
  const ElfNote* isa_name = find_note(notes, "AMD", kNoteHsaIsaName);
  const Processor* processor = nullptr;
  bool xnack = false;
  if (version != nullptr) {
    MORGANA_TRY(const auto major, version->descriptor.read<uint32_t>(4));
    MORGANA_TRY(const auto minor, version->descriptor.read<uint32_t>(8));
    MORGANA_TRY(const auto stepping, version->descriptor.read<uint32_t>(12));
    processor = find_processor_v2(major, minor, stepping, xnack);
    if (processor == nullptr)
      return make_error(ErrorCode::unsupported, "code object V2 for ISA version {}.{}.{}", major, minor,
                        stepping);
  } else if (isa_name != nullptr) {
    std::string_view text = isa_name->descriptor.text();
    text = text.substr(0, text.find('\0'));
    auto parsed = parse_target_id(text);
    if (!parsed) return parsed.error().in("NT_AMD_HSA_ISA_NAME");
    processor = find_processor(parsed->processor);
    xnack = parsed->xnack == Feature::on;
  } else {
    return make_error(ErrorCode::malformed,
                      "code object V2 names no ISA: it has neither an NT_AMD_HSA_ISA_VERSION "
                      "nor an NT_AMD_HSA_ISA_NAME note");
  }
  if (!processor->target) return unsupported_processor(processor->name);
  // The HSAIL finalizer, which always leaves its note, keeps the setting in e_flags.
  if (find_note(notes, "AMD", kNoteHsaHsail) != nullptr) xnack = (elf_->header().e_flags & 1) != 0;
  target_ = *processor->target;
  target_id_ = {.processor = processor->name,
                .sramecc = feature_v3(processor->has_sramecc, false),
                .xnack = feature_v3(processor->has_xnack, xnack)};
  return {};
}

Status CodeObject::read_metadata(const std::vector<ElfNote>& notes) {
  if (version_ == 2) {
    if (const ElfNote* note = find_note(notes, "AMD", kNoteHsaMetadata)) {
      MORGANA_TRY(metadata_, parse_yaml_metadata(note->descriptor.text()));
    }
  } else if (const ElfNote* note = find_note(notes, "AMDGPU", kNoteMetadata)) {
    MORGANA_TRY(metadata_, parse_msgpack_metadata(note->descriptor));
  }
  return {};
}

Status CodeObject::read_symbols() {
  // .symtab holds what .dynsym holds and the local symbols besides; a stripped object has only the latter.
  const ElfSection* table = elf_->section_of_type(SHT_SYMTAB);
  if (table == nullptr) table = elf_->section_of_type(SHT_DYNSYM);
  if (table == nullptr) return {};
  MORGANA_TRY(symbols_, elf_->symbols(*table));
  // Before linking, values are offsets in sections and order nothing.
  if (is_relocatable()) return {};
  for (uint32_t i = 0; i < symbols_.size(); ++i)
    if (symbols_[i].is_defined() && (symbols_[i].type == STT_FUNC || symbols_[i].type == kSymbolHsaKernel))
      functions_.push_back(i);
  std::ranges::sort(functions_, {}, [this](uint32_t index) { return symbols_[index].value; });
  return {};
}

Result<Bytes> CodeObject::symbol_bytes(const ElfSymbol& symbol, uint64_t size) const {
  if (!is_relocatable()) return elf_->at_address(symbol.value, size);
  if (symbol.section >= elf_->sections().size())
    return make_error(ErrorCode::malformed, "its section {} does not exist", symbol.section);
  return elf_->sections()[symbol.section].bytes.slice(symbol.value, size);
}

Status CodeObject::add_kernel(const ElfSymbol& symbol, const KernelMetadata* metadata) {
  Kernel kernel;
  kernel.symbol = symbol.name;
  kernel.name = version_ == 2 ? symbol.name : kernel_key(symbol.name);
  kernel.descriptor_address = symbol.value;
  MORGANA_TRY(const Bytes bytes,
              symbol_bytes(symbol, version_ == 2 ? kKernelCodeSize : kKernelDescriptorSize));
  auto descriptor =
      version_ == 2 ? decode_kernel_code(bytes, target_) : decode_kernel_descriptor(bytes, target_);
  if (!descriptor) return descriptor.error();
  kernel.descriptor = *descriptor;
  if (metadata != nullptr) {
    kernel.metadata = *metadata;
    kernel.has_metadata = true;
    if (!metadata->name.empty()) kernel.name = metadata->name;
  }
  kernel.metadata.name = kernel.name;
  // Before linking, V3's offset to the entry is a relocation still to be applied.
  if (!is_relocatable()) {
    kernel.entry_address = symbol.value + static_cast<uint64_t>(kernel.descriptor.entry_byte_offset);
    MORGANA_CHECK(check_entry(kernel));
    const ElfSymbol* function = function_at(kernel.entry_address);
    if (function != nullptr && function->value == kernel.entry_address) kernel.code_size = function->size;
  }
  if (!kernel_index_.try_emplace(kernel.symbol, kernels_.size()).second)
    return make_error(ErrorCode::malformed, "it is defined twice");
  kernel_index_.try_emplace(kernel.name, kernels_.size());
  kernels_.push_back(std::move(kernel));
  return {};
}

Status CodeObject::check_entry(const Kernel& kernel) const {
  for (const ElfSegment& segment : elf_->segments())
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0 && kernel.entry_address >= segment.address &&
        kernel.entry_address - segment.address < segment.file_size)
      return {};
  return make_error(ErrorCode::malformed, "its entry {:#x} lies in no executable segment",
                    kernel.entry_address);
}

void CodeObject::read_variable(const ElfSymbol& symbol) {
  const bool is_lds = symbol.section == kSectionLds;
  const bool is_writable = !is_lds && symbol.section < elf_->sections().size() &&
                           (elf_->sections()[symbol.section].flags & SHF_WRITE) != 0;
  variables_.push_back({std::string(symbol.name), symbol.value, symbol.size, is_lds, is_writable,
                        symbol.binding != STB_LOCAL});
}

Status CodeObject::read_kernels() {
  std::unordered_map<std::string_view, const KernelMetadata*> described;
  for (const KernelMetadata& metadata : metadata_.kernels)
    described[metadata.symbol.empty() ? metadata.name : kernel_key(metadata.symbol)] = &metadata;
  for (const ElfSymbol& symbol : symbols_) {
    if (!symbol.is_defined() || symbol.name.empty()) continue;
    const bool is_descriptor =
        version_ == 2 ? symbol.type == kSymbolHsaKernel
                      : symbol.type == STT_OBJECT && symbol.name.size() > 3 && symbol.name.ends_with(".kd");
    if (is_descriptor) {
      const auto metadata = described.find(kernel_key(symbol.name));
      if (auto status = add_kernel(symbol, metadata == described.end() ? nullptr : metadata->second); !status)
        return status.error().in(fmt::format("kernel symbol '{}'", symbol.name));
      if (metadata != described.end()) metadata->second = nullptr;
    } else if (symbol.type == STT_OBJECT) {
      read_variable(symbol);
    }
  }
  // A kernel that the metadata promise must be there to be dispatched.
  for (const auto& [key, metadata] : described)
    if (metadata != nullptr && !is_relocatable())
      return make_error(ErrorCode::malformed, "kernel '{}' of the metadata has no descriptor symbol '{}'",
                        metadata->name, metadata->symbol);
  return {};
}

const Kernel* CodeObject::kernel(std::string_view name) const {
  const auto found = kernel_index_.find(std::string(name));
  return found == kernel_index_.end() ? nullptr : &kernels_[found->second];
}

const Variable* CodeObject::variable(std::string_view name) const {
  const auto found = std::ranges::find(variables_, name, &Variable::name);
  return found == variables_.end() ? nullptr : &*found;
}

const ElfSymbol* CodeObject::function_at(uint64_t address) const {
  const auto value = [this](uint32_t index) { return symbols_[index].value; };
  auto next = std::ranges::upper_bound(functions_, address, {}, value);
  // Functions hardly ever overlap: a few steps back find the one that is still open.
  for (int step = 0; step < 8 && next != functions_.begin(); ++step) {
    const ElfSymbol& symbol = symbols_[*--next];
    if (address - symbol.value < std::max<uint64_t>(symbol.size, 1)) return &symbol;
  }
  return nullptr;
}

}  // namespace morgana::codeobj
