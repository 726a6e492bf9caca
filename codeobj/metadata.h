// Code object metadata: what a compiler tells the runtime about its kernels.
//
// One struct for both encodings: MessagePack (NT_AMDGPU_METADATA, V3 and later) and YAML
// (NT_AMD_HSA_METADATA, V2), as LLVM AMDGPUUsage "Code Object Metadata" defines them. Unknown
// keys are ignored, integers may be strings, argument names may repeat. Plain data; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace morgana::codeobj {

enum class ArgKind : uint8_t {
#define ARG_KIND(name, v2_name) name,
#include "codeobj/arg_kinds.def"
#undef ARG_KIND
  unknown,
};

const char* name(ArgKind kind);  // the metadata's spelling: "hidden_block_count_x"
// Arguments that the runtime supplies. An unknown kind that begins with "hidden_" is hidden too.
inline bool is_hidden(ArgKind kind) {
  return kind >= ArgKind::hidden_global_offset_x && kind < ArgKind::unknown;
}

enum class AddressSpace : uint8_t { none, priv, global, constant, local, generic, region };
enum class Access : uint8_t { none, read_only, write_only, read_write };
enum class KernelKind : uint8_t { normal, init, fini };

const char* name(AddressSpace space);
const char* name(Access access);
const char* name(KernelKind kind);

struct KernelArg {
  std::string name;
  std::string type_name;
  uint32_t size = 0;
  uint32_t offset = 0;  // into the kernarg segment; computed from `align` for V2
  uint32_t align = 0;   // V2; 0 when not given
  ArgKind kind = ArgKind::unknown;
  std::string kind_name;  // as spelled, for unknown kinds
  AddressSpace address_space = AddressSpace::none;
  Access access = Access::none;
  Access actual_access = Access::none;
  uint32_t pointee_align = 0;
  bool is_const = false;
  bool is_restrict = false;
  bool is_volatile = false;
  bool is_pipe = false;

  bool hidden() const {
    return is_hidden(kind) || (kind == ArgKind::unknown && kind_name.starts_with("hidden_"));
  }
};

using Dim3 = std::array<uint32_t, 3>;

struct KernelMetadata {
  std::string name;
  std::string symbol;  // of the descriptor: "saxpy.kd"; V2: of the amd_kernel_code_t
  std::string language;
  std::vector<uint32_t> language_version;
  std::vector<KernelArg> args;
  std::optional<Dim3> reqd_workgroup_size;
  std::optional<Dim3> workgroup_size_hint;
  std::string vec_type_hint;
  std::string device_enqueue_symbol;
  uint64_t kernarg_segment_size = 0;
  uint32_t kernarg_segment_align = 0;
  uint32_t group_segment_fixed_size = 0;
  uint32_t private_segment_fixed_size = 0;
  uint32_t wavefront_size = 0;
  uint32_t sgpr_count = 0;
  uint32_t vgpr_count = 0;
  uint32_t agpr_count = 0;
  uint32_t sgpr_spill_count = 0;
  uint32_t vgpr_spill_count = 0;
  uint32_t max_flat_workgroup_size = 0;
  Dim3 max_num_work_groups = {0, 0, 0};  // 0: not limited
  bool uses_dynamic_stack = false;
  bool uniform_work_group_size = false;
  bool workgroup_processor_mode = false;
  KernelKind kind = KernelKind::normal;
};

struct Metadata {
  uint32_t version_major = 0;
  uint32_t version_minor = 0;
  std::string target;               // "amdgcn-amd-amdhsa--gfx90a:xnack-" (V4 and later)
  std::vector<std::string> printf;  // "ID:N:S[0]:...:S[N-1]:FormatString"
  std::vector<KernelMetadata> kernels;
};

// One entry of Metadata::printf, taken apart; the escapes of the format are resolved.
struct PrintfFormat {
  uint32_t id = 0;
  std::vector<uint32_t> arg_sizes;
  std::string format;
};

Result<Metadata> parse_msgpack_metadata(Bytes bytes);
Result<Metadata> parse_yaml_metadata(std::string_view text);
Result<PrintfFormat> parse_printf_format(std::string_view text);

}  // namespace morgana::codeobj
