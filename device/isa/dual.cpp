#include "device/isa/dual.h"

#include <algorithm>

namespace morgana::isa {

std::optional<std::array<Inst, 2>> halves(const Inst& dual) {
  const auto reads = [&](int first, int last, const Operand& what) {
    return std::any_of(dual.src.begin() + first, dual.src.begin() + last,
                       [&](const Operand& source) { return source.code == what.code; });
  };
  const bool is_swapped = reads(dual.n_first_src, dual.n_src, dual.dst[0]);
  if (is_swapped && reads(0, dual.n_first_src, dual.dst[1])) return std::nullopt;
  std::array<Inst, 2> made;
  for (const unsigned k : {0u, 1u}) {
    const bool is_y = (k == 1) != is_swapped;
    Inst& half = made[k];
    half.row = is_y ? dual.second : dual.row;
    half.format = dual.format;
    half.literal = dual.literal;
    half.n_dst = 1;
    half.dst[0] = dual.dst[is_y];
    const int first = is_y ? dual.n_first_src : 0;
    half.n_src = static_cast<uint8_t>(is_y ? dual.n_src - first : dual.n_first_src);
    std::copy_n(dual.src.begin() + first, half.n_src, half.src.begin());
    half.n_explicit_src = half.n_src;
  }
  return made;
}

}  // namespace morgana::isa
