// nbody: ten steps of 2048 bodies under gravity, all pairs, bodies staged through local memory.
#include <cmath>
#include <vector>

#include "samples/open.hpp"

static const char* source = R"(
kernel void advance(global const float4* in, global float4* out, global float4* velocity, float dt, local float4* tile) {
  int i = get_global_id(0), n = get_global_size(0), l = get_local_id(0), size = get_local_size(0);
  float4 me = in[i];
  float3 force = (float3)(0);
  for (int start = 0; start < n; start += size) {
    tile[l] = in[start + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < size; ++j) {
      float3 d = tile[j].xyz - me.xyz;
      float r = rsqrt(dot(d, d) + 1e-3f);
      force += d * (tile[j].w * r * r * r);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float4 v = velocity[i];
  v.xyz += force * dt;
  velocity[i] = v;
  out[i] = (float4)(me.xyz + v.xyz * dt, me.w);
})";

namespace {

struct Body {
  double x, y, z, mass;
};

// The same ten steps in double precision.
std::vector<Body> reference(std::vector<Body> bodies, int steps, double dt) {
  std::vector<Body> velocity(bodies.size(), Body{0, 0, 0, 0});
  for (int s = 0; s < steps; ++s) {
    std::vector<Body> next = bodies;
    for (size_t i = 0; i < bodies.size(); ++i) {
      double fx = 0, fy = 0, fz = 0;
      for (const Body& other : bodies) {
        double dx = other.x - bodies[i].x, dy = other.y - bodies[i].y, dz = other.z - bodies[i].z;
        double r = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + 1e-3);
        double f = other.mass * r * r * r;
        fx += dx * f, fy += dy * f, fz += dz * f;
      }
      velocity[i].x += fx * dt, velocity[i].y += fy * dt, velocity[i].z += fz * dt;
      next[i].x += velocity[i].x * dt, next[i].y += velocity[i].y * dt, next[i].z += velocity[i].z * dt;
    }
    bodies = next;
  }
  return bodies;
}

}  // namespace

int main() {
  const int n = 2048, steps = 10;
  const float dt = 0.01f;
  std::vector<cl_float4> positions(n);
  std::vector<Body> bodies(n);
  unsigned state = 3;
  auto random = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 16777216.0f;
  };
  for (int i = 0; i < n; ++i) {
    positions[i] = {{random() * 2 - 1, random() * 2 - 1, random() * 2 - 1, (random() + 0.5f) / n}};
    bodies[i] = {positions[i].s[0], positions[i].s[1], positions[i].s[2], positions[i].s[3]};
  }
  Gpu gpu;
  cl::Kernel kernel(gpu.build(source), "advance");
  cl::Buffer from(gpu.context, positions.begin(), positions.end(), false);
  cl::Buffer to(gpu.context, CL_MEM_READ_WRITE, sizeof(cl_float4) * n);
  cl::Buffer velocity(gpu.context, CL_MEM_READ_WRITE, sizeof(cl_float4) * n);
  gpu.queue.enqueueFillBuffer(velocity, 0.0f, 0, sizeof(cl_float4) * n);
  for (int s = 0; s < steps; ++s) {
    kernel.setArg(0, from);
    kernel.setArg(1, to);
    kernel.setArg(2, velocity);
    kernel.setArg(3, dt);
    kernel.setArg(4, cl::Local(256 * sizeof(cl_float4)));
    gpu.run(kernel, {n}, {256});
    std::swap(from, to);
  }
  cl::copy(gpu.queue, from, positions.begin(), positions.end());

  std::vector<Body> expected = reference(bodies, steps, dt);
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    worst = std::fmax(worst, std::fabs(expected[i].x - positions[i].s[0]));
    worst = std::fmax(worst, std::fabs(expected[i].y - positions[i].s[1]));
    worst = std::fmax(worst, std::fabs(expected[i].z - positions[i].s[2]));
  }
  char detail[80];
  std::snprintf(detail, sizeof detail, "%d bodies, %d steps, off by at most %.1e", n, steps, worst);
  return gpu.close("nbody", worst < 1e-5, detail);
}
