// The contents of Inst for the memory encodings: roles, spans, offsets and cache bits that text does not
// show.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/isa/decode.h"

namespace morgana::isa {
namespace {

std::vector<uint8_t> from_hex(std::string_view hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(uint8_t(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::string describe(const Operand& operand) {
  if (!operand.present()) return "-";
  if (operand.is_agpr()) return fmt::format("a{}x{}", operand.code - kAgprBase, operand.dwords);
  if (operand.is_vgpr()) return fmt::format("v{}x{}", operand.code - kVgprBase, operand.dwords);
  return fmt::format("s{}x{}", operand.code, operand.dwords);
}

// "destination <- sources by role | fields": registers with their spans, "-" for an absent one.
std::string describe(const Inst& inst) {
  std::string text = describe(inst.dst[0]) + " <-";
  for (int i = 0; i < inst.n_src; i++) text += " " + describe(inst.src[i]);
  text += " |";
  if (inst.offset != 0 || inst.offset_imm) text += fmt::format(" offset:{}", inst.offset);
  if (inst.offset0 != 0 || inst.offset1 != 0)
    text += fmt::format(" offsets:{},{}", inst.offset0, inst.offset1);
  const std::pair<bool, const char*> flags[] = {
      {inst.offset_is_dwords, "dwords"},
      {inst.soffset_en, "soffset"},
      {inst.glc, "glc"},
      {inst.slc, "slc"},
      {inst.dlc, "dlc"},
      {inst.scc, "scc"},
      {inst.sc0, "sc0"},
      {inst.sc1, "sc1"},
      {inst.nt, "nt"},
      {inst.lds, "lds"},
      {inst.tfe, "tfe"},
      {inst.gds, "gds"},
      {inst.offen, "offen"},
      {inst.idxen, "idxen"},
      {inst.addr64, "addr64"},
      {inst.sve, "sve"},
      {inst.unorm, "unorm"},
      {inst.d16, "d16"},
      {inst.a16, "a16"},
      {inst.exp_done, "done"},
      {inst.exp_vm, "vm"},
      {inst.exp_row_en, "row_en"},
  };
  for (const auto& [set, name] : flags)
    if (set) text += fmt::format(" {}", name);
  if (inst.dmask != 0) text += fmt::format(" dmask:{:#x}", inst.dmask);
  if (inst.scope != 0) text += fmt::format(" scope:{}", inst.scope);
  if (inst.th != 0) text += fmt::format(" th:{}", inst.th);
  if (inst.dim != 0) text += fmt::format(" dim:{}", inst.dim);
  for (int i = 0; i < inst.n_nsa; i++)
    text += fmt::format("{}{}{}", i == 0 ? " [" : ",", inst.nsa_vgprs[i], i + 1 == inst.n_nsa ? "]" : "");
  if (inst.buffer_format != 0) text += fmt::format(" format:{}", inst.buffer_format);
  if (inst.format == Format::LDSDIR) {
    if (inst.attr != 0) text += fmt::format(" attr:{},{}", inst.attr, inst.attr_chan);
    text += fmt::format(" va_vdst:{}{}", inst.wait_va_vdst, inst.wait_vm_vsrc ? " vm_vsrc" : "");
  }
  if (inst.dfmt != 0 || inst.nfmt != 0) text += fmt::format(" format:{},{}", inst.dfmt, inst.nfmt);
  return text;
}

struct Case {
  Target target;
  const char* hex;
  const char* text;
  const char* contents;
};

// Encodings are llvm-mc's (LLVM 22).
const Case kCases[] = {
    // SMRD: dword offsets, an SGPR, gfx7's literal.
    {Target::gfx600, "120382c0", "s_load_dwordx4 s[4:7], s[2:3], 0x12", "s4x4 <- s2x2 - | offset:18 dwords"},
    {Target::gfx600, "038804c2", "s_buffer_load_dword s9, s[8:11], s3", "s9x1 <- s8x4 s3x1 | soffset"},
    {Target::gfx701, "ff0200c045230100", "s_load_dword s0, s[2:3], 0x12345",
     "s0x1 <- s2x2 - | offset:74565 dwords"},
    // SMEM: unsigned on gfx8, signed on gfx9; SGPR and immediate; data of stores and atomics is src[2].
    {Target::gfx803, "420102c0ffff0f00", "s_load_dword s5, s[4:5], 0xfffff",
     "s5x1 <- s4x2 - | offset:1048575"},
    {Target::gfx803, "02022dc002000000", "s_buffer_load_dwordx8 s[8:15], s[4:7], s2 glc",
     "s8x8 <- s4x4 s2x1 | soffset glc"},
    {Target::gfx803, "810144c008000000", "s_store_dwordx2 s[6:7], s[2:3], s8",
     "- <- s2x2 s8x1 s6x2 | soffset"},
    {Target::gfx900, "030106c0f8ff1f00", "s_load_dwordx2 s[4:5], s[6:7], -0x8", "s4x2 <- s6x2 - | offset:-8"},
    {Target::gfx900, "034106c020000010", "s_load_dwordx2 s[4:5], s[6:7], s8 offset:0x20",
     "s4x2 <- s6x2 s8x1 | offset:32 soffset"},
    {Target::gfx900, "040107c110000000", "s_buffer_atomic_cmpswap s[4:5], s[8:11], 0x10 glc",
     "s4x1 <- s8x4 - s4x2 | offset:16 glc"},
    {Target::gfx900, "040108c203000000", "s_atomic_add s4, s[8:9], s3", "- <- s8x2 s3x1 s4x1 | soffset"},
    {Target::gfx950, "000190c000000000", "s_memtime s[4:5]", "s4x2 <- |"},
    // DS: addresses stay VGPRs when data are AccVGPRs; two offsets; no GDS on gfx90a+ but for wave sync.
    {Target::gfx600, "04053ed801020300", "ds_write2st64_b32 v1, v2, v3 offset0:4 offset1:5 gds",
     "- <- v1x1 v2x1 v3x1 | offsets:4,5 gds"},
    {Target::gfx701, "1000fcdb01000004", "ds_read_b128 v[4:7], v1 offset:16", "v4x4 <- v1x1 | offset:16"},
    {Target::gfx90a, "01ff9cda01020400", "ds_write2_b64 v1, a[2:3], a[4:5] offset0:1 offset1:255",
     "- <- v1x1 a2x2 a4x2 | offsets:1,255"},
    {Target::gfx90a, "000033d902000000", "ds_gws_init v2 gds", "- <- - v2x1 | gds"},
    {Target::gfx90a, "08006cdb00000003", "ds_read_addtid_b32 a3 offset:8", "a3x1 <- | offset:8"},
    {Target::gfx950, "ffffe0d801040602", "ds_cmpst_rtn_b64 v[2:3], v1, v[4:5], v[6:7] offset:65535",
     "v2x2 <- v1x1 v4x2 v6x2 | offset:65535"},
    {Target::gfx950, "04007cd900000001", "ds_append v1 offset:4", "v1x1 <- | offset:4"},
    // FLAT, GLOBAL, SCRATCH: vaddr, vdata, saddr, whatever the order of the text.
    {Target::gfx701, "0000c5dc01030009", "flat_atomic_cmpswap v9, v[1:2], v[3:4] glc",
     "v9x1 <- v1x2 v3x2 | glc"},
    {Target::gfx900, "ff0f50dc02000001", "flat_load_dword v1, v[2:3] offset:4095",
     "v1x1 <- v2x2 | offset:4095"},
    {Target::gfx900, "009050dc02007f01", "global_load_dword v1, v[2:3], off offset:-4096",
     "v1x1 <- v2x2 - - | offset:-4096"},
    {Target::gfx900, "ff8f78dc01040200", "global_store_dwordx3 v1, v[4:6], s[2:3] offset:4095",
     "- <- v1x1 v4x3 s2x2 | offset:4095"},
    {Target::gfx900, "f85f50dc02007f01", "scratch_load_dword v1, v2, off offset:-8",
     "v1x1 <- v2x1 - - | offset:-8"},
    {Target::gfx900, "004074dc00040300", "scratch_store_dwordx2 off, v[4:5], s3", "- <- - v4x2 s3x1 |"},
    {Target::gfx90a, "008085dd02048200", "global_atomic_cmpswap_x2 a[0:1], v2, a[4:7], s[2:3] glc",
     "a0x2 <- v2x1 a4x4 s2x2 | glc"},
    {Target::gfx90a, "00803cdd02047f00", "global_atomic_add_f64 v[2:3], v[4:5], off", "- <- v2x2 v4x2 - |"},
    {Target::gfx950, "f07f5cdc01000204", "scratch_load_dwordx4 v[4:7], v1, s2 offset:-16",
     "v4x4 <- v1x1 - s2x1 | offset:-16 sve"},
    {Target::gfx950, "044070dc00017f00", "scratch_store_dword off, v1, off offset:4",
     "- <- - v1x1 - | offset:4"},
    {Target::gfx950, "1080f7dd02007f00", "global_load_lds_dwordx4 v[2:3], off offset:16 sc0 nt",
     "- <- v2x2 - - | offset:16 sc0 nt lds"},
    {Target::gfx950, "000049dd02040001", "flat_atomic_pk_add_bf16 v1, v[2:3], v4 sc0",
     "v1x1 <- v2x2 v4x1 | sc0"},
    // MUBUF and MTBUF: the address by its enable bits, packed and unpacked D16, tied loads, TFE, LDS.
    {Target::gfx600, "10c034e006040201",
     "buffer_load_dwordx2 v[4:5], v[6:7], s[8:11], s1 addr64 offset:16 glc",
     "v4x2 <- v6x2 - s8x4 s1x1 | offset:16 glc addr64"},
    {Target::gfx803, "000028e000010201", "buffer_load_format_d16_xyz v[1:3], off, s[8:11], s1",
     "v1x3 <- - v1x3 s8x4 s1x1 |"},
    {Target::gfx900, "002028e0030102c1", "buffer_load_format_d16_xyz v[1:2], v3, s[8:11], -1 idxen",
     "v1x2 <- v3x1 v1x2 s8x4 s193x1 | idxen"},
    {Target::gfx900, "ff3f94e00201017c",
     "buffer_load_short_d16_hi v1, v[2:3], s[4:7], m0 idxen offen offset:4095",
     "v1x1 <- v2x2 v1x1 s4x4 s124x1 | offset:4095 offen idxen"},
    {Target::gfx900, "000051e000000280", "buffer_load_dword off, s[8:11], 0 lds",
     "- <- - - s8x4 s128x1 | lds"},
    {Target::gfx900, "00005ce000048204", "buffer_load_dwordx4 v[4:8], off, s[8:11], s4 tfe",
     "v4x5 <- - v4x5 s8x4 s4x1 | tfe"},
    {Target::gfx90a, "00d05ae001048280", "buffer_load_dwordx3 a[4:6], v1, s[8:11], 0 offen glc slc scc",
     "a4x3 <- v1x1 - s8x4 s128x1 | glc slc scc offen"},
    {Target::gfx950, "00e006e101020108", "buffer_atomic_cmpswap v[2:3], v1, s[4:7], s8 idxen sc0 nt sc1",
     "v2x1 <- v1x1 v2x2 s4x4 s8x1 | sc0 sc1 nt idxen"},
    {Target::gfx950, "040059e000000201", "buffer_load_dwordx3 off, s[8:11], s1 offset:4 lds",
     "- <- - - s8x4 s1x1 | offset:4 lds"},
    {Target::gfx950, "00c0a4e000000000", "buffer_inv sc0 sc1", "- <- | sc0 sc1"},
    {Target::gfx600, "0800eeeb00000180",
     "tbuffer_store_format_xyz v[0:2], off, s[4:7], 0 format:[BUF_DATA_FORMAT_32_32_32,BUF_NUM_FORMAT_FLOAT] "
     "offset:8",
     "- <- - v0x3 s4x4 s128x1 | offset:8 format:13,7"},
    {Target::gfx950, "0080e5eb000201f0",
     "tbuffer_load_format_d16_xyzw v[2:3], off, s[4:7], 0.5 "
     "format:[BUF_DATA_FORMAT_16_16_16_16,BUF_NUM_FORMAT_FLOAT]",
     "v2x2 <- - v2x2 s4x4 s240x1 | format:12,7"},
    // MIMG: dmask, gather, D16 and compare-and-swap decide the data's span.
    {Target::gfx803, "0005a8f004008280", "image_sample_c_d v[0:1], v[4:6], s[8:15], s[16:19] dmask:0x5 d16",
     "v0x2 <- v4x3 - s8x8 s16x4 | d16 dmask:0x5"},
    {Target::gfx900, "001320f002010280", "image_store v1, v2, s[8:15] dmask:0x3 unorm d16",
     "- <- v2x1 v1x1 s8x8 | unorm d16 dmask:0x3"},
    {Target::gfx900, "002f44f002040200", "image_atomic_cmpswap v[4:7], v2, s[8:15] dmask:0xf glc",
     "v4x2 <- v2x1 v4x4 s8x8 | glc dmask:0xf"},
    {Target::gfx900, "000260f104006200", "image_gather4_c_o v[0:3], v[4:6], s[8:15], s[12:15] dmask:0x2",
     "v0x4 <- v4x3 - s8x8 s12x4 | dmask:0x2"},
    {Target::gfx600, "000701f004000200", "image_load v[0:3], v4, s[8:15] dmask:0x7 tfe",
     "v0x4 <- v4x1 v0x4 s8x8 | tfe dmask:0x7"},
    // Graphics.
    {Target::gfx600, "051800f801000300", "exp mrt0 v1, off, v3, off done vm", "- <- v1x1 - v3x1 - | done vm"},
    {Target::gfx803, "01160cd4", "v_interp_p1_f32_e32 v3, v1, attr5.z", "v3x1 <- v1x1 |"},
};

// gfx10 and later. M0 is s124 and NULL s125 in all of them.
const Case kRdnaCases[] = {
    // SMEM: register and immediate are added, NULL is no register; a number in SDATA's place.
    {Target::gfx1010, "08000cf4000000fa", "s_load_dwordx8 s[0:7], s[16:17], null", "s0x8 <- s16x2 - |"},
    {Target::gfx1010, "6b4240f49cd30c30", "s_store_dword s9, s[86:87], s24 offset:0xcd39c dlc",
     "- <- s86x2 s24x1 s9x1 | offset:840604 soffset dlc"},
    {Target::gfx1030, "9b1498f4060000fa", "s_atc_probe 0x52, s[54:55], 0x6", "- <- s54x2 - | offset:6"},
    {Target::gfx1100, "205f04f4a54b17f8", "s_load_b64 null, s[64:65], -0x8b45b glc",
     "s125x2 <- s64x2 - | offset:-570459 glc"},
    {Target::gfx1100, "027f2cf4f50000f8", "s_buffer_load_b256 null, s[4:7], 0xf5 glc dlc",
     "s125x2 <- s4x4 - | offset:245 glc dlc"},
    {Target::gfx1200, "266cc0f44f99a882",
     "s_load_b256 s[48:55], s[76:77], s65 offset:-0x5766b1 th:TH_LOAD_NT scope:SCOPE_DEV",
     "s48x8 <- s76x2 s65x1 | offset:-5727921 soffset scope:2 th:1"},
    {Target::gfx1200, "c0a504f47718e14c", "s_prefetch_inst_pc_rel -0x1ee789, s38, 23",
     "- <- - s38x1 | offset:-2025353 soffset"},
    // DS: GDS has another bit than on gfx9, and is gone from gfx12.
    {Target::gfx1010, "59a104d8b5f50200", "ds_sub_u32 v181, v245 offset:41305",
     "- <- v181x1 v245x1 | offset:41305"},
    {Target::gfx1030, "82a406d87a000000", "ds_sub_u32 v122, v0 offset:42114 gds",
     "- <- v122x1 v0x1 | offset:42114 gds"},
    {Target::gfx1100, "50b6ead9000000ce", "ds_add_gs_reg_rtn v[206:207], v0 offset:46672 gds",
     "v206x2 <- - v0x1 | offset:46672 gds"},
    {Target::gfx1200, "cf2f84dbc0000000", "ds_bvh_stack_push8_pop1_rtn_b32 v0, v192, v0, v[0:7] offset:12239",
     "v0x1 <- v192x1 v0x1 v0x8 | offset:12239"},
    {Target::gfx1100, "bc7304ce", "lds_param_load v188, attr28.w wait_vdst:4",
     "v188x1 <- | attr:28,3 va_vdst:4"},
    {Target::gfx1200, "1c3184ce", "ds_param_load v28, attr12.y wait_va_vdst:4 wait_vm_vsrc:1",
     "v28x1 <- | attr:12,1 va_vdst:4 vm_vsrc"},
    {Target::gfx1200, "700011ce", "ds_direct_load v112 wait_va_vdst:1 wait_vm_vsrc:0",
     "v112x1 <- | va_vdst:1"},
    // FLAT, GLOBAL, SCRATCH: 11, 12, 13 and 24 bits of offset; SVE; scratch without an address.
    {Target::gfx1010, "c81327dcb2007d00", "flat_load_sbyte v0, v[178:179] offset:968 glc slc dlc",
     "v0x1 <- v178x2 | offset:968 glc slc dlc"},
    {Target::gfx1010, "288834dc54004ecd", "global_load_dwordx2 v[205:206], v84, s[78:79] offset:-2008",
     "v205x2 <- v84x1 - s78x2 | offset:-2008"},
    {Target::gfx1010, "0aa72cdc72007d00", "global_load_sshort v[114:115], off offset:1802 lds",
     "- <- v114x2 - - | offset:1802 lds"},
    {Target::gfx1030, "1e5025dc00007f7e", "scratch_load_sbyte v126, off, off offset:30 glc dlc",
     "v126x1 <- - - - | offset:30 glc dlc"},
    {Target::gfx1030, "4c9658dc00000800", "global_load_dword_addtid v0, s[8:9] offset:1612 dlc",
     "v0x1 <- - - s8x2 | offset:1612 dlc"},
    {Target::gfx1100, "b2f345dcce00bb8e", "scratch_load_i8 v142, v206, s59 offset:-3150 glc slc dlc",
     "v142x1 <- v206x1 - s59x1 | offset:-3150 glc slc dlc sve"},
    {Target::gfx1200, "5c0015ed0000004d00f94e08", "scratch_store_block off, v[154:185], s92 offset:544505",
     "- <- - v154x32 s92x1 | offset:544505"},
    {Target::gfx1200, "7cc01cee00006c0e4a21c9bc",
     "global_atomic_ordered_add_b64 v[74:75], v[28:29], off offset:-4404959 th:TH_ATOMIC_CASCADE_NT "
     "scope:SCOPE_SYS",
     "- <- v74x2 v28x2 - | offset:-4404959 scope:3 th:6"},
    {Target::gfx1200, "7cc00aee0000380000000000", "global_inv th:TH_LOAD_LU scope:SCOPE_DEV",
     "- <- | scope:2 th:3"},
    // Buffers: an eighth opcode bit; TFE, OFFEN and IDXEN moved; the unified format.
    {Target::gfx1010, "00b01ce2bf980580",
     "buffer_store_format_d16_xyzw v[152:153], v[191:192], s[20:23], 0 idxen offen dlc",
     "- <- v191x2 v152x2 s20x4 s128x1 | dlc offen idxen"},
    {Target::gfx1010, "cb3cf9e8ac5d169d",
     "tbuffer_load_format_xy v[93:94], v[172:173], s[88:91], 29 format:[BUF_FMT_10_11_11_SNORM] idxen offen "
     "offset:3275",
     "v93x2 <- v172x2 - s88x4 s157x1 | offset:3275 offen idxen format:31"},
    {Target::gfx1010, "95f7bae912b0042a",
     "tbuffer_load_format_xyz v[176:178], v[18:19], s[16:19], s42 format:[BUF_FMT_2_10_10_10_SINT] idxen "
     "offen "
     "offset:1941 glc dlc",
     "v176x3 <- v18x2 - s16x4 s42x1 | offset:1941 glc dlc offen idxen format:55"},
    {Target::gfx1100, "0070dce000000000", "buffer_atomic_csub_u32 v0, off, s[0:3], s0 glc slc dlc",
     "v0x1 <- - v0x1 s0x4 s0x1 | glc slc dlc"},
    {Target::gfx1200, "32c045c4d0a88080889b7b78",
     "buffer_load_b128 v[208:212], v136, s[84:87], s50 idxen offset:7895963 tfe",
     "v208x5 <- v136x1 v208x5 s84x4 s50x1 | offset:7895963 tfe idxen"},
    {Target::gfx1200, "7dc023c42f40bc810085d509",
     "tbuffer_store_d16_format_xyzw v[47:48], v0, s[32:35], m0 format:[BUF_FMT_8_USCALED] idxen "
     "offset:644485 "
     "th:TH_STORE_BYPASS scope:SCOPE_SYS",
     "- <- v0x1 v47x2 s32x4 s124x1 | offset:644485 idxen scope:3 th:3 format:3"},
    {Target::gfx1200, "69400dc4992090407c828249",
     "buffer_atomic_add_u32 v153, v124, s[16:19], s105 offen offset:4817538 th:TH_ATOMIC_RETURN",
     "v153x1 <- v124x1 v153x1 s16x4 s105x1 | offset:4817538 offen th:1"},
    // Images: the dimension decides the address's span; A16, G16; lists of registers, whose last may go on.
    {Target::gfx1010, "9184bff3dc08f102",
     "image_sample_c_cd_cl_o_g16 v[8:9], v[220:229], s[68:75], s[92:95] dmask:0x4 dim:SQ_RSRC_IMG_3D slc dlc "
     "r128 tfe lwe",
     "v8x2 <- v220x10 v8x2 s68x4 s92x4 | slc dlc tfe dmask:0x4 dim:2"},
    {Target::gfx1010, "009f08f094e01640",
     "image_load_pck v[224:227], v148, s[88:95] dmask:0xf dim:SQ_RSRC_IMG_1D unorm r128 a16",
     "v224x4 <- v148x1 - s88x4 | unorm a16 dmask:0xf"},
    {Target::gfx1030, "ba33b9f064fb16c0e729d35f",
     "image_sample_c_b_cl  v[251:252], [v100, v231, v41, v211, v95], s[88:95], s[0:3] dmask:0x3 "
     "dim:SQ_RSRC_IMG_2D_MSAA_ARRAY unorm glc dlc a16 tfe d16",
     "v251x2 <- v100x1 v251x2 s88x8 s0x4 | glc dlc tfe unorm d16 a16 dmask:0x3 dim:7 [100,231,41,211,95]"},
    {Target::gfx1030, "079f98f1387d1500790c4b5c9a857c20250c0000",
     "image_bvh_intersect_ray v[125:128], [v56, v121, v12, v75, v92, v154, v133, v124, v32, v37, v12], "
     "s[84:87]",
     "v125x4 <- v56x1 - s84x4 | unorm dmask:0xf [56,121,12,75,92,154,133,124,32,37,12]"},
    {Target::gfx1030, "019f9cf1dc4c0640", "image_bvh64_intersect_ray v[76:79], v[220:228], s[24:27] a16",
     "v76x4 <- v220x9 - s24x4 | unorm a16 dmask:0xf"},
    {Target::gfx1100, "150220f1102910182f8d561a",
     "image_sample_b_cl_o  v41, [v16, v47, v141, v86, v[26:27]], s[64:71], s[24:27] dmask:0x2 "
     "dim:SQ_RSRC_IMG_2D_ARRAY",
     "v41x1 <- v16x1 - s64x8 s24x4 | dmask:0x2 dim:5 [16,47,141,86,26,27]"},
    {Target::gfx1100, "1c0860f0120b0100",
     "image_msaa_load v[11:14], v[18:21], s[4:11] dmask:0x8 dim:SQ_RSRC_IMG_2D_MSAA_ARRAY",
     "v11x4 <- v18x4 - s4x8 | dmask:0x8 dim:7"},
    {Target::gfx1100, "818f68f0c99e12001b8240b4",
     "image_bvh64_intersect_ray v[158:161], [v[201:202], v27, v[130:132], v[64:66], v[180:182]], s[72:75]",
     "v158x4 <- v201x2 - s72x4 | unorm dmask:0xf [201,202,27,130,131,132,64,65,66,180,181,182]"},
    {Target::gfx1200, "5000c1d398a0580057000000",
     "image_load_mip_pck v[152:155], v87, s[80:87] dmask:0xf dim:SQ_RSRC_IMG_1D th:TH_LOAD_RT_NT "
     "scope:SCOPE_DEV r128 a16",
     "v152x4 <- v87x1 - s80x4 | a16 dmask:0xf scope:2 th:5 [87]"},
    {Target::gfx1200, "02c0e1d0c7b80000ba3c0000",
     "image_atomic_pk_add_bf16 v[199:200], [v186, v60, v0], s[92:99] dmask:0x3 dim:SQ_RSRC_IMG_3D",
     "- <- v186x1 v199x2 s92x8 | dmask:0x3 dim:2 [186,60,0]"},
    {Target::gfx1200, "1040e0d3003000a56bbd1c80",
     "image_bvh8_intersect_ray v[0:9], [v[107:108], v[189:190], v[28:30], v[128:130], v165], s[24:27]",
     "v0x10 <- v107x2 - s24x4 | dmask:0xf [107,108,189,190,28,29,30,128,129,130,165]"},
    {Target::gfx1200, "020007e564180806c618cb20",
     "image_sample_d v100, [v198, v24, v203, v[32:37]], s[12:19], s[12:15] dmask:0x4 dim:SQ_RSRC_IMG_3D "
     "scope:SCOPE_DEV",
     "v100x1 <- v198x1 - s12x8 s12x4 | dmask:0x4 scope:2 dim:2 [198,24,203,32,33,34,35,36,37]"},
    // Graphics.
    {Target::gfx1010, "2f0600f8aae30000", "exp param2 v170, v170, v227, v227 compr",
     "- <- v170x1 v170x1 v227x1 v227x1 |"},
    {Target::gfx1200, "f72000f82408eb00", "export pos3 v36, v8, v235, off row_en",
     "- <- v36x1 v8x1 v235x1 - | row_en"},
};

std::vector<Case> all_cases() {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.insert(cases.end(), std::begin(kRdnaCases), std::end(kRdnaCases));
  return cases;
}

TEST(DecodeMemory, ContentsFollowTheRoles) {
  for (const Case& test : all_cases()) {
    SCOPED_TRACE(fmt::format("{} {} {}", info(test.target).name, test.hex, test.text));
    const std::vector<uint8_t> code = from_hex(test.hex);
    const Result<Inst> inst = decode(test.target, Bytes(code.data(), code.size()));
    ASSERT_TRUE(inst.ok()) << inst.error().message;
    EXPECT_EQ(disassemble(test.target, *inst), test.text);
    EXPECT_EQ(describe(*inst), test.contents);
    EXPECT_EQ(inst->size, code.size());
  }
}

TEST(DecodeMemory, CodeThatEndsWithinTheInstructionIsMalformed) {
  for (const Case& test : all_cases()) {
    SCOPED_TRACE(fmt::format("{} {}", info(test.target).name, test.text));
    const std::vector<uint8_t> code = from_hex(test.hex);
    for (size_t size = 0; size < code.size(); size++)
      EXPECT_FALSE(decode(test.target, Bytes(code.data(), size)).ok()) << size << " bytes";
  }
}

TEST(DecodeMemory, RegistersOutsideTheFilesAreMalformed) {
  const std::pair<Target, const char*> cases[] = {
      {Target::gfx900, "000054e000ff0080"},           // refused: buffer_load_dwordx2 v[255:256]
      {Target::gfx900, "000050dcff000001"},           // refused: address v[255:256]
      {Target::gfx900, "000054e000001f80"},           // resource s[124:127]
      {Target::gfx900, "021a12c000000000"},           // s[104:119] of s_load_dwordx16
      {Target::gfx900, "000050e0000000ff"},           // literal as SOFFSET
      {Target::gfx600, "ff0200c0"},                   // literal offset, which came with gfx7
      {Target::gfx1010, "00c008e0000000ff"},          // literal as SOFFSET (it crashes LLVM 22)
      {Target::gfx1010, "1e5025dc00007f7e"},          // scratch without an address, which came with gfx10.3
      {Target::gfx1010, "280150f0ff580100"},          // refused: image address v[255:257]
      {Target::gfx1010, "9ab3f8f0c4e9d4005fd851f0"},  // eight addresses, five register numbers
      {Target::gfx1200, "020007e564180806c618cbfb"},  // refused: image address v[251:256]
      {Target::gfx1100, "1d00c8f4000000f8"},          // unknown opcode
      {Target::gfx1200, "5c0015ed0000007f00f94e08"},  // refused: v[254:285]
  };
  for (const auto& [target, hex] : cases) {
    const std::vector<uint8_t> code = from_hex(hex);
    const Result<Inst> inst = decode(target, Bytes(code.data(), code.size()));
    ASSERT_FALSE(inst.ok()) << hex << " " << disassemble(target, *inst);
    EXPECT_EQ(inst.error().code, ErrorCode::malformed);
  }
}

bool is_memory(Format format) {
  return format == Format::SMRD || format == Format::SMEM || format == Format::VINTRP || format >= Format::DS;
}

// Any bits decode or fail; what decodes stays inside the register files.
TEST(DecodeMemory, WhatDecodesIsInBounds) {
  uint64_t state = 1;
  const auto random = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(state >> 32);
  };
  int decoded = 0;
  for (int i = 0; i < 400000; i++) {
    const auto target = Target(i % kTargetCount);
    const uint32_t words[5] = {random() | 0xc0000000u, random(), random(), random(), random()};
    const Result<Inst> inst = decode(target, Bytes(words, sizeof(words)));
    if (!inst.ok() || !is_memory(inst->format)) continue;
    decoded++;
    for (const auto& operand : {inst->dst[0], inst->src[0], inst->src[1], inst->src[2], inst->src[3]}) {
      if (!operand.present()) {
        EXPECT_EQ(operand.dwords, 0);
        continue;
      }
      const bool scalar_register = operand.code < 128,
                 constant = operand.code < kVgprBase && !scalar_register;
      const int limit = operand.is_agpr()   ? kAgprBase + 256
                        : operand.is_vgpr() ? kAgprBase
                        : constant          ? 256
                                            : 128;
      EXPECT_GE(operand.dwords, 1);
      EXPECT_LE(operand.code + operand.dwords, limit) << disassemble(target, *inst);
    }
    EXPECT_FALSE(disassemble(target, *inst).empty());
  }
  EXPECT_GT(decoded, 50000);
}

}  // namespace
}  // namespace morgana::isa
