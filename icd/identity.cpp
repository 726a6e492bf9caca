#include "icd/identity.h"

#include "base/log.h"
#include "base/options.h"
#include "icd/platform.h"
#include "runtime/cache_digest.h"
#include "runtime/compiler/compiler.h"

namespace morgana::icd {
namespace {

struct Version {
  std::string_view text;
  cl_version number;
};

constexpr Version kVersions[] = {{"1.2", CL_MAKE_VERSION(1, 2, 0)},
                                 {"2.0", CL_MAKE_VERSION(2, 0, 0)},
                                 {"3.0", CL_MAKE_VERSION(3, 0, 0)},
                                 {"3.1", CL_MAKE_VERSION(3, 1, 0)}};
constexpr const Version& kUsual = kVersions[3];

const Version& chosen_version() {
  for (const Version& version : kVersions)
    if (version.text == options().opencl_version) return version;
  log(LogLevel::error, "MORGANA_OPENCL_VERSION: '{}' is none of 1.2, 2.0, 3.0, 3.1; using {}",
      options().opencl_version, kUsual.text);
  return kUsual;
}

Identity honest() {
  const Version& version = chosen_version();
  Identity id;
  id.platform_name = id.platform_vendor = "Morgana";
  id.platform_version = id.device_version = fmt::format("OpenCL {} Morgana {}", version.text, kVersion);
  id.platform_suffix = "MORGANA";
  id.device_vendor = "Advanced Micro Devices, Inc.";
  // Programs keep binaries by driver version (pyopencl, TensorFlow), so it names the build too.
  id.driver_version = fmt::format(
      "{} ({})", kVersion, runtime::to_hex(runtime::sha256(runtime::compiler_identity())).substr(0, 8));
  id.platform_number = id.device_number = id.newest_c = version.number;
  // From 3.0 on the highest version whose every feature is there: OpenCL C 2.0 asks for device-side enqueue
  // and pipes. A device of OpenCL 2.0 has OpenCL C 2.0.
  const bool is_2_0 = version.number == CL_MAKE_VERSION(2, 0, 0);
  id.c_version = is_2_0 ? "OpenCL C 2.0 " : "OpenCL C 1.2 ";
  id.c_number = is_2_0 ? version.number : CL_MAKE_VERSION(1, 2, 0);
  return id;
}

// As AMD's runtime of ROCm 6 shows itself (clinfo of an MI250X), with its driver version: it does not name
// the build.
Identity amd() {
  Identity id = honest();
  id.platform_name = "AMD Accelerated Parallel Processing";
  id.platform_vendor = "Advanced Micro Devices, Inc.";
  id.platform_version = "OpenCL 2.1 AMD-APP (3614.0)";
  id.platform_suffix = "AMD";
  id.device_version = "OpenCL 2.0 ";
  id.driver_version = "3614.0 (HSA1.1,LC)";
  id.c_version = "OpenCL C 2.0 ";
  id.platform_number = CL_MAKE_VERSION(2, 1, 0);
  id.device_number = id.c_number = CL_MAKE_VERSION(2, 0, 0);
  id.newest_c = CL_MAKE_VERSION(3, 0, 0);
  id.ignored_flags = CL_MEM_USE_PERSISTENT_MEM_AMD;
  return id;
}

Identity custom() {
  Identity id = honest();
  auto replace = [](std::string& member, const std::string& given) {
    if (!given.empty()) member = given;
  };
  replace(id.platform_name, options().platform_name);
  replace(id.platform_vendor, options().platform_vendor);
  replace(id.device_name, options().device_name);
  replace(id.device_vendor, options().device_vendor);
  return id;
}

Identity selected() {
  const std::string& name = options().identity;
  if (name == "amd") return amd();
  if (name == "custom") return custom();
  if (name != "honest")
    log(LogLevel::error, "MORGANA_IDENTITY: '{}' is none of honest, amd, custom; using honest", name);
  return honest();
}

}  // namespace

const Identity& identity() {
  static const Identity& id = *new Identity(selected());  // queues may still ask when the process ends
  return id;
}

}  // namespace morgana::icd
