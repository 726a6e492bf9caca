// Loading: a linked code object becomes memory that a device can run.
//
// The caller's callbacks give memory and resolve foreign symbols; the loader copies the segments,
// clears the rest and applies every relocation of AMDGPU. The memory stays the caller's. A load keeps
// no state here: any thread, and the same object may be loaded many times.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace morgana::codeobj {

struct LoadSpan {
  uint64_t address = 0;    // first ELF virtual address, a multiple of `alignment`
  uint64_t size = 0;       // bytes of memory, table of indirect addresses included
  uint64_t alignment = 0;  // at least 4096
};

// What load() will ask the allocator for.
Result<LoadSpan> load_span(const CodeObject& object);

struct LoadCallbacks {
  // `size` bytes at a multiple of `alignment`, readable and writable by the host.
  std::function<Result<void*>(size_t size, size_t alignment)> allocate;
  // The address of a symbol that the object does not define; may be empty.
  std::function<std::optional<uint64_t>(std::string_view name)> resolve;
};

struct LoadedSegment {
  uint64_t address = 0;
  uint64_t size = 0;
  uint32_t flags = 0;  // PF_R | PF_W | PF_X
};

struct LoadedKernel {
  std::string name;
  uint64_t descriptor_address = 0;  // HSA's kernel object
  uint64_t entry_address = 0;
  uint64_t code_size = 0;
};

struct LoadedVariable {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
};

struct LoadedCode {
  void* memory = nullptr;  // as allocate() returned it
  uint64_t size = 0;
  uint64_t bias = 0;  // loaded address = ELF virtual address + bias
  std::vector<LoadedSegment> segments;
  std::vector<LoadedKernel> kernels;      // as CodeObject::kernels()
  std::vector<LoadedVariable> variables;  // as CodeObject::variables(), without those of LDS
};

// `object` must be linked (ET_DYN). An undefined symbol that `resolve` does not know is not_found, by name; a
// weak one becomes 0. On an error after the allocation the memory has been given and is the caller's to free.
Result<LoadedCode> load(const CodeObject& object, const LoadCallbacks& callbacks);

}  // namespace morgana::codeobj
