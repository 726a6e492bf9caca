/* What the benchmarks share: the first device of any type, a kernel, time, medians, one result line. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(call)                                                                      \
  do {                                                                                   \
    cl_int check_status = (call);                                                        \
    if (check_status != CL_SUCCESS) {                                                    \
      fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, check_status); \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

typedef struct {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
} Bench;

static inline double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline Bench bench_open(void) {
  Bench b;
  cl_platform_id platform;
  cl_int error;
  CHECK(clGetPlatformIDs(1, &platform, NULL));
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &b.device, NULL));
  b.context = clCreateContext(NULL, 1, &b.device, NULL, NULL, &error);
  CHECK(error);
  b.queue = clCreateCommandQueueWithProperties(b.context, b.device, NULL, &error);
  CHECK(error);
  return b;
}

static inline cl_program bench_program(const Bench* b, const char* source, const char* options) {
  cl_int error;
  cl_program program = clCreateProgramWithSource(b->context, 1, &source, NULL, &error);
  CHECK(error);
  CHECK(clBuildProgram(program, 1, &b->device, options, NULL, NULL));
  return program;
}

static inline cl_kernel bench_kernel(const Bench* b, const char* source, const char* options,
                                     const char* name) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(bench_program(b, source, options), name, &error);
  CHECK(error);
  return kernel;
}

static inline int bench_compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double bench_median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, bench_compare);
  return values[count / 2];
}

static inline void bench_print(const char* name, double value, const char* unit) {
  printf("%s\t%.6g\t%s\n", name, value, unit);
  fflush(stdout);
}

#endif
