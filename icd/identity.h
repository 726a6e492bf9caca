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
  cl_version newest_c;  // the newest version of OpenCL C that programs may be written in
  // Of memory objects: accepted, without effect. AMD's CL_MEM_USE_PERSISTENT_MEM_AMD has the bit of
  // CL_MEM_IMMUTABLE_EXT, whose extension is not offered then.
  cl_mem_flags ignored_flags = 0;
};

const Identity& identity();

// Whether the platform's version is at least this one: what older ones must refuse.
inline bool is_at_least(cl_version version) { return identity().platform_number >= version; }

}  // namespace morgana::icd
