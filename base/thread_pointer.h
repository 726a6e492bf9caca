// A pointer of each thread's own that signal handlers may ask for.
#pragma once

#include <limits.h>
#include <pthread.h>

namespace morgana {

// A key instead of a thread_local: a signal handler may ask for it on any thread without an allocation, and a
// library with static TLS (initial-exec) cannot be loaded once others have used up the little that glibc
// keeps. And instead of a destructor, which glibc registers under the loader's lock: whoever holds that, a
// constructor of a library, may be waiting for a kernel that this thread executes.
template <typename T>
class ThreadPointer {
 public:
  // `at_end` is called with the pointer of a thread that ends, unless that is null.
  explicit ThreadPointer(void (*at_end)(void* pointer) = nullptr) { pthread_key_create(&key_, at_end); }
  T* get() const { return static_cast<T*>(pthread_getspecific(key_)); }
  void set(T* pointer) { pthread_setspecific(key_, pointer); }

 private:
  pthread_key_t key_ = PTHREAD_KEYS_MAX;  // when there is none to be had: always nullptr
};

}  // namespace morgana
