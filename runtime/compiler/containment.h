// Running compiler code so that nothing it does ends the host: fatal errors, failed allocations and crashes
// inside LLVM become a false return.
//
// The function runs on a thread of its own, since hosts call from threads with small stacks and the
// parser recurses. Usable from any thread, several at once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace morgana::runtime {

// Runs `function`, on as many threads at once as asked or as there can be; false when one of the calls was
// cut short, with the reason in `reason`. What it had allocated is then leaked: LLVM's data structures may be
// in any state, so no destructor runs over them. The other calls are waited for.
bool run_contained(const std::function<void()>& function, std::string& reason, size_t threads = 1);

}  // namespace morgana::runtime
