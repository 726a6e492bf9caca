// The libraries through which programs reach Morgana, as they stand beside this program, and the environment
// that leads a program to them. Single-threaded.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace morgana::tools {

// Empty: not built or not installed.
struct Doors {
  std::string opencl;  // libmorgana.so
  std::string rocm;    // the folder of libhsakmt.so.1
  std::string kfd;     // libmorgana_kfd.so, which is preloaded
  std::string hip;     // libmorgana_hip.so, likewise, where calls of HIP are to be checked
};

// How programs over AMD's runtimes reach Morgana: by the library that takes the place of the thunk, by the
// preloaded one that answers for the driver's files, or by whichever their runtime looks for.
enum class RocmDoor { thunk, kfd, both };
Result<RocmDoor> parse_rocm_door(std::string_view name);

// The libraries beside this program: ../lib in a build tree, in an unpacked package and in an installation
// under a prefix.
Result<Doors> find_doors();

// Makes this process's environment one in which a program sees Morgana as its only OpenCL platform and under
// AMD's runtimes.
void enter(const Doors& doors, RocmDoor rocm = RocmDoor::both);
// Besides, programs of HIP are checked for what they do with it (MORGANA_CHECK=api).
void watch_hip(const Doors& doors);

// A program that finds no device may well end as if all were fine: an error for a name that is no device.
Status check_devices(std::string_view list);

}  // namespace morgana::tools
