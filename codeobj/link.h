// Linking relocatable code objects (ET_REL) into one that can be loaded (ET_DYN), by LLD in this process.
//
// The only part of codeobj that needs LLVM: library morgana_codeobj_link. LLD keeps global state, so
// calls take turns, from whatever threads they come; nobody else in the process may run LLD beside them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "codeobj/code_object.h"

namespace morgana::codeobj {

struct LinkOptions {
  // Leave undefined symbols to the loader. Otherwise they are errors, as for AMD's own tools.
  bool allow_undefined = false;
  // Link in a forked child, which may crash: for objects that Morgana's compiler did not write.
  bool isolate = false;
  // More arguments of ld.lld, before the inputs.
  std::vector<std::string> arguments;
};

// Every object must be a relocatable AMDGPU ELF file. build_failed carries LLD's messages, in which
// the inputs are "object 0", "object 1", …
Result<std::vector<uint8_t>> link(std::span<const Bytes> objects, const LinkOptions& options = {});

// `object` itself when it is linked already; else what link() makes of it, isolated.
Result<CodeObject> linked(CodeObject object);

}  // namespace morgana::codeobj
