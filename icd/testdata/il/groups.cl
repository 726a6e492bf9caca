// needs: __opencl_c_work_group_collective_functions
#define BITS(x) as_uint(x)
kernel void work_groups(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const int a = (int)own[0] >> 4;
  const uint b = own[1];
  const float f = (float)(own[2] & 1023);
  const long l = (long)own[3] << 8;
  own[0] = work_group_reduce_add(a) ^ work_group_reduce_min(b);
  own[1] = work_group_reduce_max(a) + work_group_scan_inclusive_add(b);
  own[2] = BITS(work_group_scan_exclusive_add(f)) ^ BITS(work_group_reduce_max(f));
  own[3] = (uint)(work_group_scan_inclusive_min(l) >> 8) ^ (uint)work_group_reduce_add(l);
  own[4] = work_group_broadcast(b, 17) + work_group_all(a > 0) + 2 * work_group_any(a > 0);
  own[5] = work_group_scan_exclusive_max(a) ^ work_group_scan_exclusive_min(b);
}

kernel void copies(global uint* data) {
  local uint near[256];
  global uint* group = data + 32 * 64 * get_group_id(0);
  event_t done = async_work_group_copy(near, group, 256, 0);
  wait_group_events(1, &done);
  near[get_local_id(0)] += get_local_linear_id() + get_global_linear_id() + get_num_groups(0) + get_work_dim() +
                           get_enqueued_local_size(0) + get_global_offset(0) + get_global_size(1);
  barrier(CLK_LOCAL_MEM_FENCE);
  prefetch(group + 512, 64);
  event_t events[2];
  events[0] = async_work_group_strided_copy(group + 256, near, 64, 3, 0);
  events[1] = async_work_group_copy(group + 512, near + 64, 32, 0);
  wait_group_events(2, events);
  local float4 vectors[16];
  event_t last = async_work_group_copy(vectors, (global float4*)(group + 1024), 16, 0);
  wait_group_events(1, &last);
  group[1200 + get_local_id(0)] = as_uint(vectors[get_local_id(0) & 15].z);
}
