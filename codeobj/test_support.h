// Helpers of the tests here: checked-in objects, and a builder for those that no compiler writes any more.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace morgana::codeobj {

using Blob = std::vector<uint8_t>;

inline Blob read_testdata(const std::string& name) {
  std::ifstream file(std::string(MORGANA_SOURCE_DIR) + "/codeobj/testdata/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return Blob(std::istreambuf_iterator<char>(file), {});
}

inline Bytes view(const Blob& blob) { return {blob.data(), blob.size()}; }

template <typename T>
void put(Blob& blob, size_t offset, T value) {
  if (blob.size() < offset + sizeof(T)) blob.resize(offset + sizeof(T));
  std::memcpy(blob.data() + offset, &value, sizeof(T));
}

inline void append(Blob& blob, std::string_view text) { blob.insert(blob.end(), text.begin(), text.end()); }

inline void append_note(Blob& notes, std::string_view name, uint32_t type, std::string_view descriptor) {
  const auto pad = [&] { notes.resize((notes.size() + 3) & ~size_t{3}); };
  const size_t at = notes.size();
  put<uint32_t>(notes, at, static_cast<uint32_t>(name.size() + 1));
  put<uint32_t>(notes, at + 4, static_cast<uint32_t>(descriptor.size()));
  put<uint32_t>(notes, at + 8, type);
  append(notes, name);
  notes.push_back(0);
  pad();
  append(notes, descriptor);
  pad();
}

inline constexpr std::string_view kYamlV2 = R"(---
Version:         [ 1, 0 ]
Printf:
  - '1:2:4:8:value %d at %p: it''s \72 here\n'
  - "2:0:done\\n"
Kernels:
  - Name:            add      # source name
    SymbolName:      'add@kd'
    Language:        OpenCL C
    LanguageVersion: [ 2, 0 ]
    Attrs:
      ReqdWorkGroupSize: [ 64, 1,
                           1 ]
      VecTypeHint:     float4
    Args:
      - Name:            a
        TypeName:        'float*'
        Size:            8
        Align:           8
        ValueKind:       GlobalBuffer
        ValueType:       F32
        AddrSpaceQual:   Global
        AccQual:         Default
        IsConst:         true
        IsRestrict:      true
      - Name:            n
        TypeName:        char
        Size:            1
        Align:           1
        ValueKind:       ByValue
      - { Name: image, TypeName: image2d_t, Size: 8, Align: 8, ValueKind: Image, AccQual: ReadOnly }
      - Size:            8
        Align:           8
        ValueKind:       HiddenGlobalOffsetX
    CodeProps:
      KernargSegmentSize: 32
      GroupSegmentFixedSize: 16
      PrivateSegmentFixedSize: 0
      KernargSegmentAlign: 8
      WavefrontSize:   64
      NumSGPRs:        10
      NumVGPRs:        3
      MaxFlatWorkGroupSize: 256
      IsDynamicCallStack: false
...
)";

// A code object V2 for gfx803: one PT_LOAD with an amd_kernel_code_t and s_endpgm, YAML metadata, one kernel
// symbol `add`.
inline Blob build_v2(std::string_view yaml = kYamlV2, uint32_t stepping = 3, uint32_t major = 8) {
  Blob code;
  put<uint32_t>(code, 0, 1);  // version 1.1
  put<uint32_t>(code, 4, 1);
  put<uint16_t>(code, 8, 1);  // AMDGPU
  put<uint16_t>(code, 10, static_cast<uint16_t>(major));
  put<uint16_t>(code, 14, static_cast<uint16_t>(stepping));
  put<int64_t>(code, 16, 256);
  put<uint32_t>(code, 48, 0x00ac0041);  // 8 VGPRs, 16 SGPRs, denormals of 64 bit kept, DX10 clamp, IEEE
  put<uint32_t>(code, 52, (1u << 7) | (9u << 1));
  put<uint32_t>(code, 56, (1u << 0) | (1u << 1) | (1u << 3) | (1u << 7) | (1u << 17) | (1u << 19));
  put<uint32_t>(code, 64, 16);
  put<uint64_t>(code, 72, 32);
  put<uint16_t>(code, 84, 10);
  put<uint16_t>(code, 86, 3);
  put<uint32_t>(code, 100, 0x06040404);
  put<uint32_t>(code, 256, 0xbf810000);  // s_endpgm

  Blob notes;
  append_note(notes, "AMD", 1, std::string_view("\2\0\0\0\1\0\0\0", 8));
  Blob isa;
  put<uint16_t>(isa, 0, 4);
  put<uint16_t>(isa, 2, 7);
  put<uint32_t>(isa, 4, major);
  put<uint32_t>(isa, 8, 0);
  put<uint32_t>(isa, 12, stepping);
  append(isa, std::string_view("AMD\0AMDGPU\0", 11));
  append_note(notes, "AMD", 3, view(isa).text());
  if (!yaml.empty()) append_note(notes, "AMD", 10, yaml);

  const std::string_view strings("\0add\0", 5);
  const std::string_view names("\0.note\0.text\0.symtab\0.strtab\0", 29);
  constexpr uint64_t kCode = 0x1000;
  Blob file(kCode);
  file.insert(file.end(), code.begin(), code.end());
  const auto place = [&](Bytes bytes) {
    file.resize((file.size() + 7) & ~size_t{7});
    const uint64_t offset = file.size();
    file.insert(file.end(), bytes.begin(), bytes.end());
    return offset;
  };
  Elf64_Sym symbols[2] = {};
  symbols[1] = {.st_name = 1,
                .st_info = (STB_GLOBAL << 4) | 10,
                .st_shndx = 2,
                .st_value = kCode,
                .st_size = code.size()};
  const uint64_t note_offset = place(view(notes));
  const uint64_t symbol_offset = place({symbols, sizeof(symbols)});
  const uint64_t string_offset = place(Bytes(strings));
  const uint64_t name_offset = place(Bytes(names));
  const Elf64_Shdr sections[] = {
      {},
      {1, SHT_NOTE, 0, 0, note_offset, notes.size(), 0, 0, 4, 0},
      {7, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, kCode, kCode, code.size(), 0, 0, 256, 0},
      {13, SHT_SYMTAB, 0, 0, symbol_offset, sizeof(symbols), 4, 1, 8, sizeof(Elf64_Sym)},
      {21, SHT_STRTAB, 0, 0, string_offset, strings.size(), 0, 0, 1, 0},
      {21, SHT_STRTAB, 0, 0, name_offset, names.size(), 0, 0, 1, 0},
  };
  const uint64_t section_offset = place({sections, sizeof(sections)});
  const Elf64_Phdr segment = {PT_LOAD, PF_R | PF_X, kCode, kCode, kCode, code.size(), code.size(), 4096};
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident,
              "\x7f"
              "ELF\2\1\1\x40",
              8);
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_version = 1;
  header.e_phoff = sizeof(header);
  header.e_shoff = section_offset;
  header.e_ehsize = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = std::size(sections);
  header.e_shstrndx = std::size(sections) - 1;
  put(file, 0, header);
  put(file, sizeof(header), segment);
  return file;
}

}  // namespace morgana::codeobj
