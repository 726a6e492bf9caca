// Translator: a kernel's Flow to one LLVM function.
//
// Registers are allocas that mem2reg turns into values: a VGPR is <64 x i32>, EXEC, VCC and every SGPR pair
// that some instruction takes as a whole an i64, other SGPRs i32. The function enters at the kernel's
// beginning or after a barrier, with the live registers loaded from the Wave, and leaves with them stored.
// VGPRs that mostly matrix instructions use stay in the Wave, where the handler works on them, and those of
// kernels that would move them more often than access them.
// Most blocks exist in two versions (Shapes::next_versions); in that of a full EXEC nothing is masked.
// What it does not translate it calls the interpreter's handler for (one instruction, SingleStep), with just
// the registers that the operands name brought into the Wave and back. Owned by one compilation.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/jit/analysis.h"
#include "device/jit/hide_constants.h"
#include "device/jit/kernel.h"
#include "device/jit/lookups.h"
#include "device/jit/memory_access.h"
#include "device/jit/serial_loops.h"
#include "device/jit/shapes.h"
#include "device/jit/specialisation.h"
#include "device/known_phases.h"

namespace morgana::device::jit {

inline const llvm::Align kRegisterAlign(64);  // of a VGPR in the Wave

// Whether the kernel executes all waves of a group by itself.
bool loops_over_waves(const Flow& flow, const Specialisation& key);
// Of such a kernel: nothing is loaded behind the first thing that is written.
bool reads_first(const Flow& flow);
// Nobody sees registers that it does not name, and only a wave that leaves it brings any into the Wave.
bool is_closed(const Flow& flow);
// Of a closed kernel.
Kernel::Renewed renewed(const Flow& flow);

class Translator {
 public:
  Translator(llvm::Module& module, const Flow& flow, Target target, const Specialisation& key);

  // The function `kernel`, an Entry. nullptr: the library lacks something.
  llvm::Function* translate();

  // The steps that compiled code runs by the interpreter's handlers, in the order of WaveFrame::singles.
  const std::vector<const Step*>& singles() const { return singles_; }
  // Of a kernel that counts, without `code` and `target`.
  const CountedCode& counted() const { return counted_; }

 private:
  using Value = llvm::Value;
  using Block = llvm::BasicBlock;

