#include "device/isa/scalar_float.h"

namespace morgana::isa {
namespace {

struct Same {
  Op scalar, vector;
};
#define MORGANA_SAME(scalar, vector) {Op::scalar, Op::vector}
#define MORGANA_SAME_BOTH(scalar, vector) \
  MORGANA_SAME(scalar##_f32, vector##_f32), MORGANA_SAME(scalar##_f16, vector##_f16)
constexpr Same kSame[] = {
    MORGANA_SAME_BOTH(s_add, v_add),
    MORGANA_SAME_BOTH(s_sub, v_sub),
    MORGANA_SAME_BOTH(s_mul, v_mul),
    MORGANA_SAME_BOTH(s_fmac, v_fmac),
    MORGANA_SAME_BOTH(s_min_num, v_min),
    MORGANA_SAME_BOTH(s_max_num, v_max),
    MORGANA_SAME_BOTH(s_minimum, v_minimum),
    MORGANA_SAME_BOTH(s_maximum, v_maximum),
    MORGANA_SAME_BOTH(s_ceil, v_ceil),
    MORGANA_SAME_BOTH(s_floor, v_floor),
    MORGANA_SAME_BOTH(s_trunc, v_trunc),
    MORGANA_SAME_BOTH(s_rndne, v_rndne),
    MORGANA_SAME_BOTH(s_cmp_lt, v_cmp_lt),
    MORGANA_SAME_BOTH(s_cmp_eq, v_cmp_eq),
    MORGANA_SAME_BOTH(s_cmp_le, v_cmp_le),
    MORGANA_SAME_BOTH(s_cmp_gt, v_cmp_gt),
    MORGANA_SAME_BOTH(s_cmp_lg, v_cmp_lg),
    MORGANA_SAME_BOTH(s_cmp_ge, v_cmp_ge),
    MORGANA_SAME_BOTH(s_cmp_o, v_cmp_o),
    MORGANA_SAME_BOTH(s_cmp_u, v_cmp_u),
    MORGANA_SAME_BOTH(s_cmp_nge, v_cmp_nge),
    MORGANA_SAME_BOTH(s_cmp_nlg, v_cmp_nlg),
    MORGANA_SAME_BOTH(s_cmp_ngt, v_cmp_ngt),
    MORGANA_SAME_BOTH(s_cmp_nle, v_cmp_nle),
    MORGANA_SAME_BOTH(s_cmp_neq, v_cmp_neq),
    MORGANA_SAME_BOTH(s_cmp_nlt, v_cmp_nlt),
    MORGANA_SAME(s_fmaak_f32, v_fmaak_f32),
    MORGANA_SAME(s_fmamk_f32, v_fmamk_f32),
    MORGANA_SAME(s_cvt_f32_i32, v_cvt_f32_i32),
    MORGANA_SAME(s_cvt_f32_u32, v_cvt_f32_u32),
    MORGANA_SAME(s_cvt_i32_f32, v_cvt_i32_f32),
    MORGANA_SAME(s_cvt_u32_f32, v_cvt_u32_f32),
    MORGANA_SAME(s_cvt_f16_f32, v_cvt_f16_f32),
    MORGANA_SAME(s_cvt_f32_f16, v_cvt_f32_f16),
    MORGANA_SAME(s_cvt_hi_f32_f16, v_cvt_f32_f16),
    MORGANA_SAME(s_cvt_pk_rtz_f16_f32, v_cvt_pkrtz_f16_f32),
};
#undef MORGANA_SAME_BOTH
#undef MORGANA_SAME

}  // namespace

std::optional<Op> vector_of(Op scalar) {
  for (const Same& same : kSame)
    if (same.scalar == scalar) return same.vector;
  return std::nullopt;
}

}  // namespace morgana::isa
