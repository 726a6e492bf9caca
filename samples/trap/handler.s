// A trap handler: writes what it was called for to the memory that TMA shows, and goes on behind it.
//
// Memory: [0] how often it was entered; from byte 32 a record of 32 bytes each time: TTMP0, TTMP1, TRAPSTS, STATUS.
// One wave at a time: nothing here is atomic. Byte 16 holds a lane of v0 meanwhile (gfx6 and gfx7).

.macro address_of_memory
.if .amdgcn.gfx_generation_number >= 9
  s_getreg_b32 ttmp4, hwreg(18)  // TMA_LO
  s_getreg_b32 ttmp5, hwreg(19)  // TMA_HI
.else
  s_mov_b64 ttmp[4:5], tma
.endif
.endm

// gfx8 and later store scalars.
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

// Before, a lane of v0 does it.
.macro store value, place:vararg
  v_mov_b32 v0, \value
  buffer_store_dword v0, off, ttmp[8:11], \place
  s_waitcnt vmcnt(0) expcnt(0)
.endm
.macro record_by_a_lane
  s_mov_b64 ttmp[8:9], ttmp[4:5]
  s_mov_b32 ttmp10, -1
  s_mov_b32 ttmp11, 0x27000
  s_mov_b64 ttmp[6:7], exec
  s_mov_b64 exec, 1
  buffer_store_dword v0, off, ttmp[8:11], 0 offset:16
  s_load_dword ttmp5, ttmp[8:9], 0x0
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  s_lshl_b32 ttmp4, ttmp5, 5
  s_add_u32 ttmp5, ttmp5, 1
  store ttmp5, 0
  store ttmp0, ttmp4 offset:32
  store ttmp1, ttmp4 offset:36
  store ttmp3, ttmp4 offset:40
  store ttmp2, ttmp4 offset:44
  buffer_load_dword v0, off, ttmp[8:11], 0 offset:16
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, ttmp[6:7]
.endm

.text
.globl trap_entry
.type trap_entry,@function
.p2align 8
trap_entry:
  s_getreg_b32 ttmp2, hwreg(HW_REG_STATUS)  // first: what follows changes SCC
  s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)
  address_of_memory
.if .amdgcn.gfx_generation_number >= 8
  record_by_scalars
.else
  record_by_a_lane
.endif
  // The exceptions are dealt with.
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0
  // PC is that of s_trap itself, but of the next instruction after an exception.
  s_bfe_u32 ttmp6, ttmp1, 0x80010  // the trap's id; 0: an exception
  s_cbranch_scc0 resume
  s_add_u32 ttmp0, ttmp0, 4
  s_addc_u32 ttmp1, ttmp1, 0
resume:
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_setreg_b32 hwreg(HW_REG_STATUS), ttmp2
  s_rfe_b64 ttmp[0:1]
.size trap_entry, . - trap_entry
