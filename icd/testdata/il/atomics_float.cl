// needs: cl_ext_float_atomics
// Sums of small integers, which no order changes.
kernel void of_floats(global uint* data) {
  local float sum;
  const uint id = get_global_id(0);
  const float given = (float)(data[32 * id + 64] & 255);
  if (get_local_id(0) == 0) sum = 0;
  if (id < 4) data[id] = 0;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  atomic_fetch_add_explicit((local atomic_float*)&sum, given, memory_order_relaxed, memory_scope_work_group);
  atomic_fetch_max_explicit((global atomic_float*)data + 16 * get_group_id(0), given, memory_order_relaxed, memory_scope_device);
  atomic_fetch_min_explicit((global atomic_float*)data + 16 * get_group_id(0) + 1, -given, memory_order_relaxed, memory_scope_device);
  barrier(CLK_LOCAL_MEM_FENCE);
  data[32 * id + 65] = as_uint(sum);
}
