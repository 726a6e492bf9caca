// Linking relocatable AMDGPU objects to a code object with LLD, in process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace morgana::runtime {

// Links ELF relocatable objects to a shared object. LLD keeps global state: calls from several threads take
// turns. LLD's messages are appended to `log`.
Result<std::string> lld_link(const std::vector<std::string_view>& objects, std::string& log);

}  // namespace morgana::runtime
