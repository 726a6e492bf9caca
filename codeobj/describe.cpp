#include "codeobj/describe.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace morgana::codeobj {
namespace {

template <typename... Args>
void print(std::string& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
}

std::string flags_text(uint64_t flags, std::string_view letters) {
  std::string out;
  for (size_t i = 0; i < letters.size(); ++i)
    if (letters[i] != ' ' && ((flags >> i) & 1) != 0) out += letters[i];
  return out;
}

std::string section_type(uint32_t type) {
  switch (type) {
    case SHT_NULL: return "NULL";
    case SHT_PROGBITS: return "PROGBITS";
    case SHT_SYMTAB: return "SYMTAB";
    case SHT_STRTAB: return "STRTAB";
    case SHT_RELA: return "RELA";
    case SHT_HASH: return "HASH";
    case SHT_DYNAMIC: return "DYNAMIC";
    case SHT_NOTE: return "NOTE";
    case SHT_NOBITS: return "NOBITS";
    case SHT_REL: return "REL";
    case SHT_DYNSYM: return "DYNSYM";
    case SHT_GNU_HASH: return "GNU_HASH";
    default: return fmt::format("{:#x}", type);
  }
}

std::string segment_type(uint32_t type) {
  switch (type) {
    case PT_LOAD: return "LOAD";
    case PT_DYNAMIC: return "DYNAMIC";
    case PT_NOTE: return "NOTE";
    case PT_PHDR: return "PHDR";
    case PT_GNU_STACK: return "GNU_STACK";
    case PT_GNU_RELRO: return "GNU_RELRO";
    default: return fmt::format("{:#x}", type);
  }
}

std::string symbol_type(uint8_t type) {
  switch (type) {
    case STT_NOTYPE: return "NOTYPE";
    case STT_OBJECT: return "OBJECT";
    case STT_FUNC: return "FUNC";
    case STT_SECTION: return "SECTION";
    case STT_FILE: return "FILE";
    case kSymbolHsaKernel: return "HSA_KERNEL";
    default: return fmt::format("{}", type);
  }
}

std::string symbol_binding(uint8_t binding) {
  switch (binding) {
    case STB_LOCAL: return "LOCAL";
    case STB_GLOBAL: return "GLOBAL";
    case STB_WEAK: return "WEAK";
    default: return fmt::format("{}", binding);
  }
}

std::string symbol_section(const CodeObject& object, uint16_t index) {
  switch (index) {
    case SHN_UNDEF: return "UNDEF";
    case SHN_ABS: return "ABS";
    case SHN_COMMON: return "COMMON";
    case kSectionLds: return "LDS";
    default: break;
  }
  const auto& sections = object.elf().sections();
  return index < sections.size() ? printable(sections[index].name) : fmt::format("{}", index);
}

std::string relocation_type(uint32_t type) {
  static constexpr const char* kNames[] = {
      "NONE",          "ABS32_LO",      "ABS32_HI", "ABS64",    "REL32", "REL64",      "ABS32", "GOTPCREL",
      "GOTPCREL32_LO", "GOTPCREL32_HI", "REL32_LO", "REL32_HI", nullptr, "RELATIVE64", "REL16"};
  if (type < std::size(kNames) && kNames[type] != nullptr) return fmt::format("R_AMDGPU_{}", kNames[type]);
  return fmt::format("{}", type);
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", printable(text)); }

std::string dims(const Dim3& values) {
  return fmt::format("[ {}, {}, {} ]", values[0], values[1], values[2]);
}

void print_arg(std::string& out, const KernelArg& arg) {
  const char* lead = "      - ";
  const auto line = [&](const char* key, std::string_view value) {
    print(out, "{}{:<17} {}\n", lead, std::string(key) + ":", value);
    lead = "        ";
  };
  if (!arg.name.empty()) line(".name", quoted(arg.name));
  if (!arg.type_name.empty()) line(".type_name", quoted(arg.type_name));
  line(".offset", fmt::format("{}", arg.offset));
  line(".size", fmt::format("{}", arg.size));
  line(".value_kind", arg.kind == ArgKind::unknown ? quoted(arg.kind_name) : name(arg.kind));
  if (arg.address_space != AddressSpace::none) line(".address_space", name(arg.address_space));
  if (arg.access != Access::none) line(".access", name(arg.access));
  if (arg.actual_access != Access::none) line(".actual_access", name(arg.actual_access));
  if (arg.pointee_align != 0) line(".pointee_align", fmt::format("{}", arg.pointee_align));
  if (arg.is_const) line(".is_const", "true");
  if (arg.is_restrict) line(".is_restrict", "true");
  if (arg.is_volatile) line(".is_volatile", "true");
  if (arg.is_pipe) line(".is_pipe", "true");
}

void print_kernel(std::string& out, const KernelMetadata& kernel) {
  print(out, "  - .name:                       {}\n", quoted(kernel.name));
  const auto line = [&](const char* key, std::string_view value) {
    print(out, "    {:<28} {}\n", std::string(key) + ":", value);
  };
  const auto number = [&](const char* key, uint64_t value) { line(key, fmt::format("{}", value)); };
  line(".symbol", quoted(kernel.symbol));
  line(".kind", name(kernel.kind));
  if (!kernel.language.empty()) line(".language", quoted(kernel.language));
  if (!kernel.language_version.empty())
    line(".language_version", fmt::format("[ {} ]", fmt::join(kernel.language_version, ", ")));
  if (kernel.reqd_workgroup_size) line(".reqd_workgroup_size", dims(*kernel.reqd_workgroup_size));
  if (kernel.workgroup_size_hint) line(".workgroup_size_hint", dims(*kernel.workgroup_size_hint));
  if (!kernel.vec_type_hint.empty()) line(".vec_type_hint", quoted(kernel.vec_type_hint));
  if (!kernel.device_enqueue_symbol.empty())
    line(".device_enqueue_symbol", quoted(kernel.device_enqueue_symbol));
  number(".kernarg_segment_size", kernel.kernarg_segment_size);
  number(".kernarg_segment_align", kernel.kernarg_segment_align);
  number(".group_segment_fixed_size", kernel.group_segment_fixed_size);
  number(".private_segment_fixed_size", kernel.private_segment_fixed_size);
  number(".wavefront_size", kernel.wavefront_size);
  number(".sgpr_count", kernel.sgpr_count);
  number(".vgpr_count", kernel.vgpr_count);
  number(".agpr_count", kernel.agpr_count);
  number(".sgpr_spill_count", kernel.sgpr_spill_count);
  number(".vgpr_spill_count", kernel.vgpr_spill_count);
  number(".max_flat_workgroup_size", kernel.max_flat_workgroup_size);
  if (kernel.max_num_work_groups != Dim3{0, 0, 0})
    line(".max_num_work_groups", dims(kernel.max_num_work_groups));
  if (kernel.uses_dynamic_stack) line(".uses_dynamic_stack", "true");
  if (kernel.uniform_work_group_size) line(".uniform_work_group_size", "1");
  if (kernel.workgroup_processor_mode) line(".workgroup_processor_mode", "true");
  if (kernel.args.empty()) return;
  out += "    .args:\n";
  for (const KernelArg& arg : kernel.args) print_arg(out, arg);
}

std::string describe_object(const CodeObject& object) {
  std::string out = describe_header(object);
  const auto part = [&](const char* title, const std::string& text) {
    if (!text.empty()) print(out, "\n{}\n{}", title, text);
  };
  part("Sections", describe_sections(object));
  part("Segments", describe_segments(object));
  part("Symbols", describe_symbols(object));
  part("Relocations", describe_relocations(object));
  part("Notes", describe_notes(object));
  for (const Kernel& kernel : object.kernels()) part("Kernel descriptor", describe_descriptor(kernel));
  part("Metadata", describe_metadata(object));
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out.append({'\\', c});
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f)
      print(out, "\\x{:02x}", static_cast<uint8_t>(c));
    else
      out += c;
  }
  return out;
}

