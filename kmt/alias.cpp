#include "kmt/alias.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "device/guest_access.h"
#include "device/held_pages.h"
#include "kmt/nodes.h"
#include "runtime/mappings.h"
#include "runtime/record.h"

namespace morgana::kmt {
namespace {

constexpr uint64_t kPiece = 64 * 1024;
constexpr uint64_t kNearStack = 256 * 1024;

// Pages of one kind: shared ones are of one mapping.
struct Stretch {
  uint64_t begin = 0, end = 0;
  bool is_shared = false;
};

struct Pages {
  std::vector<Stretch> stretches;  // empty: some are not there, or cannot be written
  bool is_stack = false;           // some lie in the mapping of the calling thread's stack
};

// [begin, end) in its parts.
Pages pages_in(uint64_t begin, uint64_t end) {
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  Pages pages;
  std::vector<Stretch>& list = pages.stretches;
  uint64_t covered = begin;
  bool is_whole = true;
  runtime::visit_mappings([&](const runtime::Mapping& mapping) {
    if (mapping.end <= begin) return true;
    if (mapping.begin >= end) return false;
    pages.is_stack = pages.is_stack || (mapping.begin <= frame && frame < mapping.end);
    is_whole = is_whole && mapping.begin <= covered && mapping.is_writable;
    const uint64_t until = std::min(mapping.end, end);
    if (!mapping.is_shared && !list.empty() && !list.back().is_shared)
      list.back().end = until;
    else
      list.push_back({covered, until, mapping.is_shared});
    covered = until;
    return covered < end;
  });
  if (covered < end || !is_whole) list.clear();
  return pages;
}

}  // namespace

int move_into_file(uint64_t begin, uint64_t size) {
  const int file = memfd_create("morgana", MFD_CLOEXEC);
  if (file < 0) return -1;
  bool ok = ftruncate(file, static_cast<off_t>(size)) == 0;
  device::HeldPages pages;
  for (uint64_t done = 0; ok && done < size; done += kPiece) {
    const uint64_t bytes = std::min(kPiece, size - done);
    void* const piece = reinterpret_cast<void*>(begin + done);
    if (!pages.hold(begin + done, bytes)) {
      ok = false;
      break;
    }
    // A bare system call: a sanitizer's pwrite would object to the bytes of the pages that lie beside the
    // application's memory.
    ok = syscall(SYS_pwrite64, file, piece, bytes, done) == static_cast<long>(bytes) &&
         mmap(piece, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file,
              static_cast<off_t>(done)) != MAP_FAILED;
    if (!ok) mprotect(piece, bytes, PROT_READ | PROT_WRITE);
    pages.release();
  }
  if (ok) return file;
  close(file);
  return -1;
}

namespace {

// Maps the pages of the stretch once more at `place`, which is reserved.
bool map_stretch(const Stretch& stretch, uint64_t place) {
  const uint64_t size = stretch.end - stretch.begin;
  void* const at = reinterpret_cast<void*>(place);
  if (stretch.is_shared) {
    if (mremap(reinterpret_cast<void*>(stretch.begin), 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) ==
        MAP_FAILED)
      return false;
    madvise(at, size, MADV_POPULATE_READ);  // of Linux 5.14; before, each page faults
    return true;
  }
  const int file = move_into_file(stretch.begin, size);
  if (file < 0) return false;
  const bool ok =
      mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, 0) != MAP_FAILED;
  close(file);
  return ok;
}

// Whether any of [begin, end) may be the stack that this function itself writes.
bool is_own_stack(uint64_t begin, uint64_t end) {
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  uint64_t low = frame - kNearStack, high = frame + kPage;
  stack_t handlers{};
  if (sigaltstack(nullptr, &handlers) == 0 && (handlers.ss_flags & SS_ONSTACK) != 0) {
    low = reinterpret_cast<uint64_t>(handlers.ss_sp);
    high = low + handlers.ss_size;
  }
  return begin < high && end > low;
}

// Maps the pages once more, at `at` or (0) where there is room.
uint64_t map_again(uint64_t address, uint64_t size, uint64_t at) {
  const uint64_t begin = address / kPage * kPage, end = (address + size + kPage - 1) / kPage * kPage;
  if (is_own_stack(begin, end)) return 0;
  const std::vector<Stretch> list = pages_in(begin, end).stretches;
  if (list.empty()) return 0;
  const auto reserve = [&](uint64_t where, int flags) {
    return mmap(reinterpret_cast<void*>(where), end - begin, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  };
  void* const place = at != 0 ? reinterpret_cast<void*>(at) : reserve(0, 0);
  if (place == MAP_FAILED) return 0;
  const auto alias = reinterpret_cast<uint64_t>(place);
  if (std::ranges::all_of(list, [&](const Stretch& stretch) {
        return map_stretch(stretch, alias + (stretch.begin - begin));
      }))
    return alias + (address - begin);
  if (at == 0)
    munmap(place, end - begin);
  else
    reserve(at, MAP_FIXED);
  return 0;
}

}  // namespace

uint64_t make_alias(uint64_t address, uint64_t size) { return map_again(address, size, 0); }

bool make_alias_at(uint64_t address, uint64_t size, uint64_t at) { return map_again(address, size, at) != 0; }

DeferredAliases& DeferredAliases::get() {
  static auto* aliases = new DeferredAliases;  // outlives every static destructor: queues may still run
  return *aliases;
}

DeferredAliases::DeferredAliases() : is_recorded_(runtime::recording_wanted()) {
  device::set_page_maker([](uint64_t address) { return get().make_for(address); });
}

DeferredAliases::Aliases::iterator DeferredAliases::find(uint64_t at) {
  const auto above = aliases_.upper_bound(at);
  if (above == aliases_.begin()) return aliases_.end();
  const auto found = std::prev(above);
  return at - found->first < found->second.size ? found : aliases_.end();
}

bool DeferredAliases::add(uint64_t address, uint64_t size, uint64_t at) {
  const Pages pages = pages_in(address, address + size);
  const bool is_copied = pages.is_stack;
  if (!is_copied && pages.stretches.empty()) return false;
  std::lock_guard lock(mutex_);
  aliases_.insert_or_assign(at,
                            Alias{address, size, is_copied ? Alias::Kind::copied : Alias::Kind::movable, {}});
  lowest_ = std::min(lowest_.load(), at);
  highest_ = std::max(highest_.load(), at + size);
  count_ = aliases_.size();
  if (is_copied) ++copied_;
  return true;
}

void DeferredAliases::remove(uint64_t at) {
  std::lock_guard lock(mutex_);
  const auto found = aliases_.find(at);
  if (found == aliases_.end()) return;
  if (found->second.kind == Alias::Kind::copied) --copied_;
  aliases_.erase(found);
  count_ = aliases_.size();
}

uint64_t DeferredAliases::pages_of(uint64_t at, uint64_t bytes) {
  if (count_ == 0) return at;
  std::lock_guard lock(mutex_);
  const auto found = find(at);
  if (found == aliases_.end()) return at;
  const auto& [begin, alias] = *found;
  const uint64_t offset = at - begin;
  return alias.kind != Alias::Kind::made && bytes <= alias.size - offset ? alias.address + offset : at;
}

void DeferredAliases::make(Aliases::reference entry) {
  auto& [at, alias] = entry;
  if (alias.kind == Alias::Kind::movable)
    alias.kind = make_alias_at(alias.address, alias.size, at) ? Alias::Kind::made : Alias::Kind::refused;
}

bool DeferredAliases::make_for(uint64_t address) {
  // A recording holds what HeldPages would wait for, until the launch has ended that may be waiting here.
  if (is_recorded_ || count_ == 0 || address < lowest_ || address >= highest_) return false;
  std::lock_guard lock(mutex_);
  const auto found = find(address);
  if (found == aliases_.end()) return false;
  const bool is_late = found->second.kind == Alias::Kind::made;
  make(*found);
  if (found->second.kind != Alias::Kind::made) return false;
  // Another thread was faster, or what refused the access is something else.
  const uint64_t page = address / kPage * kPage;
  return !is_late || !pages_in(page, page + kPage).stretches.empty();
}

// Bytes that differ from what both sides had. The program may have unmapped its own.
void DeferredAliases::carry(uint64_t from, uint64_t to, std::vector<uint8_t>& last) {
  const auto* source = reinterpret_cast<const uint8_t*>(from);
  auto* target = reinterpret_cast<uint8_t*>(to);
  uint8_t* const known = last.data();
  const uint64_t size = last.size();
  device::try_guest([=] {
    for (uint64_t i = 0; i < size; ++i)
      if (source[i] != known[i]) target[i] = known[i] = source[i];
  });
}

void DeferredAliases::before_kernel() {
  const bool is_watched = is_recorded_ && count_ != 0;
  if (copied_ == 0 && !is_watched) return;
  std::lock_guard lock(mutex_);
  for (auto& entry : aliases_) {
    auto& [at, alias] = entry;
    if (is_watched) make(entry);
    if (alias.kind != Alias::Kind::copied) continue;
    if (alias.last.empty() && mmap(reinterpret_cast<void*>(at), alias.size, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
      alias.last.resize(alias.size);
    carry(alias.address, at, alias.last);
  }
}

void DeferredAliases::after_kernel() {
  if (copied_ == 0) return;
  std::lock_guard lock(mutex_);
  for (auto& [at, alias] : aliases_)
    if (!alias.last.empty()) carry(at, alias.address, alias.last);
}

// All that msync does without MS_SYNC is to look for the mappings.
bool is_mapped(uint64_t address, uint64_t size) {
  return msync(reinterpret_cast<void*>(address), size, MS_ASYNC) == 0;
}

void remove_alias(uint64_t alias, uint64_t size) {
  const uint64_t begin = alias / kPage * kPage, end = (alias + size + kPage - 1) / kPage * kPage;
  munmap(reinterpret_cast<void*>(begin), end - begin);
}

}  // namespace morgana::kmt
