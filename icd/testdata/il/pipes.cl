// needs: __opencl_c_pipes
kernel void fill(global uint* data, write_only pipe uint out) {
  uint value = data[32 * get_global_id(0)];
  if (get_global_id(0) < 8) {
    write_pipe(out, &value);
  } else if (get_local_id(0) == 8) {
    reserve_id_t all = reserve_write_pipe(out, 4);
    if (is_valid_reserve_id(all)) {
      for (uint i = 0; i < 4; ++i) write_pipe(out, all, i, &value);
      commit_write_pipe(out, all);
    }
  }
  data[32 * get_global_id(0) + 1] = get_pipe_max_packets(out);
}
kernel void drain(global uint* data, read_only pipe uint in) {
  if (get_global_id(0) != 0) return;
  uint sum = 0, value;
  data[1] = get_pipe_num_packets(in);
  reserve_id_t some = reserve_read_pipe(in, 2);
  if (is_valid_reserve_id(some)) {
    for (uint i = 0; i < 2; ++i)
      if (read_pipe(in, some, i, &value) == 0) sum += value;
    commit_read_pipe(in, some);
  }
  while (read_pipe(in, &value) == 0) sum += value;
  data[2] = sum;
}
