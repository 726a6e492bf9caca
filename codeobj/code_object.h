// Code objects: AMD GPU programs as ELF files, versions V2 to V6 (LLVM AMDGPUUsage "ELF Code Object").
//
// A CodeObject owns a copy of its bytes and everything parsed from them; copies share both. Immutable
// after parse(): any thread. Addresses here are those of the file; codeobj/loader.h gives real ones.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/target.h"
#include "codeobj/elf_file.h"
#include "codeobj/kernel_descriptor.h"
#include "codeobj/metadata.h"
#include "codeobj/target_id.h"

namespace morgana::codeobj {

// ELF facts of AMDGPU that <elf.h> lacks (LLVM AMDGPUUsage "ELF Code Object").
inline constexpr uint16_t kMachineAmdgpu = 224;
inline constexpr uint8_t kOsAbiHsa = 64;
inline constexpr uint8_t kOsAbiPal = 65;
inline constexpr uint8_t kOsAbiMesa3d = 66;
inline constexpr uint8_t kSymbolHsaKernel = 10;  // STT_AMDGPU_HSA_KERNEL
inline constexpr uint16_t kSectionLds = 0xff00;  // SHN_AMDGPU_LDS
inline constexpr uint32_t kNoteHsaVersion = 1;
inline constexpr uint32_t kNoteHsaHsail = 2;
inline constexpr uint32_t kNoteHsaIsaVersion = 3;
inline constexpr uint32_t kNoteHsaMetadata = 10;
inline constexpr uint32_t kNoteHsaIsaName = 11;
inline constexpr uint32_t kNoteMetadata = 32;

struct Kernel {
  std::string name;                 // "saxpy"
  std::string symbol;               // "saxpy.kd"; V2: "saxpy"
  uint64_t descriptor_address = 0;  // ELF virtual address of the descriptor or amd_kernel_code_t
  uint64_t entry_address = 0;       // ELF virtual address of the first instruction; 0 before linking
  uint64_t code_size = 0;           // of the function symbol; 0 when unknown
  KernelDescriptor descriptor;
  KernelMetadata metadata;  // empty but for the name when the object has none
  bool has_metadata = false;

  // Bytes that a dispatch's kernarg segment needs: the largest that descriptor, metadata and arguments ask
  // for.
  uint64_t kernarg_bytes() const;
};

struct Variable {
  std::string name;
  uint64_t address = 0;  // ELF virtual address; an alignment when is_lds
  uint64_t size = 0;
  bool is_lds = false;
  bool is_writable = false;
  bool is_exported = false;  // not local to the object
};

class CodeObject {
 public:
  // Accepts ET_DYN and ET_REL of amdhsa for every AMD GPU whose code Morgana can read. Other GPUs and
  // operating systems are `unsupported` by name; broken files are `malformed` and say where.
  static Result<CodeObject> parse(Bytes bytes);

  Bytes bytes() const { return {storage_->data(), storage_->size()}; }
  const ElfFile& elf() const { return *elf_; }
  // The bytes' owner, for whoever keeps views of them longer than the CodeObject.
  std::shared_ptr<const std::vector<uint8_t>> storage() const { return storage_; }

  int version() const { return version_; }  // 2 to 6
  const TargetId& target_id() const { return target_id_; }
  Target target() const { return target_; }
  uint8_t generic_version() const { return generic_version_; }  // V6 generic processors; else 0
  // ET_REL: must be linked (codeobj/link.h) before it can be loaded.
  bool is_relocatable() const { return elf_->header().e_type == ET_REL; }

  const Metadata& metadata() const { return metadata_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }

  // By source name or symbol name; nullptr when there is none.
  const Kernel* kernel(std::string_view name) const;
  const Variable* variable(std::string_view name) const;

  // The function symbol whose code holds `address`; nullptr when none does.
  const ElfSymbol* function_at(uint64_t address) const;

 private:
  Status read_identity(const std::vector<ElfNote>& notes);
  Status read_identity_v2(const std::vector<ElfNote>& notes);
  Status read_metadata(const std::vector<ElfNote>& notes);
  Status read_symbols();
  Status read_kernels();
  void read_variable(const ElfSymbol& symbol);
  Status add_kernel(const ElfSymbol& symbol, const KernelMetadata* metadata);
  Result<Bytes> symbol_bytes(const ElfSymbol& symbol, uint64_t size) const;
  Status check_entry(const Kernel& kernel) const;

  std::shared_ptr<const std::vector<uint8_t>> storage_;
  std::shared_ptr<const ElfFile> elf_;
  int version_ = 0;
  TargetId target_id_;
  Target target_ = Target::gfx900;
  uint8_t generic_version_ = 0;
  Metadata metadata_;
  std::vector<ElfSymbol> symbols_;
  std::vector<uint32_t> functions_;  // into symbols_, by address
  std::vector<Kernel> kernels_;
  std::unordered_map<std::string, size_t> kernel_index_;  // by name and by symbol
  std::vector<Variable> variables_;
};

// Whether the bytes begin as an ELF file for EM_AMDGPU.
bool is_code_object(Bytes bytes);

}  // namespace morgana::codeobj
