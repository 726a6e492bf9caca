// What the decoders of the memory, image, export and interpolation encodings share. Only for decode_*.cpp of
// this folder.
//
// All functions are pure. The roles of the operands in Inst::src are fixed by the heads of rows/*.def.
#pragma once

#include "device/isa/internal.h"

namespace morgana::isa {

// Operand roles, as indexes into Inst::src.
inline constexpr int kVaddr = 0, kVdata = 1, kSaddr = 2;    // FLAT, GLOBAL, SCRATCH
inline constexpr int kSrsrc = 2, kSoffset = 3, kSsamp = 3;  // MUBUF, MTBUF, MIMG (VADDR and VDATA as above)
inline constexpr int kSbase = 0, kSmemOffset = 1, kSdata = 2;  // SMRD, SMEM
inline constexpr int kDsAddr = 0, kDsData0 = 1, kDsData1 = 2;  // DS

Result<Inst> decode_smrd(const Decoder& decoder);
Result<Inst> decode_smem(const Decoder& decoder);
Result<Inst> decode_ds(const Decoder& decoder);
Result<Inst> decode_flat(const Decoder& decoder);
Result<Inst> decode_mubuf(const Decoder& decoder);
Result<Inst> decode_mtbuf(const Decoder& decoder);
Result<Inst> decode_mimg(const Decoder& decoder);
Result<Inst> decode_exp(const Decoder& decoder);
Result<Inst> decode_vintrp(const Decoder& decoder);
Result<Inst> decode_ldsdir(const Decoder& decoder);
// The encodings of gfx10 and later where they differ; VBUFFER, VIMAGE and VSAMPLE are gfx12's.
Result<Inst> decode_smem_gfx10(const Decoder& decoder);
Result<Inst> decode_flat_gfx10(const Decoder& decoder);
Result<Inst> decode_flat_gfx12(const Decoder& decoder);
Result<Inst> decode_mubuf_gfx10(const Decoder& decoder);
Result<Inst> decode_mtbuf_gfx10(const Decoder& decoder);
Result<Inst> decode_vbuffer(const Decoder& decoder);
Result<Inst> decode_mimg_gfx10(const Decoder& decoder);
Result<Inst> decode_vimage(const Decoder& decoder);
Result<Inst> decode_vsample(const Decoder& decoder);

// An Inst with row, format and size, and n_src, n_dst by the row; malformed when the target has no such
// opcode.
Result<Inst> begin(const Decoder& decoder, Format format, uint32_t opcode, int size);

// The error of this decoder's bytes.
Error bad_encoding(const Decoder& decoder, const char* what);

// `dwords` registers from VGPR (`acc`: AccVGPR) `number`; malformed when they pass the last one.
Result<Operand> vector_operand(const Decoder& decoder, uint32_t number, Type type, int dwords, bool acc);

// `dwords` scalar registers from `code`; malformed when they leave the SGPRs, VCC, the TTMPs, M0 or EXEC
// where they began.
Result<Operand> scalar_operand(const Decoder& decoder, uint32_t code, Type type, int dwords);

// One scalar source of any kind but a literal: register, inline constant, special value.
Result<Operand> scalar_source(const Decoder& decoder, uint32_t code, Type type);

// The bits type that has `dwords` dwords, or the next larger one.
Type bits_type(int dwords);

// gfx940+: bits SC0, SC1, NT. Before: GLC, SCC (gfx90a), SLC.
void set_cache_bits(const Decoder& decoder, Inst& inst, bool glc_sc0, bool scc_sc1, bool slc_nt);

// gfx10 and gfx11: GLC, SLC, DLC. gfx12: the scope, the temporal hint, and that nothing else writes there
// (NV).
void set_cache_bits_gfx10(Inst& inst, bool glc, bool slc, bool dlc);
void set_cache_bits_gfx12(Inst& inst, uint32_t scope, uint32_t th, bool nv);
// What vector memory has of them, at the same places in every encoding of gfx12; `middle` is its second
// dword.
inline void set_cache_bits_gfx12(const Decoder& decoder, Inst& inst, uint32_t middle) {
  set_cache_bits_gfx12(inst, bits(middle, 18, 2), bits(middle, 20, 3), bits(decoder.dword0, 7, 1) != 0);
}

// Atomics return the old value when this is set.
inline bool returns(const Inst& inst) { return inst.glc || inst.sc0 || (inst.th & 1) != 0; }

}  // namespace morgana::isa
