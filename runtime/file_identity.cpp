#include "runtime/file_identity.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace morgana::runtime {

std::string file_identity(const std::string& path) {
  struct stat status = {};
  ::stat(path.c_str(), &status);
  return fmt::format("{} {} {}.{:09}", path, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

const std::string& program_identity() {
  static const std::string identity = [] {
    Dl_info self = {};
    if (::dladdr(reinterpret_cast<void*>(&file_identity), &self) == 0) return std::string();
    return file_identity(self.dli_fname);
  }();
  return identity;
}

}  // namespace morgana::runtime
