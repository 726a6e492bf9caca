#include "base/spin.h"

#include <sched.h>

namespace morgana {

bool may_spin() {
  static const bool several = [] {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
  }();
  return several;
}

}  // namespace morgana
