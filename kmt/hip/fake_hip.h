// A few functions of HIP as programs see them, for tests where there is no HIP: what fake_hip.cpp has.
#pragma once

#include <cstddef>
#include <cstdint>

struct dim3 {
  uint32_t x = 1, y = 1, z = 1;
};
struct Extent {
  size_t width, height, depth;
};
struct Pitched {
  void* pointer;
  size_t pitch, width, height;
};

extern "C" {
int hipMalloc(void** to, size_t size);
int hipMallocPitch(void** to, size_t* pitch, size_t width, size_t height);
int hipMalloc3D(Pitched* to, Extent extent);
int hipMallocMipmappedArray(void** array, const void* format, Extent extent, unsigned levels, unsigned flags);
int hipFreeMipmappedArray(void* array);
int hipMallocManaged(void** to, size_t size, unsigned flags);
int hipHostMalloc(void** to, size_t size, unsigned flags);
int hipHostRegister(void* memory, size_t size, unsigned flags);
int hipHostUnregister(void* memory);
int hipFree(void* memory);
int hipHostFree(void* memory);
int hipMemcpy(void* to, const void* from, size_t size, int direction);
int hipMemset3D(Pitched memory, int value, Extent extent);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipEventCreate(void** event);
int hipEventDestroy(void* event);
int hipEventElapsedTime(float* time, void* begin, void* end);
int hipDeviceSynchronize();
int hipDeviceReset();
int hipDeviceEnablePeerAccess(int device, unsigned flags);
int hipSetDevice(int device);
int hipGetLastError();
int hipPeekAtLastError();
int hipModuleLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments,
                          void** extra);
int hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                    void* stream);
int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream);
int __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void** stream);
void __hipRegisterFunction(void** modules, const void* function, char* device_function, const char* name,
                           unsigned limit, void* thread, void* block, void* block_size, void* grid_size,
                           int* wave);
const char* hipGetErrorName(int error);
}
