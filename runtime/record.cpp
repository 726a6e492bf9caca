#include "runtime/record.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "base/log.h"
#include "base/options.h"
#include "device/guest_access.h"
#include "device/touched_pages.h"
#include "runtime/address_range.h"
#include "runtime/capsule.h"
#include "runtime/known_memory.h"
#include "runtime/recorder.h"

namespace morgana::runtime {
namespace {

using device::TouchedPages;

// How long a dispatch waits for another one to have been recorded.
constexpr std::chrono::seconds kPatience{1};
// Kernel arguments whose descriptor does not say how many there are.
constexpr uint64_t kMostKernarg = 4096;
// Behind the arguments kernels may read as many bytes more.
constexpr uint64_t kBlock = 64;
constexpr uint64_t kQueueBytes = sizeof(AmdQueue);
// Labels of allocations.
constexpr std::string_view kWrittenByCommands[] = {"buffer", "code object", "device memory", "image", "pipe"};

// What queues do besides.
std::atomic<uint64_t> works_begun{0};
std::atomic<int64_t> works{0};  // that have not ended
thread_local int64_t own_works = 0;

// Memory outside of the watched pages that the kernel can come to by its arguments: those themselves, and
// what was registered where one of them points to. It is not watched: all of it is kept.
std::vector<AddressRange> foreign_memory(const std::vector<TouchedPages::Region>& pages, uint64_t kernarg,
                                         uint64_t size) {
  std::vector<AddressRange> list;
  const auto is_watched = [&](uint64_t address) {
    return std::ranges::any_of(pages,
                               [&](const auto& region) { return address - region.begin < region.size; });
  };
  std::vector<uint64_t> words(size / sizeof(uint64_t));
  if (kernarg == 0 || !device::read_guest(words.data(), kernarg, words.size() * sizeof(uint64_t)))
    return list;
  if (!is_watched(kernarg)) list.push_back({kernarg, kernarg + size});
  for (const Allocation& one : registered_memory())
    if (!is_watched(one.address) &&
        std::ranges::any_of(words, [&](uint64_t word) { return word - one.address < one.size; }))
      list.push_back({one.address, one.address + one.size});
  return join(std::move(list));
}

bool is_zero(const uint8_t* bytes, size_t size) {
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

// Makes a capsule of one launch.
class Recording {
 public:
  Recording(Agent& agent, const DispatchPacket& packet, const device::Launch& launch)
      : agent_(agent), works_before_(works_begun.load()) {
    made_.has_others = works.load() != own_works;
    made_.target = agent.spec().processor;
    made_.launch = {.entry = launch.entry,
                    .kernel_object = packet.kernel_object,
                    .kernarg = launch.kernarg,
                    .packet = launch.packet,
                    .queue = launch.queue,
                    .dispatch_id = launch.dispatch_id,
                    .grid = launch.grid,
                    .group = launch.group,
                    .private_bytes = launch.private_bytes,
                    .group_bytes = launch.group_bytes};
    arguments_bytes_ = std::min<uint64_t>(launch.descriptor->kernarg_size, kMostKernarg);
    kernarg_bytes_ = arguments_bytes_ != 0 ? std::min(arguments_bytes_ + kBlock, kMostKernarg) : kMostKernarg;
  }

  // Watches the memory from now on.
  Status begin(const std::string& kernel, CodeImage image) {
    made_.kernel = kernel;
    made_.code_bias = image.bias;
    image_ = std::move(image.bytes);
    made_.code_object = Bytes(image_);
    global_share_ = agent_.device().global_share();
    made_.global_share = Bytes(global_share_);
    if (!device::read_guest(made_.descriptor.data(), made_.launch.kernel_object, made_.descriptor.size()))
      return make_error(ErrorCode::not_found, "the kernel's descriptor is not readable");
    keep_foreign(foreign_memory(memory_.pages(), made_.launch.kernarg, kernarg_bytes_));
    launch_key_ = key_of_launch();
    MORGANA_TRY(pages_, TouchedPages::create(memory_.pages()));
    // The program and its runtime write to these at any time.
    const device::TouchedPages::Run of_program[] = {{made_.launch.packet, sizeof(DispatchPacket), true},
                                                    {made_.launch.kernarg, kernarg_bytes_, true},
                                                    {made_.launch.queue, kQueueBytes, true}};
    MORGANA_CHECK(pages_->close(expected(), of_program));
    // What of the code is decoded already would not be read again.
    if (const Bytes code = agent_.device().code_around(made_.launch.entry); !code.empty()) {
      made_.code.push_back({reinterpret_cast<uint64_t>(code.data()), code.size()});
      pages_->touch(made_.code.back().address, code.size());
    }
    return {};
  }

  TouchedPages* pages() { return pages_.get(); }
  bool is_complete() const { return pages_->is_complete(); }

  // The launch has ended. The capsule has views of this.
  const Capsule& end(const device::Fault& fault) {
    made_.outcome = {.fault = static_cast<uint8_t>(fault.kind),
                     .is_write = fault.is_write,
                     .pc = fault.pc,
                     .address = fault.kind == device::FaultKind::memory ? fault.address : 0};
    const std::vector<Capsule::Region> made = memory_.made();
    // Still watched: whoever writes now to a page that the kernel has only read is seen.
    for (const TouchedPages::Page& page : pages_->pages()) add_page(page, made);
    pages_->open();
    share_what_others_wrote();
    for (const auto& [piece, at] : foreign_) add(piece, foreign_bytes_.data() + at);
    std::ranges::sort(made_.pieces, {}, &Capsule::Piece::address);
    name_allocations(fault);
    made_.has_others |= works_begun.load() != works_before_;
    return made_;
  }

 private:
  // Launches that are alike touch the same pages, as a rule.
  uint64_t key_of_launch() const {
    const Capsule::Launch& launch = made_.launch;
    std::vector<uint8_t> bytes(arguments_bytes_);
    if (launch.kernarg == 0 || !device::read_guest(bytes.data(), launch.kernarg, bytes.size())) bytes.clear();
    const auto append = [&](const auto& value) {
      const auto* const at = reinterpret_cast<const uint8_t*>(&value);
      bytes.insert(bytes.end(), at, at + sizeof value);
    };
    append(launch.kernel_object);
    append(launch.grid);
    append(launch.group);
    return hash_bytes(bytes.data(), bytes.size());
  }

  // `made`: allocations that are younger than the launch; who made them has written there.
  void add_page(const TouchedPages::Page& page, const std::vector<Capsule::Region>& made) {
    uint64_t at = page.address;
    const uint64_t end = at + TouchedPages::kPage;
    const auto add_up_to = [&](uint64_t to, bool is_shared) {
      if (to <= at) return;
      Capsule::Piece piece{
          .address = at, .size = static_cast<uint16_t>(to - at), .flags = 0, .after = 0, .bytes = {}};
      if (!page.is_writable) piece.flags |= Capsule::Piece::readonly;
      if (is_shared || page.is_foreign) piece.flags |= Capsule::Piece::shared;
      add(piece, page.before + (at - page.address));
      at = to;
    };
    for (const Capsule::Region& one : made) {
      if (one.address >= end || one.address + one.size <= at) continue;
      add_up_to(one.address, false);
      add_up_to(std::min(end, one.address + one.size), true);
    }
    add_up_to(end, false);
  }

  void add(Capsule::Piece piece, const uint8_t* before) {
    if ((piece.flags & Capsule::Piece::shared) == 0)
      piece.after = hash_bytes(reinterpret_cast<const void*>(piece.address), piece.size);
    if (is_zero(before, piece.size))
      piece.flags |= Capsule::Piece::zero;
    else
      piece.bytes = Bytes(before, piece.size);
    made_.pieces.push_back(piece);
  }

  // While the pieces were made.
  void share_what_others_wrote() {
    const std::vector<TouchedPages::Page> pages = pages_->pages();
    Recorder::get().remember(launch_key_, runs_of(pages));
    const std::vector<Capsule::Region> made = HeldMemory::made();
    auto page = pages.begin();
    for (Capsule::Piece& piece : made_.pieces) {
      while (page->address + TouchedPages::kPage <= piece.address) ++page;  // it is among them
      const bool is_young = std::ranges::any_of(made, [&](const Capsule::Region& one) {
        return one.address < piece.address + piece.size && piece.address < one.address + one.size;
      });
      if (!page->is_foreign && !is_young) continue;
      piece.flags |= Capsule::Piece::shared;
      piece.after = 0;
    }
  }

  void keep_foreign(const std::vector<AddressRange>& list) {
    uint64_t total = 0;
    for (const AddressRange& one : list) total += one.end - one.begin;
    foreign_bytes_.reserve(total);
    for (const AddressRange& one : list)
      for (uint64_t at = one.begin; at < one.end;) {
        const uint64_t end =
            std::min(one.end, at / TouchedPages::kPage * TouchedPages::kPage + TouchedPages::kPage);
        const auto size = static_cast<uint16_t>(end - at);
        const size_t kept = foreign_bytes_.size();
        foreign_bytes_.resize(kept + size);
        if (device::read_guest(foreign_bytes_.data() + kept, at, size))
          foreign_.push_back(
              {Capsule::Piece{.address = at, .size = size, .flags = 0, .after = 0, .bytes = {}}, kept});
        else
          foreign_bytes_.resize(kept);
        at = end;
      }
  }

  static std::vector<TouchedPages::Run> runs_of(const std::vector<TouchedPages::Page>& pages) {
    std::vector<TouchedPages::Run> runs;
    for (const TouchedPages::Page& page : pages)
      if (!page.is_foreign) append(runs, {page.address, TouchedPages::kPage, page.is_written});
    return runs;
  }

  static void append(std::vector<TouchedPages::Run>& runs, const TouchedPages::Run& next) {
    if (!runs.empty() && runs.back().begin + runs.back().size == next.begin &&
        runs.back().is_written == next.is_written)
      runs.back().size += next.size;
    else
      runs.push_back(next);
  }

  // What the launch is expected to touch. Where the program writes otherwise than by commands, its writes are
  // watched.
  std::vector<TouchedPages::Run> expected() const {
    std::vector<TouchedPages::Run> runs;
    for (const TouchedPages::Run& run : Recorder::get().expected(launch_key_)) {
      const std::vector<Allocation> all = allocations_in(run.begin, run.begin + run.size);
      auto one = all.begin();
      for (uint64_t page = run.begin, next; page < run.begin + run.size; page = next) {
        next = page + TouchedPages::kPage;
        while (one != all.end() && one->address + one->size <= page) ++one;
        bool is_written = run.is_written && one != all.end() && one->address < next;
        for (auto in = one; in != all.end() && in->address < next; ++in)
          is_written &= std::ranges::find(kWrittenByCommands, in->label) != std::end(kWrittenByCommands);
        append(runs, {page, TouchedPages::kPage, is_written});
      }
    }
    return runs;
  }

  // What lies in the pieces, and beside the address of a fault.
  void name_allocations(const device::Fault& fault) {
    std::vector<Allocation> list;
    uint64_t named = 0;  // all up to there are in the list
    for (const Capsule::Piece& piece : made_.pieces) {
      const uint64_t end = piece.address + piece.size;
      if (end <= named) continue;
      for (Allocation& one : allocations_in(std::max(piece.address, named), end)) {
        if (list.empty() || list.back().address != one.address) list.push_back(std::move(one));
        named = std::max(named, list.back().address + list.back().size);
      }
      named = std::max(named, end);
    }
    if (fault.kind == device::FaultKind::memory && fault.address < Capsule::kAddresses)
      if (auto nearest = nearest_allocation(fault.address)) list.push_back(*nearest);
    std::ranges::sort(list, {}, &Allocation::address);
    const auto last = std::ranges::unique(list, {}, &Allocation::address);
    list.erase(last.begin(), last.end());
    for (Allocation& one : list)
      made_.allocations.push_back({.address = one.address,
                                   .size = one.size,
                                   .is_freed = one.freed,
                                   .is_registered = one.registered,
                                   .label = std::move(one.label)});
  }

  Agent& agent_;
  const uint64_t works_before_;
  uint64_t arguments_bytes_ = 0;  // 0: unknown
  uint64_t kernarg_bytes_ = 0;    // that the kernel may read
  uint64_t launch_key_ = 0;
  HeldMemory memory_;
  std::unique_ptr<TouchedPages> pages_;
  std::vector<std::pair<Capsule::Piece, size_t>> foreign_;  // and where its bytes lie
  std::vector<uint8_t> foreign_bytes_, image_, global_share_;
  Capsule made_;
};

}  // namespace

bool recording_wanted() {
  static const bool wanted = [] {
    if (options().record.empty() || !Recorder::get().is_wanted()) return false;
    pthread_atfork(nullptr, nullptr, [] { works = own_works; });
    return true;
  }();
  return wanted;
}

UnrecordedWork::UnrecordedWork() : is_counted_(recording_wanted()) {
  if (!is_counted_) return;
  own_works++;
  works++;
  works_begun++;
}

UnrecordedWork::~UnrecordedWork() {
  if (!is_counted_) return;
  own_works--;
  works--;
}

device::Fault run_recorded(Agent& agent, const DispatchPacket& packet, device::Launch& launch,
                           CodePlaces& code, const std::function<device::Fault()>& run) {
  Recorder& recorder = Recorder::get();
  device::ensure_guard_installed();
  const std::string kernel = launch.watch->kernel_name();
  const auto run_alone = [&] {
    const UnrecordedWork work;
    return run();
  };
  if (!recorder.wants(kernel)) return run_alone();
  std::unique_lock one(recorder.mutex, kPatience);
  if (!one.owns_lock()) {
    if (!recorder.has_skipped.exchange(true))
      log(LogLevel::warn,
          "MORGANA_RECORD: kernel '{}' waited for long for another to be recorded; it and others that do are "
          "not",
          kernel);
    return run_alone();
  }
  if (!device::all_threads_take_faults()) {
    recorder.fail(
        "a thread of the program blocks SIGSEGV, and would end the process when it touches memory that is "
        "watched");
    return run_alone();
  }
  CodeImage image = code.code_object();
  Recording recording(agent, packet, launch);
  if (const Status begun = recording.begin(kernel, std::move(image)); !begun.ok()) {
    recorder.fail(begun.error().message);
    return run_alone();
  }
  launch.touched = recording.pages();
  const device::Fault fault = run();
  launch.touched = nullptr;
  if (!recording.is_complete()) {
    if (!recorder.has_overflown.exchange(true))
      log(LogLevel::warn,
          "MORGANA_RECORD: kernel '{}' touches memory at more places than vm.max_map_count allows to watch; "
          "it and "
          "others that do are not recorded",
          kernel);
    return fault;
  }
  const Status written = recorder.write(recording.end(fault));
  if (!written.ok()) recorder.fail(written.error().message);
  return fault;
}

}  // namespace morgana::runtime
