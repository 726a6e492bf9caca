#include "base/leavable.h"

#include <setjmp.h>

#include <cstring>

namespace morgana {
namespace {

struct Landing {
  sigjmp_buf place;
  char reason[512];  // written in a signal handler: no allocation
};
thread_local Landing* landing = nullptr;

}  // namespace

std::optional<std::string> leavable(const std::function<void()>& function) {
  Landing own;
  Landing* const outer = landing;
  if (sigsetjmp(own.place, 1) == 0) {
    landing = &own;
    function();
    landing = outer;
    return std::nullopt;
  }
  landing = outer;
  return own.reason;
}

bool may_leave() { return landing != nullptr; }

void leave(const char* reason) {
  std::strncpy(landing->reason, reason, sizeof landing->reason - 1);
  landing->reason[sizeof landing->reason - 1] = 0;
  siglongjmp(landing->place, 1);
}

}  // namespace morgana