  // --- Frame (translator.cpp) ---
  void choose_homes();
  VectorSet crowded_registers() const;
  void make_registers();
  void make_masks(const Instruction& i);
  void make_entries();
  void enter(uint32_t e);
  void enter_beginning();
  void translate_block(uint32_t index);
  // Loops lane by lane (translate_serial.cpp).
  struct StripChoice {
    llvm::GlobalVariable* refusals = nullptr;  // how many waves still go round together without trying
    llvm::AllocaInst* may = nullptr;           // whether this wave may go in strips
    // Cycles of the host when the wave began to be measured, how many iterations ago, and what they took.
    llvm::AllocaInst *began = nullptr, *turns = nullptr, *together = nullptr;
  };
  // How many waves with doubts (WaveFrame::has_doubts) believe in what one has found out.
  static constexpr uint8_t kBelief = 16;
  struct Serial {
    SerialLoop loop;
    Block *begin = nullptr, *whole[2] = {};
    llvm::GlobalVariable* hint = nullptr;  // how often still the loop begins lane by lane
    llvm::AllocaInst* entered = nullptr;   // EXEC when the wave came into a loop that writes to memory
    StripChoice strip;                     // of a strip loop
  };
  void find_serial_loops();
  void choose_serial(Serial& serial);
  void note_entered(uint32_t from);
  void translate_serial(const Serial& serial);
  // One execution of such a loop.
  struct SerialRun {
    VectorSet enters;  // registers that a lane begins with
    // Masks that somebody reads afterwards or in the next iteration; in all lanes that come in they are 0.
    ScalarSet masks;
    std::map<unsigned, Value*> before;  // masks as they were, by code
    Value* single = nullptr;            // WaveFrame::serial_step
    llvm::AllocaInst *left = nullptr, *allowance = nullptr, *longest = nullptr;  // lanes; iterations
    Value *remaining = nullptr, *bit = nullptr, *own = nullptr;  // lanes, this one's bit, and its registers
    // Where it is counted: which lanes go on afterwards, how many do not, iterations of all lanes, and where
    // this one's next access is recorded.
    llvm::AllocaInst *pending = nullptr, *ended = nullptr, *iterations = nullptr, *record = nullptr;
    uint32_t records = 0;  // the counter that they begin with, behind the lanes' iterations
    std::vector<uint32_t> accesses;
  };
  // Of loops that are counted (translate_serial_counts.cpp).
  bool may_count(const SerialLoop& loop) const;
  void begin_records(const SerialLoop& loop, SerialRun& run);
  void begin_lane_records(const SerialRun& run);
  void end_lane_records(const SerialRun& run, Value* took);
  void record(const Instruction& i, Value* at);
  void count_records(const SerialLoop& loop, const SerialRun& run);
  void go_on_serial(const SerialLoop& loop, const SerialRun& run);
  SerialRun enter_serial(const Serial& serial, Block* next);
  void begin_lane(const SerialLoop& loop, SerialRun& run, Value* remaining);
  void keep_lane(const SerialLoop& loop, const SerialRun& run, const VectorSet& vectors,
                 const ScalarSet& scalars);
  Value* wave_mask(unsigned code);
  void put_wave_mask(unsigned code, Value* bits);
  void count_serial(const SerialLoop& loop, const SerialRun& run);
  void leave_serial(const SerialLoop& loop, const SerialRun& run);
  void serial_iteration(const SerialLoop& loop, Block* begin, Block* back, Block* end,
                        llvm::AllocaInst* allowance);
  void serial_block(uint32_t index, bool is_active);
  void translate_strip(const Serial& serial);
  StripChoice make_strip_choice();
  void may_go_in_strips(const Serial& serial, Block* whole);
  void judge_strip(const Serial& serial, Value* iterations);
  void refuse_strips(const Serial& serial, uint8_t waves);
  void store_strip(const SerialLoop& loop);
  void strip_lanes(const SerialLoop& loop, const SerialRun& strip, const std::map<unsigned, Value*>& before,
                   llvm::AllocaInst* goes_on, Block* next, Block* done);
  Value* lanes_lie_apart(const SerialLoop& loop);
  void note_address(const Instruction& i, Value* range, Value* base, Value* is_first);
  void end_strips();
  void go_on_together(const SerialLoop& loop, const VectorSet& vectors, Value* exec, Block* const (&to)[2]);
  Value* serial_address(const Instruction& i);
  void serial_access(const Instruction& i);
  void serial_atomic(const Instruction& i, SerialAtomicForm form);
  Value* first_lane(Value* lanes);
  void translate_instruction(const Instruction& i);
  void execute(const Instruction& i);
  void finish_block(uint32_t index);
  void signal_group(const Instruction& i);
  void unless_complete(uint32_t to);
  Block* none_or_partial(uint32_t index, uint32_t next);
  Block* edge(uint32_t to_dword, const Instruction& last);
  Block* successor(uint32_t to) const { return blocks_[2 * to + shapes_.version_of(to, version_)]; }
  void load_vectors(const VectorSet& vectors);
  void load_live(const VectorSet& vectors, const ScalarSet& scalars);
  bool is_stored_live(unsigned r, const VectorSet& live) const {
    return vectors_[r] && live.test(r) && !homes_.test(r) && !in_wave_.test(r);
  }
  void store_live(const VectorSet& vectors, const ScalarSet& scalars);
  void count_instructions();
  void stop(Exit why);
  Block* next_wave();
  void leave(Exit why, Value* step, uint32_t entry);
  void give_way(uint32_t to);
  void put_carried(uint32_t index);
  uint32_t checkpoint_of(uint32_t index) const;
  Block* restart();
  uint32_t entry_of(uint32_t to) const;
  void subroutine(const Instruction& i);
  void ret(const Instruction& i);
  void leave_to_interpreter(const Instruction& at);

