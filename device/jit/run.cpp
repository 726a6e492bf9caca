// How a wave runs a kernel. The host's float state is set by the interpreter's least level, which the build
// names by MORGANA_SIMD: it runs on every processor that the build is for.
#include "device/interp/code.h"
#include "device/jit/kernel.h"

namespace morgana::device::jit {
namespace {

// A kernel that loops gives way to other waves after so many instructions, a few milliseconds.
constexpr uint64_t kLimit = 1'000'000;
// How far ahead of a launch that streams through memory its rows are fetched: sixteen waves of doubles, about
// a microsecond.
constexpr uint32_t kAhead = 8192;

}  // namespace

void Kernel::enter(WaveFrame& frame, uint8_t streams_from) const {
  frame = {};
  frame.streams_from = streams_from;
  frame.limit = kLimit;
  frame.ahead = streams_from == kNeverStreams ? 0 : kAhead;
  frame.steps = steps_;
  frame.code = address_;
  frame.singles = singles_.get();
  frame.kernel = this;
}

void prepare(Wave& wave, const WaveFrame& frame) {
  MORGANA_SIMD::apply_mode(wave);
  if (frame.kernel->computes_wide()) MORGANA_SIMD::apply_wide_mode(wave);
}

void run(Wave& wave, WaveFrame& frame) {
  if (frame.kernel == nullptr) return level().run(wave);
  prepare(wave, frame);
  wave.exit = Exit::none;
  frame.gave_way = false;
  run_compiled(wave, frame);
  if (wave.exit == Exit::none) level().run(wave);
}

}  // namespace morgana::device::jit
