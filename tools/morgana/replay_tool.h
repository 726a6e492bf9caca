// What `morgana replay` and its --shrink have in common. Single-threaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/fault.h"
#include "runtime/capsule.h"

namespace morgana::tools {

// The status of a child that should replay a capsule whose addresses are not free in it.
inline constexpr int kAddressesTaken = 3;

// `bytes` becomes the file's, of which the capsule has views.
Result<runtime::Capsule> read_capsule(const std::string& path, std::vector<uint8_t>& bytes);

// Executes this program anew, in the hope that the system puts its own memory elsewhere; returns when it has
// done so often enough. `argv` ends with a null pointer.
Error begin_anew(char** argv, const Error& why);

// All of it, to a pipe or from one; false: there is no more.
bool write_all(int file, const void* data, size_t size);
bool read_all(int file, void* data, size_t size);

// Writes the capsule with what a replay, which has just ended in this process, left.
Status write_result(runtime::Capsule capsule, const device::Fault& fault, const std::string& path);

// Writes a capsule to `to` that shows the same fault or finding as `capsule` (of the file `from`) and is as
// small as it gets, and says so on standard output. Children of this process, which must not have placed a
// capsule's memory, replay what is tried; `findings` is a file to which MORGANA_CHECK_REPORT leads them.
// not_found: nothing is shown; io: addresses of the memory are not free here.
Status shrink(const runtime::Capsule& capsule, uint64_t bytes, int findings, const std::string& to);

}  // namespace morgana::tools
