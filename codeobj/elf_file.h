// A bounded view of an ELF64 little-endian file: sections, segments, symbols, relocations.
//
// ElfFile owns nothing; the bytes behind it outlive it. parse() checks every table against
// the file, so that the accessors cannot fail. It serves code objects and host binaries alike.
// Immutable after parse(): any thread.
#pragma once

#include <elf.h>

#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace morgana::codeobj {

struct ElfSection {
  std::string_view name;
  uint32_t index = 0;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t link = 0;
  uint32_t info = 0;
  uint64_t alignment = 0;
  uint64_t entry_size = 0;
  Bytes bytes;  // empty for SHT_NOBITS
};

struct ElfSegment {
  uint32_t type = 0;
  uint32_t flags = 0;  // PF_R | PF_W | PF_X
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t file_size = 0;
  uint64_t memory_size = 0;
  uint64_t alignment = 0;
  Bytes bytes;  // file_size bytes
};

struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0;
  uint64_t size = 0;
  uint8_t type = 0;  // STT_*
  uint8_t binding = 0;
  uint8_t visibility = 0;
  uint16_t section = 0;  // section index or SHN_*

  bool is_defined() const { return section != SHN_UNDEF; }
};

struct ElfRelocation {
  uint64_t offset = 0;
  uint32_t type = 0;
  uint32_t symbol = 0;
  int64_t addend = 0;
  bool has_addend = false;  // SHT_RELA; without it the addend is in the place itself
};

struct ElfNote {
  std::string_view name;
  uint32_t type = 0;
  Bytes descriptor;
};

class ElfFile {
 public:
  // Malformed says which table and which entry; bytes that are no ELF64 little-endian file are `malformed`
  // too.
  static Result<ElfFile> parse(Bytes bytes);

  Bytes bytes() const { return bytes_; }
  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }

  const ElfSection* section(std::string_view name) const;  // nullptr when there is none
  const ElfSection* section_of_type(uint32_t type) const;

  // The symbols of a SHT_SYMTAB or SHT_DYNSYM section.
  Result<std::vector<ElfSymbol>> symbols(const ElfSection& table) const;
  // The records of a SHT_RELA or SHT_REL section.
  Result<std::vector<ElfRelocation>> relocations(const ElfSection& table) const;
  // The notes of every SHT_NOTE section, or of the PT_NOTE segments where there are no sections.
  Result<std::vector<ElfNote>> notes() const;

  // The `size` file bytes that are loaded at virtual address `address`; malformed when no segment's file part
  // covers them.
  Result<Bytes> at_address(uint64_t address, uint64_t size) const;

 private:
  Status read_sections();
  Status read_segments();

  Bytes bytes_;
  Elf64_Ehdr header_{};
  std::vector<ElfSection> sections_;
  std::vector<ElfSegment> segments_;
};

// Whether the bytes begin as an ELF file.
bool is_elf(Bytes bytes);

}  // namespace morgana::codeobj
