// What the translator knows of a kernel before it generates code: instructions with the registers they read
// and write, blocks, liveness, and which writes may drop the inactive lanes' old values.
//
// No LLVM here. Owned by one compilation.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/isa/effects.h"
#include "device/jit/library.h"
#include "device/jit/specialisation.h"
#include "device/program/program.h"
#include "device/written_registers.h"

namespace morgana::device::jit {

// VGPRs and AccVGPRs by their place behind Wave::v; scalar operand codes, and SCC.
inline constexpr int kVectorRegisters = kRegisterSlots, kScc = isa::kRegisterEnd, kScalarRegisters = kScc + 1;
using VectorSet = std::bitset<kVectorRegisters>;
using ScalarSet = std::bitset<kScalarRegisters>;

// How an instruction is executed.
enum class How : uint8_t {
  nothing,
  scalar,        // a function of semantics/scalar.h
  scalar_float,  // lane 0 of a function of the vector tables
  exec_op,       // the saveexec family
  branch,        // to `target`, conditionally
  jump,          // to `target`
  get_pc,
  subroutine,  // to `target`, or to a known one, if the operand says so
  ret,         // to where a known subroutine was called from, if the operand says so
  end,
  barrier,
  sleep,
  turn,    // the other waves of the group come up (lift/turns.h)
  vector,  // a function of the vector tables
  lane,    // readfirstlane, readlane, writelane, AccVGPR moves
  scalar_load,
  index_on,  // s_set_gpr_idx_on of one move, which follows it
  indexed,   // a move whose source or destination M0 chooses
  memory,    // a vector access with a fast path
  call,      // the interpreter's handler on the registers that the operands name
  call_all,  // the same, with the whole state
  leave,     // the interpreter goes on from here
};

struct Span {
  uint16_t first = 0;
  uint8_t count = 0;
};

// The registers of `count` spans.
VectorSet set_of(const Span* spans, int count);

struct Instruction {
  const Step* step = nullptr;
  uint32_t at = 0;  // dword in the region
  How how = How::leave;
  const VectorFunction* vector = nullptr;
  const VectorFunction* of_lane = nullptr;  // of a scalar_float
  const ScalarFunction* scalar = nullptr;
  Span v_reads[8], v_writes[3];
  uint8_t n_v_reads = 0, n_v_writes = 0;
  ScalarSet s_reads, s_writes;
  bool is_second = false;  // the second half of a VOPD: the two count as one
  bool reads_all = false, writes_all_lanes = false;
  bool crosses_lanes = false;  // reads lanes outside EXEC
  bool moves_lanes = false;  // DPP: source 0 is other lanes' value, of lanes inside EXEC unless crosses_lanes
  bool widens = false;       // may set bits of EXEC
  bool writes_exec = false;
  bool keeps_full = false;      // leaves EXEC all ones if it was
  bool merges = false;          // active lanes keep a part of the destination's old value
  bool divides = false;         // v_div_fixup whose result is source 2 / source 1 (divisions.h)
  bool is_result_dead = false;  // nobody reads what it writes to VGPRs
  bool keeps_old = true;        // inactive lanes' old values of some destination are needed afterwards
  Span indexed;                 // the VGPRs that M0 chooses from
  VectorSet live;               // before it
  ScalarSet s_live;
  uint32_t target = 0;  // dword in the region that a branch or a call goes to
};
// The target of a call whose register may hold the address of any of Flow::callees.
inline constexpr uint32_t kAnyCallee = ~0u;

// Of an instruction, where it writes EXEC whole, of a mask of either width.
const isa::Effects& effects_of(const Instruction& i);
// What EXEC becomes, of one that writes it; empty: that is not known.
const isa::Expression& exec_rule(const Instruction& i);
// What an instruction may write, and whether one register is named as a result.
VectorSet written_vectors(const Instruction& i);
bool writes_vector(const Instruction& i, unsigned place);
// Of a vector memory instruction.
inline bool writes_memory(const Instruction& i) {
  return i.step->inst->row->flags & (isa::kStore | isa::kAtomic);
}

// Of vector memory instructions that compiled code executes. addr64 (gfx6): by an address in two VGPRs beside
// the base of a resource.
inline bool is_addr64(const isa::Inst& inst) { return inst.row->format == isa::Format::MUBUF && inst.addr64; }
// To private memory.
inline bool is_scratch(const isa::Inst& inst) {
  return inst.row->format == isa::Format::SCRATCH || (inst.row->format == isa::Format::MUBUF && !inst.addr64);
}
// To memory that is known to be neither private nor LDS.
inline bool is_global(const isa::Inst& inst) {
  return inst.row->format == isa::Format::GLOBAL || is_addr64(inst);
}
// Whether lanes have addresses of 64 bits, and not of 32 in LDS or from a base on.
inline bool is_wide(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  return inst.row->format != isa::Format::DS && (is_addr64(inst) || i.step->kind[2] == Source::none);
}

// At the group's own barrier, on gfx12: code of its own, but for the last wave.
inline bool signals_group(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  return inst.row->op == isa::Op::s_barrier_signal && inst.src[0].code == isa::kInlineMinusOne;
}

// A matrix instruction, which the interpreter's handler executes.
inline bool is_matrix(const Instruction& i) {
  return i.how == How::call && (i.step->inst->row->flags & (isa::kMfma | isa::kSmfmac));
}

struct Block {
  uint32_t first = 0, count = 0;  // instructions
  std::vector<uint32_t> successors, predecessors;
  VectorSet live_in;  // all lanes or the active ones
  ScalarSet s_live_in;
  // At its beginning: registers whose values the Wave holds too. What writes a register takes it out.
  VectorSet in_wave;
  ScalarSet s_in_wave;
  // At its end: registers that the Wave is given once, before a loop with barriers that does not change them.
  VectorSet given_to_wave;
  // Of an entry: registers that must be loaded there. The others are not read before the next entry.
  VectorSet needed;
  bool is_loop_header = false;  // a back edge comes here
  bool is_entry = false;        // reached from outside: the beginning, after a barrier
};

// One of the two instructions of a VOPD. The first has no size.
struct Half {
  isa::Inst inst;
  Step step;
};

struct Flow {
  std::vector<Instruction> instructions;
  std::vector<std::unique_ptr<Half>> halves;
  std::vector<Block> blocks;
  std::vector<uint32_t> block_at;  // by dword in the region, from `base`; ~0: none starts here
  uint32_t base = 0;
  uint32_t entry_block = 0;  // where the kernel begins
  VectorSet vectors;         // registers that some instruction names
  ScalarSet scalars;
  ScalarSet wide;                                   // even codes whose pair is used as one 64-bit value
  uint8_t lanes = 64;                               // of a wave, or 32
  bool computes_wide = false;                       // FlowOptions::computes_wide
  uint8_t occupied = 64;                            // no other ones ever execute
  std::vector<uint32_t> callees;                    // dwords where known subroutines begin
  std::vector<uint32_t> returns;                    // dwords behind the calls of them
  std::shared_ptr<const WrittenRegisters> written;  // of one that checks what it loads

