// Atomic operations whose result does not depend on their order. Word 0 to 31 belong to all.
kernel void integers(global uint* data) {
  local int shared[8];
  const uint id = get_global_id(0), lane = get_local_id(0);
  const int given = (int)data[32 * id + 64] >> 8;
  if (lane < 8) shared[lane] = lane == 3 ? INT_MAX : lane == 4 ? INT_MIN : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(shared, given);
  atomic_sub(shared + 1, given);
  atomic_xor(shared + 2, given);
  atomic_min(shared + 3, given);
  atomic_max(shared + 4, given);
  atomic_or((local uint*)shared + 5, (uint)given);
  atomic_inc(shared + 6);
  atomic_cmpxchg(shared + 7, lane, lane + 1);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < 7) atomic_add((volatile global int*)data + lane, shared[lane]);
  atomic_and(data + 8, (uint)given);
  atomic_min(data + 9, (uint)given);
  atomic_max(data + 10, (uint)given);
  atomic_dec(data + 11);
  if (id == 5) data[12] = atomic_xchg((volatile global int*)data + 13, 77);
}

kernel void of_c11(global uint* data) {
  const uint id = get_global_id(0);
  const uint given = data[32 * id + 64];
  volatile global atomic_uint* u = (volatile global atomic_uint*)data;
  volatile global atomic_int* i = (volatile global atomic_int*)(data + 8);
  atomic_fetch_add(u, given);
  atomic_fetch_sub_explicit(u + 1, given, memory_order_relaxed, memory_scope_device);
  atomic_fetch_or_explicit(u + 2, given, memory_order_acq_rel, memory_scope_work_group);
  atomic_fetch_and_explicit(u + 3, given, memory_order_acquire);
  atomic_fetch_xor_explicit(u + 4, given, memory_order_release);
  atomic_fetch_min(u + 5, given);
  atomic_fetch_max(i, (int)given);
  atomic_fetch_min_explicit(i + 1, (int)given, memory_order_seq_cst, memory_scope_all_svm_devices);
  uint expected = atomic_load(u + 6);
  while (!atomic_compare_exchange_weak(u + 6, &expected, expected * 1 + given)) {
  }
  uint other = 1234;
  if (id == 7) {
    data[32 * id + 65] = atomic_compare_exchange_strong_explicit(u + 16, &other, 5u, memory_order_relaxed,
                                                                 memory_order_relaxed, memory_scope_device);
    data[32 * id + 66] = other;
    atomic_store_explicit(u + 17, 99u, memory_order_release);
    data[32 * id + 67] = atomic_exchange(u + 17, 100u);
    volatile global atomic_flag* flag = (volatile global atomic_flag*)(data + 18);
    atomic_flag_clear(flag);
    data[32 * id + 68] = atomic_flag_test_and_set(flag);
    data[32 * id + 69] = atomic_flag_test_and_set_explicit(flag, memory_order_acquire, memory_scope_device);
  }
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
}