std::string describe_header(const CodeObject& object) {
  const Elf64_Ehdr& header = object.elf().header();
  std::string out;
  print(out, "Code object V{}, {}\n", object.version(),
        object.is_relocatable() ? "relocatable (ET_REL)" : "linked (ET_DYN)");
  print(out, "  target id:  {}\n", object.target_id().isa_name());
  if (object.generic_version() != 0) print(out, "  generic:    version {}\n", object.generic_version());
  print(out, "  ISA table:  {}\n", info(object.target()).name);
  print(out, "  e_flags:    {:#x}, OS ABI {}, ABI version {}\n", header.e_flags, header.e_ident[EI_OSABI],
        header.e_ident[EI_ABIVERSION]);
  print(out, "  size:       {} bytes, {} kernels, {} variables\n", object.bytes().size(),
        object.kernels().size(), object.variables().size());
  return out;
}

std::string describe_sections(const CodeObject& object) {
  if (object.elf().sections().empty()) return {};
  std::string out =
      "  [Nr] Name                   Type     Address          Offset   Size     Flags Link Info Align\n";
  for (const ElfSection& section : object.elf().sections())
    print(out, "  [{:>2}] {:<22} {:<8} {:016x} {:08x} {:08x} {:<5} {:>4} {:>4} {:>5}\n", section.index,
          printable(section.name), section_type(section.type), section.address, section.offset, section.size,
          flags_text(section.flags, "WAX MSILO GTC"), section.link, section.info, section.alignment);
  return out;
}

