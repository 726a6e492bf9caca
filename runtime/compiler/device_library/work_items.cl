// What AMD's library gets wrong about work-items.

typedef unsigned int uint;

__SIZE_TYPE__ __attribute__((const)) __ockl_get_local_id(uint);
__SIZE_TYPE__ __attribute__((const)) __ockl_get_local_size(uint);

// AMD's counts by the size that was asked for, which a group at the grid's edge does not have (OpenCL C 6.15.1).
__SIZE_TYPE__ __attribute__((const)) __ockl_get_local_linear_id(void) {
  uint row = (uint)__ockl_get_local_id(2) * (uint)__ockl_get_local_size(1) + (uint)__ockl_get_local_id(1);
  return row * (uint)__ockl_get_local_size(0) + (uint)__ockl_get_local_id(0);
}