  // A block is translated twice where that is worth it: for an EXEC of all ones (version 1), whose code needs
  // no masks, and for any other (version 0). The version can change where an instruction writes EXEC, which
  // therefore ends its block.
  bool tests_exec = true;  // compare EXEC with all ones after it has been written

  // SGPRs that hold a mask.
  unsigned mask_dwords() const { return lanes / 32u; }
  // Where the mask begins that SGPR `code` belongs to, if it does.
  unsigned mask_at(unsigned code) const { return code & ~(mask_dwords() - 1); }
  const Instruction& last(const Block& block) const { return instructions[block.first + block.count - 1]; }
  // How many of `n` instructions from number `first` on the guest has.
  uint32_t counted(uint32_t first, uint32_t n) const {
    const auto* const begin = instructions.data() + first;
    return static_cast<uint32_t>(
        std::count_if(begin, begin + n, [](const Instruction& i) { return !i.is_second; }));
  }
  // The number of the last instruction that leads back to a loop's head.
  uint32_t last_back(const Block& head) const {
    uint32_t number = head.first;
    for (const uint32_t from : head.predecessors)
      number = std::max(number, blocks[from].first + blocks[from].count - 1);
    return number;
  }
  // At a barrier, for example, the function returns; the next block is an entry.
  bool goes_on_by_entry(const Block& block) const {
    const How how = last(block).how;
    return how == How::barrier || how == How::sleep || how == How::turn;
  }
  // The versions of its successors that version `version` of a block may lead to, as far as its last
  // instruction tells: bit 0 and bit 1.
  unsigned next_versions(const Block& block, unsigned version) const;

  uint32_t block_of(uint32_t dword) const {
    return dword < base || dword - base >= block_at.size() ? ~0u : block_at[dword - base];
  }
};

struct FlowOptions {
  uint32_t acc_base = 256;           // place of AccVGPR 0
  bool one_wave = false;             // the group has one wave: barriers do nothing
  uint8_t private_buffer = kNoSgpr;  // where the resource of private memory is kept, beside s[0:3]
  uint8_t lanes = 64;                // of a wave, or 32
  Mode mode;                         // throughout the kernel
  bool computes_wide = false;        // in the environment of MODE's f16/f64 fields, not of its f32 ones
  Allocation have{};
  bool observe_everything = false;  // registers are read after the end (tests)
};

// False: too large, or nothing that could be translated. Whatever `options` say, the Flow computes in MODE's
// f16/f64 fields where nothing in it computes in the f32 ones.
bool analyse(Program& program, const Step* entry, const Library& library, const FlowOptions& options,
             Flow& flow);

}  // namespace morgana::device::jit
