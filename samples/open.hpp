// The C++ side of sample.h: opens the first GPU with the C++ bindings and prints the result line.
#pragma once

#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_TARGET_OPENCL_VERSION 300
#include <CL/opencl.hpp>
#include <cstdio>
#include <iostream>
#include <string>

struct Gpu {
  cl::Device device;
  cl::Context context;
  cl::CommandQueue queue;
  double kernel_ms = 0;

  Gpu() {
    std::vector<cl::Device> devices;
    cl::Platform::getDefault().getDevices(CL_DEVICE_TYPE_GPU, &devices);
    device = devices.at(0);
    context = cl::Context(device);
    queue = cl::CommandQueue(context, device, cl::QueueProperties::Profiling);
  }

  cl::Program build(const std::string& source, const char* options = "") {
    cl::Program program(context, source);
    try {
      program.build(device, options);
    } catch (const cl::Error&) {
      std::cerr << program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device);
      throw;
    }
    return program;
  }

  void run(const cl::Kernel& kernel, const cl::NDRange& global, const cl::NDRange& local = cl::NullRange) {
    cl::Event event;
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, global, local, nullptr, &event);
    event.wait();
    kernel_ms += 1e-6 * static_cast<double>(event.getProfilingInfo<CL_PROFILING_COMMAND_END>() -
                                            event.getProfilingInfo<CL_PROFILING_COMMAND_START>());
  }

  int close(const char* name, bool correct, const std::string& detail) const {
    std::printf("%-12s %-8s %10.3f ms  %s  %s\n", name, device.getInfo<CL_DEVICE_NAME>().c_str(), kernel_ms,
                correct ? "correct" : "WRONG", detail.c_str());
    return correct ? 0 : 1;
  }
};
