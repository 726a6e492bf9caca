kernel void print(global uint* data) {
  if (get_global_id(0) == 3)
    printf("%d %u %x %s %c|%5.2f|%v4d|%#v2hhx|%v3f|%ld%%\n", -5, 7u, data[0], "text", 'x', 2.5, (int4)(1, -2, 3, 4),
           (uchar2)(10, 200), (float3)(1.0f, 2.0f, 3.0f), 1l << 40);
}
