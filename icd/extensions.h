// The one list of extensions and features (extensions.def), as seen by device info and by the compiler.
// Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/target.h"
#include "icd/api.h"

namespace morgana::icd {

std::vector<cl_name_version> device_extensions(Target target);
std::vector<cl_name_version> device_features(Target target);
// The extensions of the platform itself: cl_khr_icd, cl_khr_icd_unloadable and what every device has.
std::vector<cl_name_version> platform_extensions();
// Names that the compiler must switch on, all others off.
std::vector<std::string> compiler_extensions(Target target);

bool has_extension(Target target, std::string_view name);
bool has_feature(Target target, std::string_view name);

cl_name_version name_version(std::string_view name, cl_version version);
std::string joined_names(const std::vector<cl_name_version>& list);

}  // namespace morgana::icd
