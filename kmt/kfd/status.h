// The thunk's status as the negative errno that an ioctl returns.
#pragma once

#include <hsakmt.h>

#include <cerrno>

namespace morgana::kmt::kfd {

inline int error_of(HSAKMT_STATUS status) {
  switch (status) {
    case HSAKMT_STATUS_SUCCESS: return 0;
    case HSAKMT_STATUS_NO_MEMORY:
    case HSAKMT_STATUS_OUT_OF_RESOURCES: return -ENOMEM;
    case HSAKMT_STATUS_NOT_SUPPORTED:
    case HSAKMT_STATUS_NOT_IMPLEMENTED: return -EOPNOTSUPP;
    case HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED: return -ENODEV;
    case HSAKMT_STATUS_WAIT_TIMEOUT: return -ETIME;
    default: return -EINVAL;
  }
}

}  // namespace morgana::kmt::kfd
