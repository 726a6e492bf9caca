// libamdhip64.so as the tests have it: it gives out memory and handles and knows them again, refuses sizes
// beyond 1 MiB, launches without a grid, and all that is none of its own.
#include "kmt/hip/fake_hip.h"

#include <cstdlib>
#include <cstring>
#include <set>

namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidConfiguration = 9, kInvalidHandle = 400,
              kNotReady = 600, kPeerAccessAlready = 704;

std::set<void*>& things() {
  static auto* const all = new std::set<void*>;
  return *all;
}
int last = 0;

// As HIP 5 has it: what the last call returned.
int end(int error) { return last = error; }

int make(void** to, size_t size) {
  if (size > 1 << 20) return end(kOutOfMemory);
  *to = std::calloc(1, size);
  things().insert(*to);
  return end(0);
}
int unmake(void* thing, int error) {
  if (thing == nullptr) return end(0);
  if (things().erase(thing) == 0) return end(error);
  std::free(thing);
  return end(0);
}

// Of the launch that is being made.
dim3 grid, block;
size_t shared;
void* stream;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"), noinline))
EXPORT int hipMalloc(void** to, size_t size) { return make(to, size); }
EXPORT int hipMallocPitch(void** to, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 255) / 256 * 256;
  return make(to, *pitch * height);
}
EXPORT int hipMalloc3D(Pitched* to, Extent extent) {
  to->pitch = to->width = extent.width;
  to->height = extent.height;
  return make(&to->pointer, extent.width * extent.height * extent.depth);
}
EXPORT int hipMallocMipmappedArray(void** array, const void*, Extent extent, unsigned levels,
                                   unsigned flags) {
  return levels == 5 && flags == 6 ? make(array, extent.width * extent.height * extent.depth)
                                   : end(kInvalidValue);
}
EXPORT int hipFreeMipmappedArray(void* array) { return unmake(array, kInvalidHandle); }
EXPORT int hipMallocManaged(void** to, size_t size, unsigned) { return make(to, size); }
// As AMD's does: by the function that a program is linked with.
EXPORT int hipHostMalloc(void** to, size_t size, unsigned flags) {
  return flags == 0 ? hipMalloc(to, size) : end(1);
}
EXPORT int hipHostRegister(void* memory, size_t, unsigned) {
  return end(things().insert(memory).second ? 0 : 712);
}
EXPORT int hipHostUnregister(void* memory) { return end(things().erase(memory) == 1 ? 0 : 713); }
EXPORT int hipFree(void* memory) { return unmake(memory, kInvalidValue); }
EXPORT int hipHostFree(void* memory) { return unmake(memory, kInvalidValue); }
EXPORT int hipMemcpy(void* to, const void* from, size_t size, int) {
  if (to == nullptr || from == nullptr) return end(kInvalidValue);
  std::memcpy(to, from, size);
  return end(0);
}
EXPORT int hipMemset3D(Pitched memory, int value, Extent extent) {
  std::memset(memory.pointer, value, memory.pitch * extent.height * extent.depth);
  return end(0);
}
EXPORT int hipStreamCreate(void** stream) { return make(stream, 1); }
EXPORT int hipStreamDestroy(void* stream) { return unmake(stream, kInvalidHandle); }
EXPORT int hipEventCreate(void** event) { return make(event, 1); }
EXPORT int hipEventDestroy(void* event) { return unmake(event, kInvalidHandle); }
EXPORT int hipEventElapsedTime(float*, void*, void*) { return end(kNotReady); }
EXPORT int hipDeviceSynchronize() { return end(0); }
EXPORT int hipDeviceReset() {
  things().clear();
  return end(0);
}
EXPORT int hipDeviceEnablePeerAccess(int, unsigned) { return end(kPeerAccessAlready); }
EXPORT int hipSetDevice(int device) { return end(device < 2 ? 0 : 101); }
EXPORT int hipGetLastError() {
  const int error = last;
  last = 0;
  return error;
}
EXPORT int hipPeekAtLastError() { return last; }
EXPORT int hipModuleLaunchKernel(void*, unsigned x, unsigned, unsigned, unsigned, unsigned, unsigned block_z,
                                 unsigned shared, void* stream, void** arguments, void** extra) {
  const bool is_whole = block_z == 6 && shared == 7 && stream == reinterpret_cast<void*>(8) &&
                        arguments == reinterpret_cast<void**>(9) && extra == reinterpret_cast<void**>(10);
  return end(x == 0 ? kInvalidConfiguration : is_whole ? 0 : kInvalidValue);
}
EXPORT int hipLaunchKernel(const void*, dim3 grid, dim3 block, void**, size_t shared, void*) {
  return end(grid.x == 0 ? kInvalidConfiguration : block.z == 1 && shared == 16 ? 0 : kInvalidValue);
}
EXPORT int __hipPushCallConfiguration(dim3 grid_wanted, dim3 block_wanted, size_t shared_wanted,
                                      void* stream_wanted) {
  grid = grid_wanted;
  block = block_wanted;
  shared = shared_wanted;
  stream = stream_wanted;
  return 0;
}
EXPORT int __hipPopCallConfiguration(dim3* to_grid, dim3* to_block, size_t* to_shared, void** to_stream) {
  *to_grid = grid;
  *to_block = block;
  *to_shared = shared;
  *to_stream = stream;
  return 0;
}
EXPORT void __hipRegisterFunction(void**, const void*, char*, const char*, unsigned, void*, void*, void*,
                                  void*, int*) {}
EXPORT const char* hipGetErrorName(int error) {
  switch (error) {
    case kInvalidValue: return "hipErrorInvalidValue";
    case kOutOfMemory: return "hipErrorOutOfMemory";
    case kInvalidConfiguration: return "hipErrorInvalidConfiguration";
    case kInvalidHandle: return "hipErrorInvalidHandle";
    case kNotReady: return "hipErrorNotReady";
    default: return "hipErrorUnknown";
  }
}
