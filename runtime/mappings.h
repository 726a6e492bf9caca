// What is mapped into the process. Linux: /proc/self/maps.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace morgana::runtime {

struct Mapping {
  uint64_t begin = 0, end = 0;
  bool is_writable = false, is_shared = false;  // writable: and readable, and not executable
};

// The process's mappings by rising address, until `visit` returns false.
template <typename Visit>
void visit_mappings(const Visit& visit) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    Mapping mapping;
    char access[5] = {};
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &mapping.begin, &mapping.end, access) != 3) continue;
    mapping.is_writable = access[0] == 'r' && access[1] == 'w' && access[2] == '-';
    mapping.is_shared = access[3] == 's';
    if (!visit(mapping)) break;
  }
  std::fclose(maps);
}

}  // namespace morgana::runtime
