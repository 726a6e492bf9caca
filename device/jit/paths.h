// Accesses whose lanes need not have a shape: native code of the host vector level, so that kernels need not
// contain it, nor LLVM compile it again for each. The linker of kernels finds it by name: of kind b32
// morgana_path_load_b32 and so on.
#pragma once

#include "device/jit/abi.h"
#include "device/jit/memory_kinds.h"
#include "device/jit/strip_ranges.h"
#include "device/known_phases.h"

// What compiled code has in the upper vector registers survives. Where the lower halves alone would
// (AVX2, AVX), LLVM's convention loses them to vzeroupper.
#ifdef __AVX512F__
#define MORGANA_KEEPS_REGISTERS __attribute__((intel_ocl_bicc))
#else
#define MORGANA_KEEPS_REGISTERS
#endif
// Of loops lane by lane, whose values are scalars.
#define MORGANA_KEEPS_SCALARS __attribute__((preserve_most))

namespace morgana::device::MORGANA_SIMD {

// None has more parameters than registers pass, nor is any called by a pointer: LLVM saves the frame pointer
// around calls of this convention, and loses what it addresses by the stack pointer then.

// The wave's active lanes at base + low + (high << 32); `high` may be null. Other lanes of loaded data become
// anything.
using GlobalPath = void MORGANA_KEEPS_REGISTERS(Wave*, jit::WaveFrame*, uint64_t base, const Lanes* low,
                                                const Lanes* high, Lanes* data);
// Whether some active lane's upper half of an address is that of an aperture.
using AperturePath = bool MORGANA_KEEPS_REGISTERS(const Wave*, const Lanes* high);
// Lanes of `exec` at lds + (address + add mod 2^32); those outside of LDS read 0, or are not stored.
using LdsPath = void MORGANA_KEEPS_REGISTERS(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,
                                             uint64_t exec, Lanes* data);

// All lanes at base + index * size of a record.
using IndexPath = void MORGANA_KEEPS_REGISTERS(Wave*, jit::WaveFrame*, uint64_t base, const Lanes* index,
                                               bool is_signed, Lanes* data);

// values[source[l]] for every lane; `source` is below 64.
using PullPath = void MORGANA_KEEPS_REGISTERS(const uint32_t* values, const uint32_t* source,
                                              uint32_t* result);

// Of scratch at the lanes' own offsets + `add`. False, and nothing has happened, when an active lane's
// reaches out of scratch, or is at no multiple of its size (of 4 for dwords and more). Other lanes of loaded
// data become anything.
using ScratchPath = bool MORGANA_KEEPS_REGISTERS(const Wave*, uint32_t add, const Lanes* offset, Lanes* data);
template <class Kind>
ScratchPath load_scratch;
template <class Kind>
ScratchPath store_scratch;

// Lanes of `exec` at base[l / 16] + l % 16 * step. Other lanes of loaded data become anything.
using StridedPath = void MORGANA_KEEPS_REGISTERS(jit::WaveFrame*, const uint64_t* base, uint64_t exec,
                                                 uint64_t step, Lanes* data);
template <class Kind>
StridedPath load_strided;
template <class Kind>
StridedPath store_strided;

// Widens `range` by every lane's base + low + (high << 32); `high` may be null. The first of a strip begins
// it.
using RangePath = void MORGANA_KEEPS_REGISTERS(jit::StripRange* range, uint64_t base, const Lanes* low,
                                               const Lanes* high, bool is_first);
// Whether what one of the first `lanes` stores lies apart from what the others load and store.
using ApartPath = bool MORGANA_KEEPS_REGISTERS(const jit::StripRange* ranges,
                                               const jit::StripAccess* accesses, uint32_t count,
                                               uint32_t lanes);
RangePath note_range;
ApartPath lie_apart;

#define MORGANA_MEMORY_KINDS(X) \
  X(b32, Dwords<1>)             \
  X(b64, Dwords<2>)             \
  X(b96, Dwords<3>)             \
  X(b128, Dwords<4>)            \
  X(u8, Narrow<uint8_t>)        \
  X(i8, Narrow<int8_t>)         \
  X(u16, Narrow<uint16_t>)      \
  X(i16, Narrow<int16_t>)

// Of a launch whose accesses are checked: service::may_access, observe_single, observe_unseen; of one that
// checks what it loads, reads_unwritten and loaded_unwritten.
using MayAccessPath = bool MORGANA_KEEPS_SCALARS(Wave*, const Step*, uint32_t slot, uint64_t lanes,
                                                 const uint64_t* addresses);
using ObservePath = bool MORGANA_KEEPS_REGISTERS(Wave*, const Step*);
// Level::leave_marks or service::passes, of active lanes at base + the addresses' lower halves, and the upper
// ones behind these if they have some (PlainUse::packed).
using PassesPath = bool MORGANA_KEEPS_REGISTERS(const Wave*, const Step*, uint64_t base,
                                                const Lanes* addresses, uint64_t exec, uint64_t use);
using UnseenPath = bool MORGANA_KEEPS_REGISTERS(Wave*, const Step*, uint32_t slot);
// Of a launch that counts: service::count_accesses.
using CountPath = void MORGANA_KEEPS_REGISTERS(Wave*, const Step*);
// The lines that active lanes touch, each by `bytes` at base + low + (high << 32); `high` may be null.
using LinesPath = uint64_t MORGANA_KEEPS_REGISTERS(uint64_t base, const Lanes* low, const Lanes* high,
                                                   uint64_t exec, uint64_t bytes);
// The phases that LDS takes for active lanes at address + offset, and in the upper half the fewest
// (LdsUse::packed).
using PhasesPath = uint64_t MORGANA_KEEPS_REGISTERS(KnownPhases* known, uint32_t offset, const Lanes* address,
                                                    uint64_t exec, uint64_t use);
// The same of what lanes did one after another, in as many iterations each, the n-th of lane l at at[64 * n +
// l]: summed over those that a wave makes of it, and in the upper half the fewest that hold as many bytes.
using RecordsPath = uint64_t MORGANA_KEEPS_REGISTERS(const uint64_t* at, const uint32_t* iterations,
                                                     uint64_t longest, uint64_t bytes);
LinesPath count_lines;
RecordsPath count_records;
PhasesPath count_phases;
PassesPath passes;

extern const jit::NamedPath kPaths[];

}  // namespace morgana::device::MORGANA_SIMD
