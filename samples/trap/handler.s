// A trap handler: writes what it was called for to the memory that TMA shows, and goes on behind it.
//
// Memory: [0] how often it was entered; from byte 32 a record of 32 bytes each time: TTMP0, TTMP1, TRAPSTS, STATUS.
// One wave at a time: nothing here is atomic. Byte 16 holds a lane of v0 meanwhile (gfx6, gfx7, gfx10 and later).
// gfx12 has other registers: STATE_PRIV takes STATUS's place, and its two EXCP_FLAG registers are put together as TRAPSTS.

.include "waits.inc"

.macro address_of_memory
.if .amdgcn.gfx_generation_number >= 11
  s_sendmsg_rtn_b64 ttmp[4:5], sendmsg(MSG_RTN_GET_TMA)
  wait_for_all
.elseif .amdgcn.gfx_generation_number >= 9
  s_getreg_b32 ttmp4, hwreg(18)  // TMA_LO
  s_getreg_b32 ttmp5, hwreg(19)  // TMA_HI
.else
  s_mov_b64 ttmp[4:5], tma
.endif
.endm

.macro causes
.if .amdgcn.gfx_generation_number >= 12
  s_getreg_b32 ttmp2, hwreg(HW_REG_WAVE_STATE_PRIV)  // first: what follows changes SCC
  s_getreg_b32 ttmp3, hwreg(HW_REG_WAVE_EXCP_FLAG_PRIV, 4, 1)  // a memory violation
  s_lshl_b32 ttmp3, ttmp3, 8
  s_getreg_b32 ttmp6, hwreg(HW_REG_WAVE_EXCP_FLAG_USER, 0, 7)
  s_or_b32 ttmp3, ttmp3, ttmp6
.else
  s_getreg_b32 ttmp2, hwreg(HW_REG_STATUS)
  s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)
.endif
.endm

// gfx8 and gfx9 store scalars.
.macro record_by_scalars
  s_load_dword ttmp6, ttmp[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_add_u32 ttmp7, ttmp6, 1
  s_store_dword ttmp7, ttmp[4:5], 0x0
  s_lshl_b32 ttmp6, ttmp6, 5
  s_add_u32 ttmp4, ttmp4, ttmp6
  s_addc_u32 ttmp5, ttmp5, 0
  s_store_dwordx2 ttmp[0:1], ttmp[4:5], 0x20
  s_store_dword ttmp3, ttmp[4:5], 0x28
  s_store_dword ttmp2, ttmp[4:5], 0x2c
  s_waitcnt lgkmcnt(0)
  s_dcache_wb
.endm

// Before and after, a lane of v0 does it.
.if .amdgcn.gfx_generation_number >= 12
  .set word3, 0x30016000  // FORMAT, OOB_SELECT
.elseif .amdgcn.gfx_generation_number >= 10
  .set word3, 0x31016000
.else
  .set word3, 0x27000
.endif
// On gfx12 the ids of the kernel's work-group lie in TTMP7 and TTMP9.
.if .amdgcn.gfx_generation_number >= 10
  .set memory, 12
  .set mask, 10
.else
  .set memory, 8
  .set mask, 6
.endif
.macro move_v0 how, offset
.if .amdgcn.gfx_generation_number >= 12
  buffer_\how\()_b32 v0, off, ttmp[memory:memory+3], null offset:\offset
.else
  buffer_\how\()_dword v0, off, ttmp[memory:memory+3], 0 offset:\offset
.endif
.endm
.macro store value, offset
  v_mov_b32 v0, \value
  move_v0 store, \offset
  wait_for_all
.endm
.macro record_by_a_lane
  s_mov_b64 ttmp[memory:memory+1], ttmp[4:5]
  s_mov_b32 ttmp[memory+2], -1
  s_mov_b32 ttmp[memory+3], word3
  s_mov_b64 ttmp[mask:mask+1], exec
  s_mov_b64 exec, 1
  move_v0 store, 16
  s_load_dword ttmp5, ttmp[memory:memory+1], 0x0
  wait_for_all
  s_lshl_b32 ttmp4, ttmp5, 5
  s_add_u32 ttmp5, ttmp5, 1
  store ttmp5, 0
  s_add_u32 ttmp[memory], ttmp[memory], ttmp4
  s_addc_u32 ttmp[memory+1], ttmp[memory+1], 0
  store ttmp0, 32
  store ttmp1, 36
  store ttmp3, 40
  store ttmp2, 44
  s_sub_u32 ttmp[memory], ttmp[memory], ttmp4
  s_subb_u32 ttmp[memory+1], ttmp[memory+1], 0
  move_v0 load, 16
  wait_for_all
  s_mov_b64 exec, ttmp[mask:mask+1]
.endm

.text
.globl trap_entry
.type trap_entry,@function
.p2align 8
trap_entry:
  causes
  address_of_memory
.if .amdgcn.gfx_generation_number == 8 || .amdgcn.gfx_generation_number == 9
  record_by_scalars
.else
  record_by_a_lane
.endif
  // The exceptions are dealt with. PC is that of s_trap itself, but of the next instruction after an exception.
.if .amdgcn.gfx_generation_number >= 12
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_EXCP_FLAG_PRIV, 4, 1), 0
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_EXCP_FLAG_USER, 0, 7), 0
  s_lshr_b32 ttmp6, ttmp1, 28  // the trap's id; 0: an exception
.else
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0
  s_bfe_u32 ttmp6, ttmp1, 0x80010
.endif
  s_cbranch_scc0 resume
  s_add_u32 ttmp0, ttmp0, 4
  s_addc_u32 ttmp1, ttmp1, 0
resume:
  s_and_b32 ttmp1, ttmp1, 0xffff
.if .amdgcn.gfx_generation_number >= 12
  s_setreg_b32 hwreg(HW_REG_WAVE_STATE_PRIV), ttmp2
.else
  s_setreg_b32 hwreg(HW_REG_STATUS), ttmp2
.endif
  s_rfe_b64 ttmp[0:1]
.size trap_entry, . - trap_entry
