#include "icd/extensions.h"

#include <algorithm>
#include <cstring>

#include "icd/identity.h"
#include "runtime/agent.h"

namespace morgana::icd {
namespace {

enum class Needs : uint8_t { nothing, several_devices, free_images, all_flags };

struct Row {
  const char* name;
  cl_version version;
  Generation first;
  bool compiler;
  bool feature;
  Needs needs = Needs::nothing;
};

constexpr Row kRows[] = {
#define EXTENSION(name, major, minor, patch, first, compiler) \
  {#name, CL_MAKE_VERSION(major, minor, patch), Generation::first, compiler, false},
#define EXTENSION_OF_SEVERAL(name, major, minor, patch, first, compiler) \
  {#name, CL_MAKE_VERSION(major, minor, patch), Generation::first, compiler, false, Needs::several_devices},
#define EXTENSION_OF_FREE_IMAGES(name, major, minor, patch, first, compiler) \
  {#name, CL_MAKE_VERSION(major, minor, patch), Generation::first, compiler, false, Needs::free_images},
#define EXTENSION_OF_FLAGS(name, major, minor, patch, first, compiler) \
  {#name, CL_MAKE_VERSION(major, minor, patch), Generation::first, compiler, false, Needs::all_flags},
#define FEATURE(name, first) {#name, CL_MAKE_VERSION(3, 0, 0), Generation::first, true, true},
#include "icd/extensions.def"
#undef EXTENSION
#undef EXTENSION_OF_SEVERAL
#undef EXTENSION_OF_FREE_IMAGES
#undef EXTENSION_OF_FLAGS
#undef FEATURE
};

bool offered(const Row& row, Target target) {
  if (info(target).generation < row.first) return false;
  switch (row.needs) {
    case Needs::several_devices: return runtime::agents().size() > 1;
    case Needs::free_images: return info(target).is_gfx940;
    case Needs::all_flags: return identity().ignored_flags == 0;
    case Needs::nothing: break;
  }
  return true;
}

std::vector<cl_name_version> rows(Target target, bool feature) {
  std::vector<cl_name_version> list;
  for (const Row& row : kRows)
    if (row.feature == feature && offered(row, target)) list.push_back(name_version(row.name, row.version));
  return list;
}

bool has(Target target, std::string_view name, bool feature) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return row.feature == feature && row.name == name && offered(row, target);
  });
}

}  // namespace

cl_name_version name_version(std::string_view name, cl_version version) {
  cl_name_version result{};
  result.version = version;
  std::memcpy(result.name, name.data(), std::min(name.size(), sizeof result.name - 1));
  return result;
}

std::vector<cl_name_version> device_extensions(Target target) { return rows(target, false); }
std::vector<cl_name_version> device_features(Target target) { return rows(target, true); }

std::vector<cl_name_version> platform_extensions() {
  std::vector<cl_name_version> list{name_version("cl_khr_icd", CL_MAKE_VERSION(1, 0, 0)),
                                    name_version("cl_khr_icd_unloadable", CL_MAKE_VERSION(1, 0, 0))};
  for (const Row& row : kRows) {
    bool everywhere = std::all_of(runtime::agents().begin(), runtime::agents().end(),
                                  [&](runtime::Agent* agent) { return offered(row, agent->target()); });
    if (!row.feature && everywhere) list.push_back(name_version(row.name, row.version));
  }
  return list;
}

std::vector<std::string> compiler_extensions(Target target) {
  std::vector<std::string> list;
  for (const Row& row : kRows)
    if (row.compiler && offered(row, target)) list.emplace_back(row.name);
  return list;
}

bool has_extension(Target target, std::string_view name) { return has(target, name, false); }
bool has_feature(Target target, std::string_view name) { return has(target, name, true); }

std::string joined_names(const std::vector<cl_name_version>& list) {
  std::string text;
  for (const cl_name_version& entry : list) {
    if (!text.empty()) text += ' ';
    text += entry.name;
  }
  return text;
}

}  // namespace morgana::icd
