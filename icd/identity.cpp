#include "icd/identity.h"

#include "base/log.h"
#include "base/options.h"
#include "icd/platform.h"
#include "runtime/cache_digest.h"
#include "runtime/compiler/compiler.h"

namespace morgana::icd {
namespace {

Identity honest() {
  Identity id;
  id.platform_name = id.platform_vendor = "Morgana";
  id.platform_version = id.device_version = fmt::format("OpenCL 3.0 Morgana {}", kVersion);
  id.platform_suffix = "MORGANA";
  id.device_vendor = "Advanced Micro Devices, Inc.";
  // Programs keep binaries by driver version (pyopencl, TensorFlow), so it names the build too.
  id.driver_version = fmt::format(
      "{} ({})", kVersion, runtime::to_hex(runtime::sha256(runtime::compiler_identity())).substr(0, 8));
  // The highest version whose every feature is there: OpenCL C 2.0 asks for device-side enqueue and pipes.
  id.c_version = "OpenCL C 1.2 ";
  id.platform_number = id.device_number = CL_MAKE_VERSION(3, 0, 0);
  id.c_number = CL_MAKE_VERSION(1, 2, 0);
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
