// Where a kernel lies under the roof of a card of its target, from counts and data sheets: no time is made
// up.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/morgana/profile_model.h"

namespace morgana::tools {
namespace {

// AMD's product pages, November 2026: peak FLOP/s of vector float32 (a fused multiply-add is two) and of
// memory bytes/s, in 10^12. One well-known card a target.
constexpr Card kCards[] = {
    {"gfx600", "Radeon HD 7970", 3.79, 0.264},  {"gfx701", "Radeon R9 290X", 5.6, 0.32},
    {"gfx803", "Radeon R9 Fury X", 8.6, 0.512}, {"gfx900", "Radeon RX Vega 64", 12.7, 0.484},
    {"gfx906", "Instinct MI60", 14.7, 1.024},   {"gfx908", "Instinct MI100", 23.1, 1.229},
    {"gfx90a", "Instinct MI250X", 47.9, 3.277}, {"gfx942", "Instinct MI300X", 163.4, 5.3},
    {"gfx950", "Instinct MI355X", 157.3, 8.0},
};

}  // namespace

std::optional<Roofline> roofline_of(const KernelReport& kernel) {
  if (kernel.total.global_bytes == 0 || kernel.total.flop + kernel.total.matrix_flop == 0) return {};
  Roofline made;
  made.intensity = static_cast<double>(kernel.total.flop + kernel.total.matrix_flop) /
                   static_cast<double>(kernel.total.global_bytes);
  // Matrix instructions have other peaks, by their types.
  if (kernel.total.matrix_flop != 0) return made;
  const auto* const card = std::ranges::find(kCards, kernel.processor, &Card::processor);
  if (card != std::end(kCards)) made.card = card;
  return made;
}

double Roofline::balance() const { return card->teraflops / card->terabytes; }
double Roofline::most_of_peak() const { return std::min(1.0, intensity / balance()); }

std::string Roofline::text() const {
  std::string made = fmt::format("{:.2f} FLOP for each byte of global memory that is asked for", intensity);
  if (card != nullptr)
    made += fmt::format(
        "; {} has room for {:.1f} ({:.1f} TFLOP/s of float32, {:.2f} TB/s by its data sheet): {}", card->name,
        balance(), card->teraflops, card->terabytes,
        intensity < balance()
            ? fmt::format("at most {:.1f} % of its FLOP as far as caches do not help", 100 * most_of_peak())
            : "its FLOP are the limit, not its memory");
  return made;
}

}  // namespace morgana::tools
