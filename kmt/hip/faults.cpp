// A program that does with HIP what its argument names (check_test.py says what is to be found), one function
// each. Linked with the library of fake_hip.cpp.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "kmt/hip/fake_hip.h"

namespace {

enum Direction { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice };
constexpr size_t kSize = 1024, kTooMuch = 1 << 30;
char host[kSize];

// A kernel as the compiler makes one: the function of the host that stands for it, and a launch.
void kernel_stub() {
  dim3 grid, block;
  size_t shared;
  void* stream;
  __hipPopCallConfiguration(&grid, &block, &shared, &stream);
  hipLaunchKernel(reinterpret_cast<void*>(&kernel_stub), grid, block, nullptr, shared, stream);
}
[[gnu::constructor]] void register_kernels() {
  static char name[] = "kernel";
  __hipRegisterFunction(nullptr, reinterpret_cast<void*>(&kernel_stub), name, name, 0, nullptr, nullptr,
                        nullptr, nullptr, nullptr);
}
void launch(unsigned groups) {
  __hipPushCallConfiguration({groups}, {64}, 16, nullptr);
  kernel_stub();
}

[[gnu::noinline]] void* allocate() {
  void* memory = nullptr;
  hipMalloc(&memory, kSize);
  return memory;
}

void right() {
  void *device = nullptr, *pinned = nullptr, *managed = nullptr, *stream = nullptr, *event = nullptr;
  size_t pitch = 0;
  hipSetDevice(1);
  hipMallocPitch(&device, &pitch, 10, 10);
  hipHostMalloc(&pinned, kSize, 0);
  hipMallocManaged(&managed, kSize, 1);
  hipStreamCreate(&stream);
  hipEventCreate(&event);
  launch(1);
  hipMemcpy(device, host, kSize, kHostToDevice);
  hipMemcpy(host, device, kSize, kDeviceToHost);
  hipMemcpy(managed, pinned, kSize, kDeviceToDevice);
  hipMemcpy(pinned, managed, kSize, kHostToHost);
  hipHostRegister(host, kSize, 0);
  hipHostUnregister(host);
  hipEventDestroy(event);
  hipStreamDestroy(stream);
  hipFree(managed);
  hipHostFree(pinned);
  hipFree(device);
  hipFree(nullptr);
}

void goes_on() {
  void* memory = nullptr;
  hipMalloc(&memory, kTooMuch);
  hipDeviceSynchronize();
}
void ends() {
  void *memory = allocate(), *more = nullptr;
  hipMalloc(&more, kTooMuch);
  hipFree(memory);
}
void gives_up() {
  void* memory = allocate();
  hipMalloc(&memory, kTooMuch);
  std::exit(0);
}
void told() {
  void* memory = nullptr;
  hipMalloc(&memory, kTooMuch);
  hipGetLastError();
  hipDeviceSynchronize();
}
void tries() {
  void* memory = nullptr;
  size_t size = kTooMuch;
  while (hipMalloc(&memory, size) != 0) size /= 2;
  hipDeviceSynchronize();
  hipFree(memory);
}
void answers() {
  hipDeviceEnablePeerAccess(1, 0);
  hipEventElapsedTime(nullptr, nullptr, nullptr);
  hipDeviceSynchronize();
}

void launch_goes_on() {
  launch(0);
  launch(1);
  hipDeviceSynchronize();
  hipMemcpy(host, host, kSize, kHostToHost);
}
void launch_without_a_question() {
  launch(0);
  hipDeviceSynchronize();
  hipGetLastError();  // which says what that has returned
}
void launch_with_a_question() {
  launch(0);
  hipPeekAtLastError();
  hipMemcpy(host, host, kSize, kHostToHost);
}
// The kernel's name goes with the library that it lies in.
void launch_of_an_unloaded_library() {
  constexpr size_t kPage = 4096;
  auto* const name =
      static_cast<char*>(mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::strcpy(name, "gone");
  __hipRegisterFunction(nullptr, reinterpret_cast<void*>(&kernel_stub), name, name, 0, nullptr, nullptr,
                        nullptr, nullptr, nullptr);
  launch(0);
  munmap(name, kPage);
}
void launch_by_hand() {
  void* const last = reinterpret_cast<void*>(10);
  for (unsigned x = 2; x-- > 0;)
    hipModuleLaunchKernel(nullptr, x, 2, 3, 4, 5, 6, 7, reinterpret_cast<void*>(8),
                          reinterpret_cast<void**>(9), static_cast<void**>(last));
  hipLaunchKernel(nullptr, {0}, {64}, nullptr, 16, nullptr);
}

void leaks() {
  for (int i = 0; i < 3; i++) allocate();
  void *stream, *event, *pinned;
  hipStreamCreate(&stream);
  hipEventCreate(&event);
  hipHostMalloc(&pinned, 100, 0);
  hipHostRegister(host, kSize, 0);
  Pitched volume;
  hipMalloc3D(&volume, {10, 20, 30});
  hipMemset3D(volume, 3, {10, 20, 30});
  void* array;
  if (static_cast<char*>(volume.pointer)[10 * 20 * 30 - 1] != 3 ||
      hipMallocMipmappedArray(&array, nullptr, {2, 3, 4}, 5, 6) != 0)
    std::abort();
}
void reset() {
  leaks();
  hipDeviceReset();
  hipSetDevice(1);
  allocate();
  hipSetDevice(0);
  hipDeviceReset();
}
void frees_twice() {
  void* const memory = allocate();
  hipFree(memory);
  hipFree(memory);
}
void frees_strange_memory() { hipFree(host); }
void frees_otherwise() {
  void *pinned = nullptr, *memory = allocate();
  hipHostMalloc(&pinned, kSize, 0);
  hipFree(pinned);
  hipHostFree(memory);
}
void wrong_directions() {
  void* const memory = allocate();
  hipMemcpy(static_cast<char*>(memory) + 8, host, 8, kDeviceToHost);
  hipMemcpy(host, memory, 8, kHostToDevice);
  hipMemcpy(memory, host, 0, kDeviceToHost);
  hipFree(memory);
}

void* held_to_the_end = nullptr;
void frees_at_the_end() {
  held_to_the_end = allocate();
  static const struct Holder {
    ~Holder() { hipFree(held_to_the_end); }
  } holder;
}
void forks() {
  void* const memory = allocate();
  if (fork() == 0) std::exit(0);
  int status = 0;
  wait(&status);
  hipFree(memory);
}
void threads() {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; i++)
    all.emplace_back([] {
      for (int j = 0; j < 100; j++) hipMemcpy(host, host, 0, kHostToHost);
    });
  for (std::thread& one : all) one.join();
}

#define ROW(name) {#name, name}
constexpr struct {
  std::string_view name;
  void (*act)();
} kFaults[] = {ROW(right),
               ROW(goes_on),
               ROW(ends),
               ROW(gives_up),
               ROW(told),
               ROW(tries),
               ROW(answers),
               ROW(launch_goes_on),
               ROW(launch_without_a_question),
               ROW(launch_with_a_question),
               ROW(launch_of_an_unloaded_library),
               ROW(launch_by_hand),
               ROW(leaks),
               ROW(reset),
               ROW(frees_twice),
               ROW(frees_strange_memory),
               ROW(frees_otherwise),
               ROW(wrong_directions),
               ROW(frees_at_the_end),
               ROW(forks),
               ROW(threads)};

}  // namespace

int main(int, char** arguments) {
  for (const auto& fault : kFaults)
    if (arguments[1] == fault.name) return fault.act(), 0;
  std::fprintf(stderr, "%s?\n", arguments[1]);
  return 9;
}
