// The gfx targets Morgana knows: which documents and opcode tables a code object follows.
//
// A Target is an opcode table (thirteen of them). Real chips share tables: gfx902 code
// is gfx900's, gfx940's is gfx942's, and so on; `find_target` maps a processor name to
// its table, and kTargets[].name is the name of the table itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace morgana {

enum class Target : uint8_t {
  gfx600,
  gfx701,
  gfx803,
  gfx900,
  gfx906,
  gfx908,
  gfx90a,
  gfx942,
  gfx950,
  gfx1010,
  gfx1030,
  gfx1100,
  gfx1200,
};
inline constexpr int kTargetCount = 13;
inline constexpr int kGcnTargetCount = 9;  // the first of them: GCN and CDNA, waves of 64

// Ordered generation facts. Write conditions with these, not with Target names, where a whole range shares a
// rule.
enum class Generation : uint8_t {
  gfx6 = 6,
  gfx7 = 7,
  gfx8 = 8,
  gfx9 = 9,
  gfx10 = 10,
  gfx11 = 11,
  gfx12 = 12
};
inline constexpr int kGenerationCount = 7;

// Lanes of a wave, and bits of a lane mask. gfx10 and later have both; which one is the kernel's matter.
enum class WaveSize : uint8_t { wave32 = 32, wave64 = 64 };

struct TargetInfo {
  Target target;
  const char* name;  // "gfx90a"
  Generation generation;
  bool has_agprs;                 // accumulation VGPRs exist (gfx908+)
  bool unified_vgprs;             // VGPRs and AccVGPRs share one file of 512 (gfx90a+)
  bool packed_work_items;         // work-item ids packed in VGPR0 (gfx90a+)
  bool architected_flat_scratch;  // gfx940+
  bool is_gfx940;                 // gfx940 and later: SC0/SC1/NT cache bits, SVE, TTMP rules of CDNA3/4
  uint32_t lds_bytes;             // per compute unit, available to one work-group
  uint32_t lds_granule;           // allocation granule in bytes
  uint32_t vgpr_limit;            // VGPRs that one wave may have (with AccVGPRs where unified)

  // What the L2 cache adds as f32: LLVM takes these targets to keep denormals, others flush them.
  bool adds_f32_denormals() const { return is_gfx940 || generation >= Generation::gfx12; }
};

const TargetInfo& info(Target target);

// Whether waves have 32 lanes or 64, as the kernel says (gfx10 and later); otherwise they have 64.
bool has_wave32(Target target);

// What LLVM assumes where nothing says it: wave32 where there is a choice.
WaveSize default_wave(Target target);

// The table for a processor name ("gfx90a", "gfx902", "tahiti"); nullopt for a processor Morgana cannot
// execute.
std::optional<Target> find_target(std::string_view processor);

}  // namespace morgana
