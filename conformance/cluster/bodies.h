// Bodies under gravity, all pairs, of which each device moves a share: what devices.cpp and ranks.cpp have in
// common. Every body adds up the forces in the same order whatever share it belongs to, so that the result
// does not depend on how many devices there are. Plain OpenCL; nothing here knows which platform it runs on.
#pragma once

#define CL_HPP_ENABLE_EXCEPTIONS
#ifndef CL_HPP_TARGET_OPENCL_VERSION
#define CL_HPP_TARGET_OPENCL_VERSION 300
#endif
#include <CL/opencl.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace bodies {

constexpr int kGroup = 256;
constexpr float kStep = 0.01f;
constexpr float kSoftening = 1e-3f;

inline const char* source() {
  return R"(
kernel void advance(global const float4* all, global float4* moved, global float4* velocity, int first, int count, float dt,
                    float softening, local float4* tile) {
  int i = get_global_id(0), l = get_local_id(0), size = get_local_size(0);
  float4 me = all[first + i];
  float3 force = (float3)(0);
  for (int start = 0; start < count; start += size) {
    tile[l] = all[start + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < size; ++j) {
      float3 d = tile[j].xyz - me.xyz;
      float r = rsqrt(dot(d, d) + softening);
      force += d * (tile[j].w * r * r * r);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float4 v = velocity[i];
  v.xyz += force * dt;
  velocity[i] = v;
  moved[i] = (float4)(me.xyz + v.xyz * dt, me.w);
}
kernel void scale(global float* x, float y) { x[get_global_id(0)] *= y; }
kernel void nothing(global float* x) {}
)";
}

// Positions in a cube, in w the mass.
inline std::vector<cl_float4> start(int count) {
  std::vector<cl_float4> positions(static_cast<size_t>(count));
  uint32_t state = 3;
  auto random = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 16777216.0f;
  };
  for (cl_float4& body : positions) {
    for (int axis = 0; axis < 3; ++axis) body.s[axis] = random() * 2 - 1;
    body.s[3] = (random() + 0.5f) / static_cast<float>(count);
  }
  return positions;
}

// The largest difference of a coordinate, over some bodies, from the first step in double precision.
inline double error_of_first_step(const std::vector<cl_float4>& before, const std::vector<cl_float4>& after) {
  double worst = 0;
  for (size_t i = 0; i < before.size(); i += before.size() / 64 + 1) {
    double force[3] = {};
    for (const cl_float4& other : before) {
      double d[3], square = static_cast<double>(kSoftening);
      for (int axis = 0; axis < 3; ++axis) {
        d[axis] = static_cast<double>(other.s[axis]) - static_cast<double>(before[i].s[axis]);
        square += d[axis] * d[axis];
      }
      for (int axis = 0; axis < 3; ++axis)
        force[axis] += d[axis] * static_cast<double>(other.s[3]) / (square * std::sqrt(square));
    }
    for (int axis = 0; axis < 3; ++axis) {
      double dt = static_cast<double>(kStep),
             wanted = static_cast<double>(before[i].s[axis]) + force[axis] * dt * dt;
      worst = std::fmax(worst, std::fabs(wanted - static_cast<double>(after[i].s[axis])));
    }
  }
  return worst;
}

// FNV-1a of the bytes: equal where every bit is.
inline uint64_t digest(const std::vector<cl_float4>& positions) {
  uint64_t state = 14695981039346656037u;
  for (const cl_float4& body : positions) {
    unsigned char bytes[sizeof body.s];
    std::memcpy(bytes, body.s, sizeof bytes);
    for (unsigned char byte : bytes) state = (state ^ byte) * 1099511628211u;
  }
  return state;
}

inline cl::Program build(const cl::Context& context) {
  cl::Program program(context, source());
  program.build();
  return program;
}

// The bodies [first, first + count) of `total`, on one device.
struct Share {
  cl::CommandQueue queue;
  cl::Kernel advance;
  cl::Buffer all, moved, velocity;
  int first = 0, count = 0, total = 0;

  Share(const cl::Context& context, const cl::Device& device, const cl::Program& program, int from,
        int bodies, int of)
      : queue(context, device),
        advance(program, "advance"),
        all(context, CL_MEM_READ_WRITE, bytes_of(of)),
        moved(context, CL_MEM_READ_WRITE, bytes_of(bodies)),
        velocity(context, CL_MEM_READ_WRITE, bytes_of(bodies)),
        first(from),
        count(bodies),
        total(of) {}

  static size_t bytes_of(int bodies) {
    if (bodies <= 0 || bodies % kGroup != 0)
      throw std::invalid_argument("a share has a multiple of " + std::to_string(kGroup) + " bodies");
    return sizeof(cl_float4) * static_cast<size_t>(bodies);
  }

  void load(const std::vector<cl_float4>& positions) {
    queue.enqueueFillBuffer(velocity, 0.0f, 0, bytes_of(count));
    queue.enqueueWriteBuffer(all, CL_TRUE, 0, bytes_of(total), positions.data());
  }

  // One step of the share, from `all` to `moved`, behind the events in `after`.
  cl::Event step(const std::vector<cl::Event>& after) {
    advance.setArg(0, all);
    advance.setArg(1, moved);
    advance.setArg(2, velocity);
    advance.setArg(3, first);
    advance.setArg(4, total);
    advance.setArg(5, kStep);
    advance.setArg(6, kSoftening);
    advance.setArg(7, cl::Local(sizeof(cl_float4) * kGroup));
    cl::Event done;
    queue.enqueueNDRangeKernel(advance, cl::NullRange, cl::NDRange(static_cast<size_t>(count)),
                               cl::NDRange(kGroup), &after, &done);
    queue.flush();
    return done;
  }
};

}  // namespace bodies
