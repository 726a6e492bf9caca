#include "base/leavable.h"

#include <setjmp.h>
#include <xmmintrin.h>

#include <cstring>

#include "base/thread_pointer.h"

namespace morgana {
namespace {

struct Landing {
  sigjmp_buf place;
  bool at_faults;
  unsigned mxcsr;
  char reason[512];  // written in a signal handler: no allocation
};
ThreadPointer<Landing> landing;

}  // namespace

std::optional<std::string> leavable(const std::function<void()>& function, bool at_faults) {
  Landing own;
  own.at_faults = at_faults;
  own.mxcsr = _mm_getcsr();
  // Also when an exception goes through.
  const struct Scope {
    Landing* outer = landing.get();
    ~Scope() { landing.set(outer); }
  } scope;
  if (sigsetjmp(own.place, 1) == 0) {
    landing.set(&own);
    function();
    return std::nullopt;
  }
  _mm_setcsr(own.mxcsr);
  return own.reason;
}

bool may_leave(bool at_fault) {
  const Landing* const own = landing.get();
  return own != nullptr && (own->at_faults || !at_fault);
}

void leave(const char* reason) {
  Landing* const own = landing.get();
  std::strncpy(own->reason, reason, sizeof own->reason - 1);
  own->reason[sizeof own->reason - 1] = 0;
  siglongjmp(own->place, 1);
}

}  // namespace morgana
