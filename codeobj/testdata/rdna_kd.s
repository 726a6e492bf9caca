// Kernel descriptors of gfx10 and later, as bytes, with a value of its own in every field; see build.sh.
.set generation, .amdgcn.gfx_generation_number

// rsrc3: SHARED_VGPR_COUNT [3:0] of wave64; INST_PREF_SIZE [9:4] or [11:4]; the bits besides that have names.
.if generation == 10
  .set rsrc3, 0
  .set shared, 3
.elseif generation == 11
  .set rsrc3, 0x800008a0
  .set shared, 3
.else
  .set rsrc3, 0x80002ba0
  .set shared, 0
.endif
// Bits 0 and 5 of the properties, the private segment's buffer and FLAT_SCRATCH, are gfx10's: six user SGPRs.
.if generation == 10
  .set flat, 0x21
  .set more, 6 << 1
.else
  .set flat, 0
  .set more, 0
.endif

.macro descriptor name, rsrc1, rsrc2, rsrc3, properties
  .type \name\().kd, @object
  .size \name\().kd, 64
\name\().kd:
  .long 1024, 48, 264, 0
  .quad -4096
  .zero 20
  .long \rsrc3, \rsrc1, \rsrc2
  .short \properties, 0
  .long 0
.endm

.section .rodata, "a"
.p2align 6
descriptor wave32, 0x44a9900b, 0x4100170f + more, rsrc3, 0xc4e | flat
descriptor wave64, 0xa0066017, 0x3e000a89 + more, rsrc3 + shared, 0x14 | flat
