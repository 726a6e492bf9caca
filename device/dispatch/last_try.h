// LastTry: what a thread last tried again after a fault. For SIGSEGV handlers, on any thread.
#pragma once

#include <limits.h>
#include <pthread.h>

#include <cstdint>

namespace morgana::device {

// When the same fault comes a second time and nothing that explains it has changed in between, it has another
// cause.
class LastTry {
 public:
  LastTry() { pthread_key_create(&key_, nullptr); }
  // `serial`: of what may explain it.
  bool is_second(uint64_t address, uint64_t serial) {
    constexpr int kSerialBits = 16;
    void* const now = reinterpret_cast<void*>(address << kSerialBits | (serial & 0xffff));
    if (pthread_getspecific(key_) == now) return true;
    pthread_setspecific(key_, now);
    return false;
  }

 private:
  pthread_key_t key_ = PTHREAD_KEYS_MAX;
};

}  // namespace morgana::device
