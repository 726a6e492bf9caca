// Loops lane by lane (translate_serial.cpp) in kernels that count: lines are those of a wave, whose lanes are
// side by side. Each lane therefore makes a few iterations at most and records where it accesses memory; when
// all have, what they did in the same iteration is counted as one access of the wave, and those that have not
// left the loop go on as the wave.
#include <algorithm>

#include "device/jit/memory_access.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

// Of one lane, before the next one's: a multiple of the copies of a loop (translate_serial.cpp).
constexpr uint32_t kIterations = 16;
constexpr uint32_t kRecords = kIterations * kLanes;  // of an access
constexpr uint32_t kWordsOfLanes = kLanes * sizeof(uint32_t) / sizeof(uint64_t);

// Behind which block of the loop lanes may have left it, counted from the first.
size_t last_of_all(const Flow& flow, const Loop& loop) {
  const auto writes_exec = [&](uint32_t index) { return flow.last(flow.blocks[index]).writes_exec; };
  return static_cast<size_t>(std::ranges::find_if(loop.blocks, writes_exec) - loop.blocks.begin());
}

}  // namespace

// A wave that executes such a loop executes each of its blocks in every iteration, whoever is active; lanes
// leave behind one of them, and access nothing further on.
bool Translator::may_count(const SerialLoop& serial) const {
  const auto& blocks = serial.loop.blocks;
  if (!key_.full_wave || key_.private_memory || serial.is_strip || serial.writes_memory) return false;
  const auto writes_exec = [](const Instruction& i) { return i.writes_exec; };
  size_t writers = 0;
  for (size_t n = 0; n < blocks.size(); n++) {
    const auto& block = flow_.blocks[blocks[n]];
    const bool is_last = n + 1 == blocks.size();
    for (const uint32_t to : block.successors)
      if (is_last ? to != serial.head() && to != serial.behind : to != blocks[n + 1]) return false;
    const Instruction* const first = &flow_.instructions[block.first];
    writers += static_cast<size_t>(std::count_if(first, first + block.count, writes_exec));
  }
  const size_t last = last_of_all(flow_, serial.loop);
  if (writers != 1 || last == blocks.size()) return false;
  return std::ranges::all_of(serial.accesses, [&](uint32_t number) {
    const Instruction& i = flow_.instructions[number];
    const auto holds = [&](uint32_t index) {
      const auto& block = flow_.blocks[index];
      return number >= block.first && number < block.first + block.count;
    };
    return i.how == How::memory && i.step->inst->row->format == isa::Format::GLOBAL &&
           std::ranges::find_if(blocks, holds) - blocks.begin() <= static_cast<ptrdiff_t>(last);
  });
}

// Where the loop is begun lane by lane.
void Translator::begin_records(const SerialLoop& loop, SerialRun& run) {
  run.pending = temporary(i64_), run.ended = temporary(i64_), run.iterations = temporary(i64_);
  run.record = temporary(ptr_);
  run.accesses = loop.accesses;
  run.records = counted_.counters;
  counted_.counters += kWordsOfLanes + kRecords * static_cast<uint32_t>(loop.accesses.size());
  for (llvm::AllocaInst* const sum : {run.pending, run.ended, run.iterations})
    b_.CreateStore(b_.getInt64(0), sum);
  b_.CreateMemSet(counter(run.records), b_.getInt8(0), kLanes * sizeof(uint32_t), llvm::Align(8));
}

void Translator::begin_lane_records(const SerialRun& run) {
  b_.CreateStore(b_.getInt64(kIterations), run.allowance);
  Value* const lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, run.remaining, b_.getTrue());
  Value* const first = field(counter(run.records + kWordsOfLanes), 0);
  // An iteration begins with the next one's place.
  b_.CreateStore(b_.CreateGEP(i64_, first, b_.CreateSub(lane, b_.getInt64(kLanes))), run.record);
}

void Translator::end_lane_records(const SerialRun& run, Value* took) {
  Value* const lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, run.remaining, b_.getTrue());
  b_.CreateStore(b_.CreateTrunc(took, i32_), b_.CreateGEP(i32_, counter(run.records), lane));
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64_, run.iterations), took), run.iterations);
}

// Where the lane accesses memory.
void Translator::record(const Instruction& i, Value* at) {
  const auto& all = recorded_->accesses;
  const auto which = static_cast<size_t>(std::ranges::find(all, number(i)) - all.begin());
  b_.CreateStore(b_.CreatePtrToInt(at, i64_),
                 field(b_.CreateLoad(ptr_, recorded_->record), which * kRecords * sizeof(uint64_t)));
}

// When all lanes have made their iterations.
void Translator::count_records(const SerialLoop& loop, const SerialRun& run) {
  each_.clear();
  Value* const longest = b_.CreateLoad(i64_, run.longest);
  Value* const lanes = b_.CreateLoad(i64_, run.iterations);
  Value* const stayed = b_.CreateSub(lanes, b_.CreateLoad(i64_, run.ended));
  const size_t last = last_of_all(flow_, loop.loop);
  for (size_t n = 0; n < loop.loop.blocks.size(); n++) {
    const auto& block = flow_.blocks[loop.loop.blocks[n]];
    count_run(block.first, block.first + block.count, n <= last ? lanes : stayed, false, longest);
  }
  for (size_t n = 0; n < run.accesses.size(); n++) {
    const Instruction& i = flow_.instructions[run.accesses[n]];
    const uint32_t size = access_bytes(isa::effects(i.step->inst->row->op).access);
    Value* const records = counter(run.records + kWordsOfLanes + kRecords * static_cast<uint32_t>(n));
    Value* const lines =
        call_library("morgana_count_records", {records, counter(run.records), longest, b_.getInt64(size)});
    count(i, What::global_bytes, lanes, size);
    count(i, What::lines, b_.CreateAnd(lines, b_.getInt64(0xffff'ffff)));
    count(i, What::least_lines, b_.CreateLShr(lines, 32));
  }
}

// Behind the loop if all lanes have left it, otherwise at its head, as the wave that comes there with them.
void Translator::go_on_serial(const SerialLoop& loop, const SerialRun& run) {
  const auto& body = flow_.blocks[loop.head()];
  Value* const pending = b_.CreateLoad(i64_, run.pending);
  Block *const all = block("all_left"), *const some = block("some_stay");
  b_.CreateCondBr(b_.CreateICmpEQ(pending, b_.getInt64(0)), all, some);
  b_.SetInsertPoint(some);
  const VectorSet vectors = (run.enters | loop.writes) & body.live_in;
  for (unsigned r = 0; r < vectors.size(); r++)
    if (vectors.test(r)) put_vgpr(r, load_row(wave_v(r), kRegisterAlign));
  for (unsigned code = 0; code < loop.set_masks.size(); code++)
    if (loop.set_masks.test(code) && run.masks.test(code)) set_mask(code, wave_mask(code));
  for (const auto& [r, holds] : supposed_)
    if (loop.writes.test(r)) b_.CreateStore(b_.getFalse(), holds);
  set_mask(isa::kExecLo, pending);
  count_serial(loop, run);
  version_ = 0;
  Block* const from = b_.GetInsertBlock();
  Block* const head =
      edge(flow_.instructions[body.first].at, flow_.last(flow_.blocks[loop.loop.blocks.back()]));
  b_.SetInsertPoint(from);
  b_.CreateBr(head);
  b_.SetInsertPoint(all);
  leave_serial(loop, run);
}

}  // namespace morgana::device::jit
