/* What the samples share: error checks, the choice of a device, a program build with its log, kernel times.
 * Plain OpenCL; nothing here knows which platform it runs on. */
#ifndef SAMPLES_SAMPLE_H
#define SAMPLES_SAMPLE_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

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
  cl_command_queue queue; /* in order, with profiling */
  double kernel_ms;       /* sum over the kernels run so far */
} Sample;

static inline Sample sample_open(void) {
  Sample s = {0};
  cl_platform_id platform;
  cl_uint platforms = 0;
  CHECK(clGetPlatformIDs(1, &platform, &platforms));
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &s.device, NULL));
  cl_int error;
  s.context = clCreateContext(NULL, 1, &s.device, NULL, NULL, &error);
  CHECK(error);
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  s.queue = clCreateCommandQueueWithProperties(s.context, s.device, properties, &error);
  CHECK(error);
  return s;
}

static inline cl_program sample_build(const Sample* s, const char* source, const char* options) {
  cl_int error;
  cl_program program = clCreateProgramWithSource(s->context, 1, &source, NULL, &error);
  CHECK(error);
  error = clBuildProgram(program, 1, &s->device, options, NULL, NULL);
  if (error != CL_SUCCESS) {
    size_t size = 0;
    clGetProgramBuildInfo(program, s->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char* log = (char*)malloc(size + 1);
    clGetProgramBuildInfo(program, s->device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    log[size] = 0;
    fprintf(stderr, "%sclBuildProgram: error %d\n", log, error);
    exit(1);
  }
  return program;
}

static inline cl_kernel sample_kernel(cl_program program, const char* name) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  CHECK(error);
  return kernel;
}

static inline cl_mem sample_buffer(const Sample* s, cl_mem_flags flags, size_t size, void* host) {
  cl_int error;
  cl_mem buffer = clCreateBuffer(s->context, flags, size, host, &error);
  CHECK(error);
  return buffer;
}

/* Runs the kernel, waits, and adds its time on the device. */
static inline void sample_run(Sample* s, cl_kernel kernel, cl_uint dimensions, const size_t* global,
                              const size_t* local) {
  cl_event event;
  cl_ulong start, end;
  CHECK(clEnqueueNDRangeKernel(s->queue, kernel, dimensions, NULL, global, local, 0, NULL, &event));
  CHECK(clWaitForEvents(1, &event));
  CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
  CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
  CHECK(clReleaseEvent(event));
  s->kernel_ms += (double)(end - start) * 1e-6;
}

/* Prints the result line that samples/run.py reads, and returns the exit status. */
static inline int sample_close(Sample* s, const char* name, int correct, const char* detail) {
  char device[256] = "?";
  clGetDeviceInfo(s->device, CL_DEVICE_NAME, sizeof device, device, NULL);
  printf("%-12s %-8s %10.3f ms  %s  %s\n", name, device, s->kernel_ms, correct ? "correct" : "WRONG", detail);
  clReleaseCommandQueue(s->queue);
  clReleaseContext(s->context);
  return correct ? 0 : 1;
}

#endif