  // --- Registers ---
  // Vectors have 64 lanes. Of a wave of 32 nothing reads the upper ones in the end, so that no code is left
  // of what computes them: memory is read and written by its lower half alone.
  Value* load_row(Value* from, llvm::Align align, llvm::Type* element = nullptr);
  llvm::StoreInst* store_row(Value* lanes, Value* to, llvm::Align align);
  unsigned chunks() const { return key_.occupied / 16u; }
  // The chunk from whose address that of chunk `c` is known; any when there is no such chunk.
  unsigned base_chunk(const AddressShape& shape, unsigned c) const {
    return c < chunks() ? shape.first_chunk(c) : 0;
  }
  // Of functions that move rows (memory_paths.h).
  std::string rows_of_kind(const Access& access) const {
    return (key_.occupied == 16 ? "quarter_" : key_.occupied == 32 ? "half_" : "") + std::string(access.kind);
  }
  Value* vgpr(unsigned place) {
    return homes_.test(place) ? load_row(vectors_[place], kRegisterAlign)
                              : b_.CreateAlignedLoad(lanes_, vectors_[place], kRegisterAlign);
  }
  void put_vgpr(unsigned place, Value* lanes) {
    if (homes_.test(place))
      store_row(lanes, vectors_[place], kRegisterAlign)->setMetadata(kHome, llvm::MDNode::get(context_, {}));
    else
      b_.CreateAlignedStore(lanes, vectors_[place], kRegisterAlign);
  }
  // What the active lanes hold, without the lanes that EXEC protected: for lane-by-lane uses.
  Value* active_vgpr(unsigned place) { return unmasked_[place] ? unmasked_[place] : vgpr(place); }
  void set_vgpr(const Instruction& i, unsigned place, Value* lanes);
  void forget_unmasked(const Instruction& i);
  void forget_unmasked();
  bool is_zero(unsigned code) const;  // an SGPR that reads as 0
  Value* s32(unsigned code);
  Value* s64(unsigned code);
  void set_s32(unsigned code, Value* value);
  void set_s64(unsigned code, Value* value);
  bool is_full() const { return version_ == 1; }
  // Whether the block that is being translated runs for a partial EXEC, or for a full one among other things,
  // where nothing is lost.
  bool expects_partial() const {
    const uint32_t index = flow_.block_of(flow_.instructions[first_].at);
    return !is_full() && (blocks_[2 * index + 1] != nullptr || shapes_.version_of(index, 1) == 0);
  }
  Value* exec() {
    if (is_serial_) return s64(isa::kExecLo);
    if (is_full()) return all_lanes_;
    return is_narrow() ? b_.CreateAnd(mask(isa::kExecLo), all_lanes_) : mask(isa::kExecLo);
  }
  // The mask at SGPR `code`: of a wave of 32 lanes, an SGPR alone, which EXEC_HI and VCC_HI do not belong to.
  // The bits of lanes that a wave of 32 has not are anything, but for EXEC: a comparison's need not be cut
  // off. Those of lanes that it has and that never execute are what the guest makes of them.
  Value* mask(unsigned code);
  void set_mask(unsigned code, Value* bits);
  void put_exec(Value* bits);
  Value* known_lanes(Value* bits) { return key_.occupied < kLanes ? b_.CreateAnd(bits, all_lanes_) : bits; }
  // VCC as a number: other lanes' bits may be set in it.
  Value* whole_vcc() {
    Value* const bits = mask(isa::kVccLo);
    return is_wave32() ? b_.CreateAnd(bits, b_.getInt64(UINT32_MAX)) : bits;
  }
  void renew_mask(unsigned code) {
    if (masks_[code]) b_.CreateStore(b_.CreateZExt(s32(code), i64_), masks_[code]);
  }
  // Instructions that access memory are made one by one.
  bool looks_at_each() const { return key_.counts || key_.shows_accesses; }
  bool is_wave32() const { return key_.lanes == 32; }
  // Whether the wave has lanes that never execute.
  bool is_narrow() const { return key_.occupied < key_.lanes; }
  // Whether it is the bit of the one lane that code is made for.
  bool is_bit(unsigned code) const { return is_serial_ && bit_of_mask_.contains(code); }
  bool keeps_half(const Instruction& i) const { return isa::keeps_half(target_.generation, *i.step->inst); }
  Value* exec_lanes() { return mask_lanes(exec()); }
  Value* mask_lanes(Value* bits) { return b_.CreateBitCast(bits, bools_); }
  Value* splat(Value* value) { return b_.CreateVectorSplat(kLanes, value); }
  Value* scalar_source(const Instruction& i, int source, int dwords);
  Value* mask_source(const Instruction& i, int source);
  Value* carry_source(const Instruction& i, int source);
  Value* wave_s(unsigned code);
  Value* wave_v(unsigned place);
  Value* field(Value* base, size_t offset) { return b_.CreateConstInBoundsGEP1_64(i8_, base, offset); }
  uint32_t number(const Instruction& i) const {
    return static_cast<uint32_t>(&i - flow_.instructions.data());
  }
  Value* step_address(const Instruction& i);
  Value* pc(uint32_t dword) { return b_.CreateAdd(code_, b_.getInt64(uint64_t{dword} * 4)); }
  unsigned place(const isa::Operand& operand) const;

