// What every entry point of the thunk does: answers "not opened", lets no exception out.
#pragma once

#include <hsakmt.h>

#include <atomic>
#include <new>

namespace morgana::kmt {

// How often the driver has been opened and not closed.
std::atomic<int>& open_count();

template <typename Body>
HSAKMT_STATUS entry(const Body& body) noexcept {
  if (open_count().load(std::memory_order_relaxed) <= 0) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return HSAKMT_STATUS_NO_MEMORY;
  } catch (...) {
    return HSAKMT_STATUS_ERROR;
  }
}

}  // namespace morgana::kmt

// Entry points have the header's names and are what the library exports.
#define KMT_EXPORT extern "C" __attribute__((visibility("default"))) HSAKMT_STATUS HSAKMTAPI
