// The same by CUDA's names. Comes before the program's own text.
#pragma once

#include "hip/hip_runtime.h"

#define cudaMalloc hipMalloc
#define cudaFree hipFree
#define cudaMemset hipMemset
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaPeekAtLastError hipPeekAtLastError
#define cudaGetErrorString hipGetErrorString
#define cudaSuccess hipSuccess