  // --- Instructions ---
  void scalar(const Instruction& i);
  void scalar_float(const Instruction& i);
  void exec_op(const Instruction& i);
  Value* mask_result(const Instruction& i);
  Value* scalar_call(const Instruction& i, Value* const* sources);
  Value* branch_condition(const Instruction& i);
  void vector(const Instruction& i);
  void whole_vector(const Instruction& i);
  bool compare_ends(const Instruction& i);
  void note_rising(const Instruction& i);
  // What was supposed (Shapes): whether it holds, of what an instruction is to write, or of registers.
  Value* supposed(const Instruction& i);
  Value* supposed(unsigned place, unsigned count);
  void set_supposed(const Instruction& i, Value* holds);
  void division(const Instruction& i);
  bool truth_table(const Instruction& i);
  bool scale_by_constant(const Instruction& i);
  void lane(const Instruction& i);
  void index_on(const Instruction& i);
  void indexed(const Instruction& i);
  Value* vector_source(const Instruction& i, int source, int word);
  Value* moved_source(const Instruction& i, int word);
  void swap_rows(const Instruction& i, int rows);
  void packed_move(const Instruction& i);
  void pull(const Instruction& i);
  Value* lanes_with_source(const int (&from)[kLanes]);
  void keep_unmoved(const Instruction& i, unsigned count, Value** words);
  void apply_modifiers(const Instruction& i, int source, int registers, Value** words);
  void write_result(const Instruction& i, unsigned count, Value** words);
  Value* scalar_address(const Instruction& i);
  std::vector<Value*> load_scalars(const Instruction& i);
  void scalar_load(const Instruction& i);
  void memory(const Instruction& i);
  void lds_add(const Instruction& i);
  void scratch(const Instruction& i);
  void scratch_apart(const Instruction& i);
  std::pair<Value*, Value*> scratch_start(const Instruction& i);
  bool is_in_scratch(const Instruction& i);
  Value* scratch_bytes();
  Value* lies_in_scratch(Value* offset, uint64_t bytes);
  Value* is_multiple_of(Value* number, uint32_t unit);
  Value* part_of_dwords(Value* dwords, Value* shift, const Access& access);
  Value* with_part(Value* dwords, Value* value, Value* shift, const Access& access);
  Value* lds_bytes();
  Value* lds_limit();
  Value* shaped_bases(const Instruction& i, const AddressShape& shape, const int64_t* offset, unsigned parts,
                      Value* (*at)[4]);
  void note_plain(Value* first, bool is_row, uint32_t size);
  // Accesses that are checked (translate_checks.cpp).
  Value* seen_ranges() { return b_.CreateLoad(ptr_, field(frame_, offsetof(WaveFrame, seen))); }
  struct Seen {
    Value *begin, *end;
  };
  struct Begins {
    Value *first, *span;
  };
  Seen load_seen(const Instruction& i);
  Begins load_begins(const Instruction& i);
  Value* lies_in(const Seen& seen, Value* first, Value* last, uint64_t bytes);
  Value* is_seen(const Instruction& i, Value* first, Value* last, uint64_t bytes);
  void keep_seen(const SerialLoop& loop);
  // Places in the Wave, and what they held.
  struct Held {
    std::vector<std::pair<Value*, Value*>> rows, scalars;
  };
  Held put_operands(const Instruction& i);
  void put_back(const Held& held);
  void with_operands(const Instruction& i, llvm::function_ref<Value*()> call);
  void check_shaped(const Instruction& i, const AddressShape& shape, Value* const* lowest,
                    Value* const* highest, uint64_t bytes);
  void check_lanes(const Instruction& i);
  void check_scalar(const Instruction& i, Value* address);
  void check_lane(const Instruction& i, Value* address);
  Value* lies_in_lds(const Instruction& i, uint64_t reach);
  void check_lds(const Instruction& i, uint64_t reach);
  Value* lane_addresses(const Instruction& i);
  Value* in_all_lanes(Value* is_so);
  void unless_seen(const Instruction& i, Value* seen);
  void show(const Instruction& i);
  Value* passes(const Instruction& i);
  void show_first(const Instruction& i);
  void note_times(const Instruction& i);
  void show_all(const Instruction& i);
  void show_unless_passes(const Instruction& i);
  bool looks_for_seen(const Instruction& i) const;
  // What is read that nobody has written (translate_unwritten.cpp).
  void begin_followed(uint64_t lanes);
  Value* followed(size_t k);
  void check_reads(const Instruction& i);
  void check_barrier(const Instruction& i);
  Value* is_aligned(const Instruction& i);
  Value* finds_in_lds(const Instruction& i);
  Value* in_some_lane(Value* is_so);
  void check_results(const Instruction& i);
  void leave_behind(const Instruction& i, Value* good);
  // Counts (translate_counts.cpp).
  Value* counter(uint32_t number);
  void add_to_counter(uint32_t number, Value* amount);
  void begin_counts();
  void count_run(uint32_t first, uint32_t end, Value* active, bool takes_back = false,
                 Value* executions = nullptr);
  using What = CountedAccess::What;
  struct Each {
    What what;
    uint64_t amount;
  };
  void count_each(const Instruction& i, llvm::ArrayRef<Each> all);
  void count(const Instruction& i, What what, Value* amount, uint64_t each = 1);
  void count_bytes(const Instruction& i, What what);
  void count_row(const Instruction& i, Value* first, bool is_row, uint32_t size);
  void count_shaped(const Instruction& i, const AddressShape& shape, Value* const* at);
  void count_apart(const Instruction& i, const std::array<uint32_t, kLanes>& distance, Value* first);
  Value* lines_of_sixteens(const AddressShape& shape, Value* const* at, uint32_t size);
  void count_scratch(const Instruction& i);
  void find_addresses(const Instruction& i, Value*& base, Value*& low, Value*& high);
  void show_accesses(const Instruction& i);
  void count_lines(const Instruction& i, llvm::function_ref<Value*()> rows);
  void count_lanes(const Instruction& i);
  void count_index(const Instruction& i, Value* base, Value* index, Value* is_signed);
  LdsUse lds_use(const Instruction& i) const;
  Value* phases(const Instruction& i);
  void forget_phases(const Instruction& i);
  // Ways out (translate_sections.cpp).
  void continue_section(const Instruction& i);
  void end_section(const Instruction& i);
  void begin_section(const Instruction& i);
  Block* leave_section();
  bool is_dear_to_leave(const Instruction& i);
  void leave_unless(const Instruction& i, Value* good);
  // Addresses from indices (translate_index.cpp).
  struct Index {
    const Instruction* address = nullptr;  // what computes base + (lanes << shift)
    Value *lanes = nullptr, *base = nullptr;
    unsigned shift = 0;
    bool is_signed = false;
  };
  const Instruction* writer_of(const Instruction& i, unsigned place) const;
  bool writes_zero(const Instruction& i) const;
  void note_index(const Instruction& i);
  bool load_by_index(const Instruction& i, const Access& access);
  // Kernels that stream through memory (translate_streams.cpp).
  void find_streams();
  void find_late_stores();
  void fence_streams(uint32_t first, uint32_t last);
  void load_ahead(Value* base, uint32_t size);
  void load_beside(Value* base, uint32_t size);
  void fetch_row(Value* base, uint32_t size);
  void put_row(Value* row, Value* to, Value* streams);
  Value* is_streamed(const Instruction& i, Value* base, uint32_t dwords);
  // Kernels that loop over waves (translate_waves.cpp).
  using Registers = std::vector<std::pair<llvm::AllocaInst*, Value*>>;
  void make_wave_loop();
  Registers load_common();
  void begin_wave(const Registers& common);
  void note_current(Value* wave);
  void note_group(Value* number);
  void renew_exec();
  void load_for_all();
  bool is_noted(const Instruction& i) const { return !ended_ || !reads_first_ || writes_memory(i); }
  bool is_noted_once(const Instruction& i) const;
  void note_step(const Instruction& i);
  void note_writer(const Instruction& i);
  Value* notes(const Instruction& i);
  void note_row(const Instruction& i, bool always);
  // LDS (translate_lds.cpp).
  Value* lds_by_chunk(Value* const* bases, unsigned offset);
  Value* lds_bases(const Instruction& i, const AddressShape& shape, const int64_t* offset, unsigned parts,
                   uint32_t size, Value* (*at)[4]);
  void lds_apart(const Instruction& i, const AddressShape& shape, const Access& access, const int64_t* offset,
                 unsigned parts);
  void load_apart(const Instruction& i, const AddressShape& shape, const Access& access,
                  const int64_t* offset, unsigned parts, Value* (*at)[4]);
  Value* in_place(Value* lanes);
  void store_apart(const Instruction& i, const AddressShape& shape, const Access& access,
                   const int64_t* offset, unsigned parts, Value* (*at)[4]);
  void either(Value* condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise,
              llvm::MDNode* weights = nullptr);
  // Branches to what `fast` generates when `good`, else to the interpreter's handler; both go on behind it.
  void guarded(const Instruction& i, Value* good, llvm::function_ref<void()> fast);
  Value* scalar_base(const Instruction& i);
  Value* address_word(const Instruction& i, unsigned word);
  Value* resource_holds(const Instruction& i);
  Value* wide_bases(const Instruction& i, const AddressShape& shape, bool flat, Value** bases);
  Value* narrow_bases(const Instruction& i, const AddressShape& shape, Value** bases);
  void call(const Instruction& i);
  void call_all(const Instruction& i);
  void run_single(const Instruction& i);
  void stop_unless(Value* goes_on);
  void store_rows(const Span* spans, int count);

