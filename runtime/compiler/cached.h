// The compiler behind the disk cache: the functions of compiler.h, answered from disk when the same input was
// built before. Callable from any thread. Failed builds are not kept.
#pragma once

#include "runtime/compiler/compiler.h"

namespace morgana::runtime {

// `cache` may be null: then every call compiles.
Result<std::string> cached_build(DiskCache* cache, const CompileInput& input, const BuildOptions& options,
                                 const TargetDescription& target, std::string& log);
Result<std::string> cached_compile(DiskCache* cache, const CompileInput& input, const BuildOptions& options,
                                   const TargetDescription& target, std::string& log);
Result<std::string> cached_link(DiskCache* cache, const std::vector<std::string_view>& objects,
                                const BuildOptions& options, const TargetDescription& target,
                                std::string& log);

}  // namespace morgana::runtime
