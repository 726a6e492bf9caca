#include "codeobj/elf_file.h"

#include <algorithm>

namespace morgana::codeobj {
namespace {

// Bounds that no real file comes near, so that tables which overlap or share one long name cannot make
// reading them slow.
constexpr uint64_t kMaxName = 64 << 10;
constexpr uint64_t kMaxSegments = 1024;

Result<std::string_view> read_name(Bytes table, uint64_t offset) {
  if (offset >= table.size()) return table.string(offset);
  return Bytes(table.data() + offset, std::min<uint64_t>(table.size() - offset, kMaxName)).string(0);
}

uint64_t align4(uint64_t value) { return (value + 3) & ~uint64_t{3}; }

Status read_notes(Bytes area, std::vector<ElfNote>& notes) {
  uint64_t offset = 0;
  while (area.size() - offset >= sizeof(Elf64_Nhdr)) {
    MORGANA_TRY(const auto header, area.read<Elf64_Nhdr>(offset));
    offset += sizeof(Elf64_Nhdr);
    const auto name = area.slice(offset, header.n_namesz);
    if (!name) return name.error().in(fmt::format("name of note {}", notes.size()));
    offset += align4(header.n_namesz);
    const auto descriptor = area.slice(offset, header.n_descsz);
    if (!descriptor) return descriptor.error().in(fmt::format("descriptor of note {}", notes.size()));
    std::string_view text = name->text();
    text = text.substr(0, text.find('\0'));
    notes.push_back({text, header.n_type, *descriptor});
    // The last descriptor may lack its padding.
    offset = std::min<uint64_t>(offset + align4(header.n_descsz), area.size());
  }
  return {};
}

}  // namespace

bool is_elf(Bytes bytes) { return bytes.text().starts_with(std::string_view(ELFMAG, SELFMAG)); }

Result<ElfFile> ElfFile::parse(Bytes bytes) {
  if (!is_elf(bytes)) return make_error(ErrorCode::malformed, "not an ELF file");
  ElfFile file;
  file.bytes_ = bytes;
  MORGANA_TRY(file.header_, bytes.read<Elf64_Ehdr>(0));
  if (file.header_.e_ident[EI_CLASS] != ELFCLASS64 || file.header_.e_ident[EI_DATA] != ELFDATA2LSB)
    return make_error(ErrorCode::malformed, "not a 64-bit little-endian ELF file (class {}, data {})",
                      file.header_.e_ident[EI_CLASS], file.header_.e_ident[EI_DATA]);
  if (auto status = file.read_sections(); !status) return status.error().in("section headers");
  if (auto status = file.read_segments(); !status) return status.error().in("program headers");
  return file;
}

Status ElfFile::read_sections() {
  if (header_.e_shoff == 0) return {};
  if (header_.e_shentsize != sizeof(Elf64_Shdr))
    return make_error(ErrorCode::malformed, "entry size is {}, not {}", header_.e_shentsize,
                      sizeof(Elf64_Shdr));
  MORGANA_TRY(const auto first, bytes_.read<Elf64_Shdr>(header_.e_shoff));
  // Extended numbering: the counts that do not fit the header are in section 0 (ELF gABI "Sections").
  const uint64_t count = header_.e_shnum != 0 ? header_.e_shnum : first.sh_size;
  const uint64_t names = header_.e_shstrndx != SHN_XINDEX ? header_.e_shstrndx : first.sh_link;
  if (count > bytes_.size() / sizeof(Elf64_Shdr) ||
      !bytes_.contains(header_.e_shoff, count * sizeof(Elf64_Shdr)))
    return make_error(ErrorCode::malformed, "{} entries at offset {:#x} lie outside the file", count,
                      header_.e_shoff);
  std::vector<uint32_t> name_offsets;
  for (uint64_t i = 0; i < count; ++i) {
    MORGANA_TRY(const auto raw, bytes_.read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
    ElfSection section{.index = static_cast<uint32_t>(i),
                       .type = raw.sh_type,
                       .flags = raw.sh_flags,
                       .address = raw.sh_addr,
                       .offset = raw.sh_offset,
                       .size = raw.sh_size,
                       .link = raw.sh_link,
                       .info = raw.sh_info,
                       .alignment = raw.sh_addralign,
                       .entry_size = raw.sh_entsize};
    if (raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL) {
      const auto content = bytes_.slice(raw.sh_offset, raw.sh_size);
      if (!content) return content.error().in(fmt::format("section {}", i));
      section.bytes = *content;
    }
    sections_.push_back(section);
    name_offsets.push_back(raw.sh_name);
  }
  if (names == SHN_UNDEF) return {};
  if (names >= count) return make_error(ErrorCode::malformed, "name table is section {} of {}", names, count);
  for (uint64_t i = 0; i < count; ++i) {
    const auto name = read_name(sections_[names].bytes, name_offsets[i]);
    if (!name) return name.error().in(fmt::format("name of section {}", i));
    sections_[i].name = *name;
  }
  return {};
}

Status ElfFile::read_segments() {
  if (header_.e_phoff == 0 || header_.e_phnum == 0) return {};
  if (header_.e_phentsize != sizeof(Elf64_Phdr))
    return make_error(ErrorCode::malformed, "entry size is {}, not {}", header_.e_phentsize,
                      sizeof(Elf64_Phdr));
  if (header_.e_phnum > kMaxSegments) return make_error(ErrorCode::malformed, "{} segments", header_.e_phnum);
  for (uint64_t i = 0; i < header_.e_phnum; ++i) {
    const uint64_t offset = i * sizeof(Elf64_Phdr);
    if (header_.e_phoff > UINT64_MAX - offset)
      return make_error(ErrorCode::malformed, "table at offset {:#x} lies outside the file", header_.e_phoff);
    MORGANA_TRY(const auto raw, bytes_.read<Elf64_Phdr>(header_.e_phoff + offset));
    const auto content = bytes_.slice(raw.p_offset, raw.p_filesz);
    if (!content) return content.error().in(fmt::format("segment {}", i));
    segments_.push_back({raw.p_type, raw.p_flags, raw.p_offset, raw.p_vaddr, raw.p_filesz, raw.p_memsz,
                         raw.p_align, *content});
  }
  return {};
}

const ElfSection* ElfFile::section(std::string_view name) const {
  const auto found = std::ranges::find(sections_, name, &ElfSection::name);
  return found == sections_.end() ? nullptr : &*found;
}

const ElfSection* ElfFile::section_of_type(uint32_t type) const {
  const auto found = std::ranges::find(sections_, type, &ElfSection::type);
  return found == sections_.end() ? nullptr : &*found;
}

Result<std::vector<ElfSymbol>> ElfFile::symbols(const ElfSection& table) const {
  if (table.entry_size != sizeof(Elf64_Sym))
    return make_error(ErrorCode::malformed, "symbol table '{}' has entry size {}, not {}", table.name,
                      table.entry_size, sizeof(Elf64_Sym));
  if (table.link >= sections_.size())
    return make_error(ErrorCode::malformed, "symbol table '{}' names string section {} of {}", table.name,
                      table.link, sections_.size());
  const Bytes strings = sections_[table.link].bytes;
  std::vector<ElfSymbol> symbols;
  symbols.reserve(table.bytes.size() / sizeof(Elf64_Sym));
  for (uint64_t offset = 0; table.bytes.contains(offset, sizeof(Elf64_Sym)); offset += sizeof(Elf64_Sym)) {
    MORGANA_TRY(const auto raw, table.bytes.read<Elf64_Sym>(offset));
    ElfSymbol symbol{.value = raw.st_value,
                     .size = raw.st_size,
                     .type = static_cast<uint8_t>(ELF64_ST_TYPE(raw.st_info)),
                     .binding = static_cast<uint8_t>(ELF64_ST_BIND(raw.st_info)),
                     .visibility = static_cast<uint8_t>(ELF64_ST_VISIBILITY(raw.st_other)),
                     .section = raw.st_shndx};
    if (raw.st_name != 0) {
      const auto name = read_name(strings, raw.st_name);
      if (!name) return name.error().in(fmt::format("name of symbol {} in '{}'", symbols.size(), table.name));
      symbol.name = *name;
    }
    symbols.push_back(symbol);
  }
  return symbols;
}

Result<std::vector<ElfRelocation>> ElfFile::relocations(const ElfSection& table) const {
  const bool has_addend = table.type == SHT_RELA;
  const size_t size = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
  if (table.entry_size != size)
    return make_error(ErrorCode::malformed, "relocation table '{}' has entry size {}, not {}", table.name,
                      table.entry_size, size);
  std::vector<ElfRelocation> relocations;
  relocations.reserve(table.bytes.size() / size);
  for (uint64_t offset = 0; table.bytes.contains(offset, size); offset += size) {
    MORGANA_TRY(const auto raw, table.bytes.read<Elf64_Rel>(offset));
    ElfRelocation relocation{.offset = raw.r_offset,
                             .type = static_cast<uint32_t>(ELF64_R_TYPE(raw.r_info)),
                             .symbol = static_cast<uint32_t>(ELF64_R_SYM(raw.r_info)),
                             .has_addend = has_addend};
    if (has_addend) {
      MORGANA_TRY(relocation.addend, table.bytes.read<int64_t>(offset + offsetof(Elf64_Rela, r_addend)));
    }
    relocations.push_back(relocation);
  }
  return relocations;
}

Result<std::vector<ElfNote>> ElfFile::notes() const {
  std::vector<ElfNote> notes;
  bool in_sections = false;
  uint64_t total = 0;
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    in_sections = true;
    total += section.bytes.size();
    if (total > bytes_.size()) return make_error(ErrorCode::malformed, "note sections overlap");
    if (auto status = read_notes(section.bytes, notes); !status)
      return status.error().in(fmt::format("note section '{}'", section.name));
  }
  if (in_sections) return notes;
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_NOTE) continue;
    if (auto status = read_notes(segment.bytes, notes); !status) return status.error().in("note segment");
  }
  return notes;
}

Result<Bytes> ElfFile::at_address(uint64_t address, uint64_t size) const {
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    if (segment.bytes.contains(address - segment.address, size))
      return segment.bytes.slice(address - segment.address, size);
  }
  return make_error(ErrorCode::malformed, "{} bytes at address {:#x} lie in no loaded part of the file", size,
                    address);
}

}  // namespace morgana::codeobj
