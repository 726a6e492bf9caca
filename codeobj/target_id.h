// Target ids: a processor with the settings of its target features, "gfx90a:sramecc+:xnack-",
// and the rule that says which code objects an agent may run (LLVM AMDGPUUsage "Target ID").
//
// Plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/target.h"

namespace morgana::codeobj {

enum class Feature : uint8_t { unsupported, any, off, on };

struct TargetId {
  std::string processor;  // primary name, never an alias
  Feature sramecc = Feature::unsupported;
  Feature xnack = Feature::unsupported;

  // The canonical target id: "gfx90a:sramecc+:xnack-". A feature that is `any` is left out.
  std::string str() const;
  // With the triple before it: "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-".
  std::string isa_name() const;
  // The opcode table that its code follows; nullopt when Morgana knows no more of the processor than its
  // name.
  std::optional<Target> target() const;

  bool operator==(const TargetId&) const = default;
};

inline constexpr std::string_view kTriple = "amdgcn-amd-amdhsa-";

// Parses a target id with or without a triple ("gfx906:xnack-", "amdgcn-amd-amdhsa--gfx906:xnack-",
// "amdgcn-amd-amdhsa-gfx906", and V2's trailing "+xnack", "+sram-ecc"). Omitted features are `any`.
Result<TargetId> parse_target_id(std::string_view text);

// Whether code built for `code` runs on an agent whose id is `agent`. An agent's feature that is `any` is
// an agent that runs with either setting.
bool compatible(const TargetId& code, const TargetId& agent);

// How closely a compatible code object fits: exact processor before generic, then features set before `any`.
// Negative when it does not run at all.
int match_rank(const TargetId& code, const TargetId& agent);

}  // namespace morgana::codeobj
