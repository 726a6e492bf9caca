// What the compiler tells the runtime of a kernel beside the metadata of its code object, which has no place
// for it: variables that are called as the kernel, with these endings. Constant data; any thread.
#pragma once

namespace morgana::runtime {

// A uint32_t: sub-groups that a work-group must have.
inline constexpr const char* kSubGroupsEnding = ".sub_groups";
// A uint32_t: work-items that a sub-group must have.
inline constexpr const char* kSubGroupSizeEnding = ".sub_group_size";

// The same while the kernel is LLVM IR: metadata of the function. The second is Clang's.
inline constexpr const char* kSubGroupsNode = "morgana_sub_groups";
inline constexpr const char* kSubGroupSizeNode = "intel_reqd_sub_group_size";

}  // namespace morgana::runtime
