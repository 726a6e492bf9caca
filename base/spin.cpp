#include "base/spin.h"

#include "base/processors.h"

namespace morgana {

bool may_spin() {
  static const bool several = available_processors() > 1;
  return several;
}

}  // namespace morgana
