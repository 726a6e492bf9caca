// A pointer of each thread's own that signal handlers may ask for.
#pragma once

#include <limits.h>
#include <pthread.h>

namespace morgana {

// A key instead of a thread_local: a signal handler may ask for it on any thread without an allocation, and a
// library with static TLS (initial-exec) cannot be loaded once others have used up the little that glibc
// keeps.
template <typename T>
class ThreadPointer {
 public:
  ThreadPointer() { pthread_key_create(&key_, nullptr); }
  T* get() const { return static_cast<T*>(pthread_getspecific(key_)); }
  void set(T* pointer) { pthread_setspecific(key_, pointer); }

 private:
  pthread_key_t key_ = PTHREAD_KEYS_MAX;  // when there is none to be had: always nullptr
};

}  // namespace morgana
