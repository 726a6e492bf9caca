// needs: cl_khr_extended_bit_ops cl_khr_integer_dot_product
#define EACH(T, U)                                                                                      \
  kernel void bits_of_##T(global uint* data) {                                                          \
    global T* own = (global T*)(data + 32 * get_global_id(0));                                          \
    const uint at = ((global uint*)own)[20] & 3, count = ((global uint*)own)[21] & 3;                   \
    own[0] = bitfield_insert(own[0], own[1], at, count);                                                \
    own[1] = (T)bitfield_extract_signed(own[1], at, count);                                             \
    own[2] = (T)bitfield_extract_unsigned(own[2], at, count + 1);                                       \
    own[3] = bit_reverse(own[3]);                                                                       \
  }
EACH(char, uchar)
EACH(uchar, uchar)
EACH(short, ushort)
EACH(int, uint)
EACH(uint, uint)
EACH(long, ulong)
kernel void products(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const uint a = own[0], b = own[1];
  own[0] = dot(as_uchar4(a), as_uchar4(b)) + dot_4x8packed_uu_uint(a, b);
  own[1] = dot(as_char4(a), as_char4(b)) + dot_4x8packed_ss_int(a, b);
  own[2] = dot(as_char4(a), as_uchar4(b)) + dot(as_uchar4(a), as_char4(b));
  own[3] = dot_4x8packed_us_int(a, b) + dot_4x8packed_su_int(a, b);
  own[4] = dot_acc_sat(as_uchar4(a), as_uchar4(b), own[4]);
  own[5] = dot_acc_sat(as_char4(a), as_char4(b), (int)own[5]);
  own[6] = dot_acc_sat_4x8packed_ss_int(a, b, (int)own[6]) ^ dot_acc_sat(as_char4(b), as_uchar4(a), (int)own[7]);
  own[7] = dot_acc_sat_4x8packed_uu_uint(a, b, own[7]);
}
