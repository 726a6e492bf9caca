// Identity: the names and versions under which Morgana shows itself, since programs choose paths by them.
//
// Made once from the options, at first use; never changes. Any thread.
#pragma once

#include <string>

#include "icd/api.h"

namespace morgana::icd {

struct Identity {
  std::string platform_name;
  std::string platform_vendor;
  std::string platform_version;
  std::string platform_suffix;
  std::string device_name;  // empty: the target id
  std::string device_vendor;
  std::string device_version;
  std::string driver_version;
  std::string c_version;  // of OpenCL C
  cl_version platform_number, device_number, c_number;
};

const Identity& identity();

}  // namespace morgana::icd
