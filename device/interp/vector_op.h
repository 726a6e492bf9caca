// A vector instruction's row in the tables of device/interp, and what its function is called with.
//
// The same at every vector level: the bitcode library holds the tables as data, and device/jit reads the
// rows' fields and fills Values by the offsets that these structs have. Plain data; usable from any thread.
#pragma once

#include "device/interp/step.h"

namespace morgana::device {

// What an instruction computes in.
enum class Environment : uint8_t {
  single,      // MODE's f32 fields: what MXCSR holds
  wide,        // MODE's f16/f64 fields
  conversion,  // the f16/f64 rounding; operand and result flush by hand, each as its own format's field says
  nearest,     // to nearest even whatever MODE says, nothing flushed but by hand
};

struct Values {
  const Mode* mode;
  const uint32_t* src[4];
  uint64_t mask_in;
  uint32_t immediate;
  uint32_t* dst;  // room for four registers
  uint64_t mask_out;
};
using Compute = void (*)(Values& values);

struct VectorOp {
  isa::Op op;
  Handler plain;    // nullptr: plain instructions go through the thunk
  Handler keeping;  // the same where a 16-bit result leaves the other half of its register
  Compute compute;
  Compute clamped;  // with the CLAMP bit, where that saturates an integer result
  uint8_t n_src;
  uint8_t src_registers[4];  // 0: a mask or an immediate
  uint8_t dst_registers;     // 0: the result is a mask
  bool writes_mask;
  bool writes_exec;
  Environment environment;
};

}  // namespace morgana::device