std::string describe_segments(const CodeObject& object) {
  if (object.elf().segments().empty()) return {};
  std::string out = "  Type      Offset   Address          FileSize MemSize  Flags Align\n";
  for (const ElfSegment& segment : object.elf().segments())
    print(out, "  {:<9} {:08x} {:016x} {:08x} {:08x} {:<5} {:#x}\n", segment_type(segment.type),
          segment.offset, segment.address, segment.file_size, segment.memory_size,
          flags_text(segment.flags, "XWR"), segment.alignment);
  return out;
}

std::string describe_symbols(const CodeObject& object) {
  std::string out;
  for (const ElfSymbol& symbol : object.symbols()) {
    if (symbol.name.empty()) continue;
    if (out.empty()) out = "  Value            Size     Type       Binding Section          Name\n";
    print(out, "  {:016x} {:>8} {:<10} {:<7} {:<16} {}\n", symbol.value, symbol.size,
          symbol_type(symbol.type), symbol_binding(symbol.binding), symbol_section(object, symbol.section),
          printable(symbol.name));
  }
  return out;
}

std::string describe_relocations(const CodeObject& object) {
  std::string out;
  const ElfFile& elf = object.elf();
  std::map<uint32_t, std::vector<ElfSymbol>> tables;
  uint64_t total = 0;
  for (const ElfSection& section : elf.sections()) {
    if (section.type != SHT_RELA && section.type != SHT_REL) continue;
    total += section.bytes.size();
    if (total > elf.bytes().size()) return out + "  relocation tables overlap\n";
    const auto records = elf.relocations(section);
    if (!records) {
      print(out, "  {}\n", records.error().message);
      continue;
    }
    const auto [table, added] = tables.try_emplace(section.link);
    if (added && section.link < elf.sections().size())
      if (auto found = elf.symbols(elf.sections()[section.link])) table->second = std::move(found).value();
    const std::vector<ElfSymbol>& symbols = table->second;
    print(out, "  {}\n", printable(section.name));
    for (const ElfRelocation& record : *records) {
      const std::string_view symbol =
          record.symbol < symbols.size() ? symbols[record.symbol].name : std::string_view();
      print(out, "    {:016x} {:<22} {}{}{:#x}\n", record.offset, relocation_type(record.type),
            printable(symbol), symbol.empty() ? "" : " + ", static_cast<uint64_t>(record.addend));
    }
  }
  return out;
}

std::string describe_notes(const CodeObject& object) {
  std::string out;
  const auto notes = object.elf().notes();
  if (!notes) return fmt::format("  {}\n", notes.error().message);
  for (const ElfNote& note : *notes)
    print(out, "  {:<8} type {:<3} {} bytes\n", printable(note.name), note.type, note.descriptor.size());
  return out;
}

std::string describe_descriptor(const Kernel& kernel) {
  std::string out;
  print(out, ".amdhsa_kernel {}\n{}.end_amdhsa_kernel\n", printable(kernel.name), kernel.descriptor.text());
  print(out, "; descriptor {:#x}, entry {:#x}, code {} bytes, {} VGPRs, {} SGPRs allocated\n",
        kernel.descriptor_address, kernel.entry_address, kernel.code_size, kernel.descriptor.vgpr_count,
        kernel.descriptor.sgpr_count);
  out += "; user SGPRs:";
  for (const UserSgprRange& range : kernel.descriptor.user_sgprs())
    print(out, " s[{}:{}] {}", range.first, range.first + range.count - 1, name(range.what));
  out += '\n';
  if (kernel.descriptor.reserved_bits_set) out += "; reserved bits are set\n";
  if (kernel.descriptor.is_kernel_code)
    print(out, "; amd_kernel_code_t {}.{}, machine {}.{}.{}, uses {} VGPRs, {} SGPRs\n",
          kernel.descriptor.code.version_major, kernel.descriptor.code.version_minor,
          kernel.descriptor.code.machine_major, kernel.descriptor.code.machine_minor,
          kernel.descriptor.code.machine_stepping, kernel.descriptor.code.workitem_vgpr_count,
          kernel.descriptor.code.wavefront_sgpr_count);
  return out;
}