  // --- Helpers ---
  llvm::Function* function(llvm::StringRef name);
  Value* call_library(llvm::StringRef name, llvm::ArrayRef<Value*> arguments);
  Value* call_marker(llvm::FunctionCallee marker, llvm::ArrayRef<Value*> arguments);
  llvm::AllocaInst* temporary(llvm::Type* type);
  Block* block(const char* name) { return Block::Create(context_, name, function_); }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  const Flow& flow_;
  const std::vector<SerialLoop> candidates_;  // loops that may run lane by lane
  const Shapes shapes_;
  const std::vector<bool> is_lookup_;  // by instruction
  const TargetInfo& target_;
  const Specialisation& key_;
  llvm::Type *i8_, *i32_, *i64_, *ptr_, *lanes_, *bools_;
  Value* all_lanes_;  // the mask of all lanes that ever execute

  llvm::Function* function_ = nullptr;
  Value *wave_ = nullptr, *frame_ = nullptr;
  Value* notes_ = nullptr;  // the frame that says where an access goes
  Value *steps_ = nullptr, *singles_base_ = nullptr, *registers_ = nullptr, *lds_ = nullptr,
        *limit_ = nullptr, *code_ = nullptr;
  llvm::GlobalVariable* mode_ = nullptr;
  std::vector<Value*> vectors_;  // allocas, or places in the Wave
  VectorSet homes_;              // which are the latter
  std::vector<llvm::AllocaInst*> scalars_;
  std::vector<llvm::AllocaInst*> masks_;  // of a wave of 32 lanes: of SGPRs that hold masks, beside scalars_
  std::map<unsigned, llvm::AllocaInst*> supposed_;  // by place: whether its supposed shape holds
  llvm::AllocaInst *scc_ = nullptr, *count_ = nullptr;
  llvm::AllocaInst* shown_ = nullptr;                                 // addresses of lanes, for the Observer
  llvm::AllocaInst *began_with_ = nullptr, *count_before_ = nullptr;  // EXEC and count_ at the entry
  Block* prologue_ = nullptr;
  std::vector<Block*> blocks_;         // 2 * index + version
  std::map<uint32_t, Block*> back_;    // how a loop goes back to its head, by 2 * index + version
  std::vector<uint32_t> entries_;      // 2 * index + version, by entry number
  std::vector<Block*> entry_blocks_;   // which load the registers, likewise
  unsigned version_ = 0;               // of the block that is being translated
  uint32_t first_ = 0;                 // its first instruction
  std::map<unsigned, Index> index_;    // of that block, by the address's place
  std::map<uint32_t, Serial> serial_;  // by the head's block
  bool is_serial_ = false;             // what is being translated runs for one lane: all lanes are alike
  std::map<unsigned, llvm::AllocaInst*> bit_of_mask_;  // of that lane, by the mask's code
  Block* begin_lane_anew_ = nullptr;                   // by the interpreter
  // What has been seen, by the number of an access in a loop lane by lane.
  std::map<uint32_t, std::pair<llvm::AllocaInst*, llvm::AllocaInst*>> kept_seen_;
  std::vector<Value*>
      unmasked_;  // by place: the last result, as far as this block has written one under EXEC
  // By the mask's code: the carry of a sum before the lanes that do not execute lost theirs. Its upper half
  // is computed with that one: shapes hold for all lanes.
  struct Carry {
    const Instruction* of;
    Value* bits;
  };
  std::map<unsigned, Carry> carries_;  // within a block
  std::vector<bool> may_stream_;       // by instruction: a store that may be seen late
  enum class Fetch : uint8_t { none, ahead, beside };
  std::vector<Fetch> fetch_;         // by instruction: what a load of a row fetches besides
  std::vector<Value*> loaded_rows_;  // where this block has loaded rows from
  bool has_noted_row_ = false;       // the frame says of this block's last access that it was a row
  // Instructions of this block before which accesses at an SGPR's offset are known to lie in scratch.
  std::map<std::pair<unsigned, unsigned>, uint32_t> checked_scratch_;
  VectorSet in_wave_;  // registers whose values the Wave holds too, where code is being made
  ScalarSet s_in_wave_;
  // The entry block from which nothing has changed memory or the Wave but for EXEC, where code is being made,
  // and at the ends of blocks by version. What gives a wave up there leaves it as it was.
  static constexpr uint32_t kNowhere = ~0u;
  uint32_t checkpoint_ = kNowhere;
  std::vector<uint32_t> checkpoint_at_end_;
  std::map<uint32_t, Block*> restarts_;
  // translate_sections.cpp
  struct Section {
    const Instruction* first = nullptr;  // null: the next instruction begins one
    Block* block = nullptr;              // where its code begins, behind `after` if that is not null
    llvm::Instruction* after = nullptr;
    VectorSet in_wave;  // at its beginning
    ScalarSet s_in_wave;
    Block* exit = nullptr;
    bool has_loaded = false;
  };
  Section section_;
  CountedCode counted_;
  Value* active_ = nullptr;  // how many lanes were when the block began; null: all
  // Of accesses in this block: the VGPR of the address, LdsUse::packed, where in a dword they begin.
  std::map<std::tuple<unsigned, uint64_t, uint64_t>, Value*> known_phases_;
  std::multimap<uint32_t, Each> each_;   // of its instructions, by their numbers
  const SerialRun* recorded_ = nullptr;  // the loop in translation, if it is counted
  int branches_ = 0;                     // of either() around the instruction in translation
  // Of a kernel that loops over waves: where s_endpgm leads, and what is loaded before the first one, by the
  // instruction's number.
  Block* ended_ = nullptr;
  Block* next_wave_ = nullptr;
  bool reads_first_ = false;
  std::map<uint32_t, std::vector<Value*>> loaded_for_all_;
  Value* streams_from_ = nullptr;
  Block* group_begins_ = nullptr;
  Value* group_ = nullptr;
  Value *group_x_ = nullptr, *group_yz_ = nullptr;  // of gfx12: what the TTMPs of the group's id hold
  llvm::AllocaInst* unread_ = nullptr;              // where native code notes what nobody asks for
  size_t lds_rows_inline_ = 0;                      // LDS accesses so far that try rows themselves
  size_t rows_left_ = 0;                            // that the ways out of leave_unless() store so far
  std::vector<const Step*> singles_;
};

}  // namespace morgana::device::jit
