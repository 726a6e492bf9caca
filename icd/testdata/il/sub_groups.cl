// needs: cl_khr_subgroups cl_khr_subgroup_extended_types cl_khr_subgroup_non_uniform_vote cl_khr_subgroup_ballot cl_khr_subgroup_non_uniform_arithmetic cl_khr_subgroup_shuffle cl_khr_subgroup_shuffle_relative cl_khr_subgroup_clustered_reduce cl_khr_subgroup_rotate
kernel void basic(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const int a = (int)own[0] >> 4;
  const uint b = own[1];
  const float f = (float)(own[2] & 1023);
  own[0] = sub_group_reduce_add(a) ^ sub_group_reduce_min(b);
  own[1] = sub_group_scan_inclusive_max(a) ^ sub_group_scan_exclusive_add(b);
  own[2] = as_uint(sub_group_scan_inclusive_add(f)) ^ as_uint(sub_group_reduce_max(f));
  own[3] = sub_group_broadcast(b, 9) + sub_group_all(a > 0) + 2 * sub_group_any(a > 0);
  own[4] = get_sub_group_size() | get_max_sub_group_size() << 8 | get_sub_group_id() << 16 | get_sub_group_local_id() << 24;
  own[5] = get_num_sub_groups() | get_enqueued_num_sub_groups() << 8;
  sub_group_barrier(CLK_GLOBAL_MEM_FENCE);
  sub_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_sub_group);
}
kernel void diverging(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const int a = (int)own[0] >> 4;
  const uint b = own[1];
  const float f = (float)(own[2] & 1023);
  if ((b & 3) != 0 || get_sub_group_local_id() == 5) {
    own[0] = sub_group_non_uniform_reduce_add(a) ^ sub_group_non_uniform_scan_exclusive_min(b);
    own[1] = sub_group_non_uniform_scan_inclusive_mul(a) ^ sub_group_non_uniform_reduce_xor(b);
    own[2] = sub_group_non_uniform_reduce_and(a) ^ sub_group_non_uniform_scan_inclusive_or(b);
    own[3] = sub_group_non_uniform_reduce_logical_and(a > 0) + 2 * sub_group_non_uniform_scan_inclusive_logical_xor(a > 0) +
             4 * sub_group_non_uniform_scan_exclusive_logical_or(b > 99);
    own[4] = as_uint(sub_group_non_uniform_reduce_max(f)) ^ as_uint(sub_group_non_uniform_scan_exclusive_add(f));
    own[5] = sub_group_elect() + 2 * sub_group_non_uniform_all(a > 0) + 4 * sub_group_non_uniform_any(a > 0) +
             8 * sub_group_non_uniform_all_equal(b & 3) + 16 * sub_group_non_uniform_all_equal(f);
    own[6] = sub_group_broadcast_first(b) ^ sub_group_non_uniform_broadcast(a, 5);
  }
}
kernel void ballots(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const uint4 votes = sub_group_ballot((int)own[0] > 0);
  vstore4(votes, 0, own);
  own[4] = sub_group_inverse_ballot(votes) + 2 * sub_group_ballot_bit_extract(votes, 7);
  own[5] = sub_group_ballot_bit_count(votes) | sub_group_ballot_inclusive_scan(votes) << 8 | sub_group_ballot_exclusive_scan(votes) << 16;
  own[6] = sub_group_ballot_find_lsb(votes) | sub_group_ballot_find_msb(votes) << 8;
  vstore4(get_sub_group_eq_mask() ^ get_sub_group_ge_mask() << 1, 2, own);
  vstore4(get_sub_group_gt_mask() ^ get_sub_group_le_mask() << 1 ^ get_sub_group_lt_mask() << 2, 3, own);
}
kernel void shuffles(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const uint lane = get_sub_group_local_id();
  own[0] = sub_group_shuffle(own[0], (lane * 7) & 63) ^ sub_group_shuffle_xor(own[1], 13);
  own[1] = lane >= 3 ? sub_group_shuffle_up(own[1], 3) : 0;
  own[2] = lane < 60 ? sub_group_shuffle_down(own[2], 3) : 0;
  own[3] = sub_group_rotate(own[3], 5) ^ sub_group_clustered_rotate(own[4], 3, 16);
  own[4] = sub_group_clustered_reduce_add(own[4], 8) ^ sub_group_clustered_reduce_max((int)own[5], 16);
  own[5] = sub_group_clustered_reduce_logical_or((int)own[5] > 0x7f000000, 4);
  ((global ulong*)own)[4] = sub_group_shuffle(((global ulong*)own)[4], lane ^ 1);
  ((global uchar*)own)[40] = sub_group_shuffle_xor(((global uchar*)own)[40], 2);
  ((global short*)own)[24] = sub_group_reduce_max(((global short*)own)[24]);
  const float3 v = convert_float3(vload3(5, own));
  vstore3(as_uint3(sub_group_broadcast(v, 3)), 5, own);
}
