// The rows of hazards.def, and what kind of instruction stands in them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/observe/used_registers.h"

namespace morgana::device {

// What an instruction is to the rows; several at once.
enum class Event : uint8_t {
  valu,
  plain_valu,  // no matrix instruction, no dot product
  not_trans,
  trans,
  part,  // its result lies elsewhere in the register than it was computed: SDWA, OPSEL
  dpp,
  div_fmas,
  zero_flag,  // reads VCCZ or EXECZ
  lane_move,  // v_readlane, v_writelane
  lane_read,  // v_readlane, v_readfirstlane
  lane_any,
  permlane,
  dot,
  fma_f64,
  matrix,
  matrix32,  // all but those of f64
  xdl,
  sgemm,
  f64_matrix,
  small_f64,
  large_f64,
  no_xdl_matrix,
  no_matrix,  // VALU and memory
  acc_read,
  acc_write,
  vector,
  vector_memory,
  memory,  // with LDS
  wide_store,
  lds_dma,
  lds_direct,
  add_tid,
  scalar_memory,
  scalar_buffer,
  salu,
  scalar_relative,
  message,  // with GDS
  setreg,
  setreg_vskip,
  setreg_trapsts,
  setvskip,
  getreg,
  getreg_mode,
  rfe,
};

// Which register of the second instruction the first has to do with.
enum class Link : uint8_t {
  any,  // none
  hardware_register,
  read_scalar,
  constant_scalar,  // not as a mask
  lane_select,
  vcc,
  exec,
  m0,
  read_vector,
  read_vgpr,
  read_by_other,  // an instruction of another opcode
  read_ab_of_same,
  read_past_f64_matrix,
  write_vector,
  write_by_other,
  store_data,   // the first's data are overwritten
  overwrite_c,  // the first's C is
  matrix_ab,    // with the index of sparse ones
  matrix_c,
  matrix_c_same,
  matrix_c_overlaps,
};

struct HazardRow {
  Event first, second;
  Link link;
  std::array<uint8_t, 4> wait;  // by passes of the first: 2, 4, 8, 16
  const char* source;
};

// Those of a target.
std::vector<HazardRow> hazard_rows(Target target);

// Bits by Event.
uint64_t events_of(const TargetInfo& target, const isa::Inst& inst, const UsedRegisters& used);
constexpr uint64_t bit(Event event) { return uint64_t{1} << static_cast<uint8_t>(event); }

// Of HazardRow::wait.
size_t passes_index(const TargetInfo& target, const isa::Inst& inst);

}  // namespace morgana::device
