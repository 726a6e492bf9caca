// The process may end while a kernel is being compiled: the handler that waits for it must run before
// anything that LLVM uses is destroyed (`warm_up`). So LLVM registers no destructor after that.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "device/jit/kernel.h"

namespace {

// Destructors that LLVM has registered after its library was loaded.
std::atomic<int> registered{0};

}  // namespace

// Libraries find this one before the C library's.
extern "C" int __cxa_atexit(void (*function)(void*), void* argument, void* library) {
  using Function = int (*)(void (*)(void*), void*, void*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "__cxa_atexit"));
  Dl_info where;
  if (dladdr(reinterpret_cast<void*>(function), &where) != 0 && where.dli_fname != nullptr &&
      std::strstr(where.dli_fname, "libLLVM") != nullptr)
    registered.fetch_add(1);
  return real(function, argument, library);
}

namespace morgana::device {
namespace {

// Around all tests of this program, which compile kernels of all sorts.
class Destructors : public testing::Environment {
 public:
  void SetUp() override {
    const int loaded = registered.load();
    jit::warm_up();
    warm_ = registered.load();
    EXPECT_GT(warm_, loaded) << "they are not seen";
  }
  void TearDown() override { EXPECT_EQ(registered.load(), warm_) << "LLVM has made statics too late"; }

 private:
  int warm_ = 0;
};
const testing::Environment* const environment = testing::AddGlobalTestEnvironment(new Destructors);

}  // namespace
}  // namespace morgana::device
