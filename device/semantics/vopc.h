// Comparisons. The result is a mask; the frame clears inactive lanes and writes EXEC for v_cmpx, which has
// the same function, as has gfx6's signalling v_cmps.
#pragma once

#include "device/semantics/half.h"

namespace morgana::device::MORGANA_SIMD {

#define MORGANA_FLOAT_COMPARISONS(suffix, type, in)                                                       \
  MORGANA_OP mask v_cmp_f_##suffix(type, type) { return 0; }                                              \
  MORGANA_OP mask v_cmp_lt_##suffix(const Mode& mode, type a, type b) { return mask_of(in(a) < in(b)); }  \
  MORGANA_OP mask v_cmp_eq_##suffix(const Mode& mode, type a, type b) { return mask_of(in(a) == in(b)); } \
  MORGANA_OP mask v_cmp_le_##suffix(const Mode& mode, type a, type b) { return mask_of(in(a) <= in(b)); } \
  MORGANA_OP mask v_cmp_gt_##suffix(const Mode& mode, type a, type b) { return mask_of(in(a) > in(b)); }  \
  MORGANA_OP mask v_cmp_lg_##suffix(const Mode& mode, type a, type b) {                                   \
    return mask_of((in(a) < in(b)) | (in(a) > in(b)));                                                    \
  }                                                                                                       \
  MORGANA_OP mask v_cmp_ge_##suffix(const Mode& mode, type a, type b) { return mask_of(in(a) >= in(b)); } \
  MORGANA_OP mask v_cmp_o_##suffix(type a, type b) { return ~v_cmp_u_##suffix(a, b); }                    \
  MORGANA_OP mask v_cmp_nge_##suffix(const Mode& mode, type a, type b) {                                  \
    return ~v_cmp_ge_##suffix(mode, a, b);                                                                \
  }                                                                                                       \
  MORGANA_OP mask v_cmp_nlg_##suffix(const Mode& mode, type a, type b) {                                  \
    return ~v_cmp_lg_##suffix(mode, a, b);                                                                \
  }                                                                                                       \
  MORGANA_OP mask v_cmp_ngt_##suffix(const Mode& mode, type a, type b) {                                  \
    return ~v_cmp_gt_##suffix(mode, a, b);                                                                \
  }                                                                                                       \
  MORGANA_OP mask v_cmp_nle_##suffix(const Mode& mode, type a, type b) {                                  \
    return ~v_cmp_le_##suffix(mode, a, b);                                                                \
  }                                                                                                       \
  MORGANA_OP mask v_cmp_neq_##suffix(const Mode& mode, type a, type b) {                                  \
    return ~v_cmp_eq_##suffix(mode, a, b);                                                                \
  }                                                                                                       \
  MORGANA_OP mask v_cmp_nlt_##suffix(const Mode& mode, type a, type b) {                                  \
    return ~v_cmp_lt_##suffix(mode, a, b);                                                                \
  }                                                                                                       \
  MORGANA_OP mask v_cmp_tru_##suffix(type, type) { return ~mask{0}; }

MORGANA_OP mask v_cmp_u_f32(f32v a, f32v b) { return mask_of((a != a) | (b != b)); }
MORGANA_OP mask v_cmp_u_f64(f64v a, f64v b) { return mask_of((a != a) | (b != b)); }
MORGANA_OP mask v_cmp_u_f16(f16v a, f16v b) { return mask_of(is_nan(a) | is_nan(b)); }

#define MORGANA_AS_IS(x) (x)
#define MORGANA_HALF_IN(x) half_in(mode, x)
MORGANA_FLOAT_COMPARISONS(f32, f32v, MORGANA_AS_IS)
MORGANA_FLOAT_COMPARISONS(f64, f64v, MORGANA_AS_IS)
MORGANA_FLOAT_COMPARISONS(f16, f16v, MORGANA_HALF_IN)
#undef MORGANA_FLOAT_COMPARISONS
#undef MORGANA_AS_IS
#undef MORGANA_HALF_IN

#define MORGANA_INTEGER_COMPARISONS(suffix, type)                               \
  MORGANA_OP mask v_cmp_f_##suffix(type, type) { return 0; }                    \
  MORGANA_OP mask v_cmp_lt_##suffix(type a, type b) { return mask_of(a < b); }  \
  MORGANA_OP mask v_cmp_eq_##suffix(type a, type b) { return mask_of(a == b); } \
  MORGANA_OP mask v_cmp_le_##suffix(type a, type b) { return mask_of(a <= b); } \
  MORGANA_OP mask v_cmp_gt_##suffix(type a, type b) { return mask_of(a > b); }  \
  MORGANA_OP mask v_cmp_ne_##suffix(type a, type b) { return mask_of(a != b); } \
  MORGANA_OP mask v_cmp_ge_##suffix(type a, type b) { return mask_of(a >= b); } \
  MORGANA_OP mask v_cmp_t_##suffix(type, type) { return ~mask{0}; }

MORGANA_INTEGER_COMPARISONS(i32, i32v)
MORGANA_INTEGER_COMPARISONS(u32, u32v)
MORGANA_INTEGER_COMPARISONS(i64, i64v)
MORGANA_INTEGER_COMPARISONS(u64, u64v)
MORGANA_INTEGER_COMPARISONS(i16, i16v)
MORGANA_INTEGER_COMPARISONS(u16, u16v)
#undef MORGANA_INTEGER_COMPARISONS

MORGANA_OP mask v_cmp_class_f32(f32v a, u32v classes) { return mask_of(in_class(a, classes)); }
MORGANA_OP mask v_cmp_class_f64(f64v a, u32v classes) { return mask_of(in_class(a, to<uint64_t>(classes))); }
MORGANA_OP mask v_cmp_class_f16(f16v a, u32v classes) { return mask_of(in_class(a, to<uint16_t>(classes))); }

}  // namespace morgana::device::MORGANA_SIMD