std::string describe_metadata(const CodeObject& object) {
  const Metadata& metadata = object.metadata();
  if (metadata.version_major == 0 && metadata.kernels.empty()) return {};
  std::string out;
  print(out, "amdhsa.version: [ {}, {} ]\n", metadata.version_major, metadata.version_minor);
  if (!metadata.target.empty()) print(out, "amdhsa.target: {}\n", quoted(metadata.target));
  if (!metadata.printf.empty()) out += "amdhsa.printf:\n";
  for (const std::string& text : metadata.printf) print(out, "  - {}\n", quoted(text));
  if (!metadata.kernels.empty()) out += "amdhsa.kernels:\n";
  for (const KernelMetadata& kernel : metadata.kernels) print_kernel(out, kernel);
  return out;
}

std::string describe_bundle(const Bundle& bundle) {
  std::string out;
  for (size_t i = 0; i < bundle.entries().size(); ++i) {
    const BundleEntry& entry = bundle.entries()[i];
    print(out, "  [{}] bundle {}: {} {} bytes\n", i, entry.bundle, printable(entry.id), entry.bytes.size());
  }
  return out;
}

Result<std::string> describe_file(Bytes bytes) {
  if (is_code_object(bytes)) {
    MORGANA_TRY(const CodeObject object, CodeObject::parse(bytes));
    return describe_object(object);
  }
  MORGANA_TRY(const Bundle bundle, Bundle::parse(bytes));
  std::string out = "Offload bundle\n" + describe_bundle(bundle);
  for (size_t i = 0; i < bundle.entries().size(); ++i) {
    if (!is_code_object(bundle.entries()[i].bytes)) continue;
    print(out, "\n[{}] {}\n", i, printable(bundle.entries()[i].id));
    const auto object = CodeObject::parse(bundle.entries()[i].bytes);
    // One foreign GPU's object does not hide the others.
    out += object ? describe_object(*object) : fmt::format("{}\n", object.error().message);
  }
  return out;
}

std::vector<CodeRange> code_ranges(const CodeObject& object) {
  std::map<uint32_t, std::vector<CodeRange>> by_section;
  std::set<uint64_t> unsized;  // where code begins of which no symbol says the size
  const auto& sections = object.elf().sections();
  for (const ElfSection& section : sections)
    if (section.type == SHT_PROGBITS && (section.flags & SHF_EXECINSTR) != 0 && !section.bytes.empty())
      by_section.try_emplace(section.index);
  const auto base_of = [&](const ElfSection& section) {
    return object.is_relocatable() ? 0 : section.address;
  };
  for (const ElfSymbol& symbol : object.symbols()) {
    const auto found = by_section.find(symbol.section);
    if ((symbol.type != STT_FUNC && symbol.type != kSymbolHsaKernel) || found == by_section.end()) continue;
    const ElfSection& section = sections[symbol.section];
    uint64_t offset = symbol.value - base_of(section);
    uint64_t size = symbol.size;
    if (symbol.type == kSymbolHsaKernel) {
      const Kernel* kernel = object.kernel(symbol.name);
      const uint64_t skip =
          kernel == nullptr ? 0 : static_cast<uint64_t>(kernel->descriptor.entry_byte_offset);
      offset += skip;
      size = size > skip ? size - skip : 0;
    }
    if (offset >= section.bytes.size()) continue;
    if (size == 0) unsized.insert(base_of(section) + offset);
    if (size == 0 || size > section.bytes.size() - offset) size = section.bytes.size() - offset;
    found->second.push_back({std::string(symbol.name), std::string(section.name), base_of(section) + offset,
                             Bytes(section.bytes.data() + offset, size)});
  }
  std::vector<CodeRange> ranges;
  for (auto& [index, found] : by_section) {
    const ElfSection& section = sections[index];
    if (found.empty()) found.push_back({"", std::string(section.name), base_of(section), section.bytes});
    std::ranges::sort(found, {}, &CodeRange::address);
    // Code of unknown size ends where other code begins.
    uint64_t next = UINT64_MAX;
    for (size_t i = found.size(); i-- > 0;) {
      CodeRange& range = found[i];
      if (i + 1 < found.size() && found[i + 1].address > range.address) next = found[i + 1].address;
      if (unsized.contains(range.address))
        range.bytes = Bytes(range.bytes.data(), std::min<uint64_t>(range.bytes.size(), next - range.address));
    }
    std::ranges::move(found, std::back_inserter(ranges));
  }
  return ranges;
}

}  // namespace morgana::codeobj
