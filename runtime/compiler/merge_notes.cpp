#include "runtime/compiler/merge_notes.h"

#include <elf.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "codeobj/code_object.h"
#include "codeobj/elf_file.h"

namespace morgana::runtime {
namespace {

// Kernels are added to those that are there; all else is the same in every part.
int append_kernels(llvm::msgpack::DocNode* to, llvm::msgpack::DocNode, llvm::msgpack::DocNode key) {
  const bool is_kernels = key.isString() && key.getString() == "amdhsa.kernels";
  return is_kernels && to->isArray() ? static_cast<int>(to->getArray().size()) : 0;
}

}  // namespace

Status merge_notes(std::string& code_object) {
  const std::string before = code_object;  // the document refers to it
  MORGANA_TRY(const codeobj::ElfFile elf, codeobj::ElfFile::parse(Bytes(before.data(), before.size())));
  MORGANA_TRY(const std::vector<codeobj::ElfNote> notes, elf.notes());
  const codeobj::ElfSection* const section = elf.section_of_type(SHT_NOTE);
  if (notes.size() < 2 || section == nullptr) return {};
  llvm::msgpack::Document document;
  for (const codeobj::ElfNote& note : notes) {
    const llvm::StringRef blob(reinterpret_cast<const char*>(note.descriptor.data()), note.descriptor.size());
    if (note.type != codeobj::kNoteMetadata || !document.readFromBlob(blob, false, append_kernels))
      return make_error(ErrorCode::internal, "the metadata of the program's parts does not fit together");
  }
  std::string description;
  document.writeToBlob(description);

  // What follows the first note's head and name; the rest of the section becomes zeros behind it.
  const size_t head = static_cast<size_t>(notes.front().descriptor.data() - section->bytes.data());
  const size_t size = head + (description.size() + 3) / 4 * 4;
  if (size > section->size)
    return make_error(ErrorCode::internal, "the metadata of the program has no place in its code object");
  const auto put = [&](uint64_t offset, const auto& value) {
    std::memcpy(code_object.data() + offset, &value, sizeof value);
  };
  std::memset(code_object.data() + section->offset + head, 0, section->size - head);
  std::memcpy(code_object.data() + section->offset + head, description.data(), description.size());
  put(section->offset + offsetof(Elf64_Nhdr, n_descsz), static_cast<Elf64_Word>(description.size()));
  put(elf.header().e_shoff + section->index * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
      Elf64_Xword{size});
  for (size_t i = 0; i < elf.segments().size(); ++i) {
    if (elf.segments()[i].type != PT_NOTE) continue;
    const uint64_t header = elf.header().e_phoff + i * sizeof(Elf64_Phdr);
    put(header + offsetof(Elf64_Phdr, p_filesz), Elf64_Xword{size});
    put(header + offsetof(Elf64_Phdr, p_memsz), Elf64_Xword{size});
  }
  return {};
}

}  // namespace morgana::runtime
