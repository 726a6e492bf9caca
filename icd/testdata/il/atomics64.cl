// needs: cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
kernel void of_64_bits(global uint* data) {
  global ulong* all = (global ulong*)data;
  const ulong given = all[16 * get_global_id(0) + 32];
  atom_add(all, given);
  atom_sub(all + 1, given);
  atom_xor(all + 2, given);
  atom_min(all + 3, given);
  atom_max((global long*)all + 4, (long)given);
  volatile global atomic_ulong* u = (volatile global atomic_ulong*)all + 5;
  atomic_fetch_add_explicit(u, given, memory_order_relaxed, memory_scope_device);
  ulong expected = 0;
  while (!atomic_compare_exchange_weak_explicit(u + 1, &expected, expected ^ given, memory_order_relaxed,
                                                memory_order_relaxed, memory_scope_device)) {
  }
}
