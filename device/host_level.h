// HostLevel: the host's vector instructions that interpreter and JIT use. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace morgana::device {

// From the least to the best: x86-64-v2, -v3, -v4.
enum class HostLevel : uint8_t { base, avx2, avx512 };

// As MORGANA_SIMD names it.
const char* name(HostLevel level);
std::optional<HostLevel> find_host_level(std::string_view name);

}  // namespace morgana::device
