#include "kmt/alias.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "device/guest_access.h"
#include "device/held_pages.h"
#include "kmt/nodes.h"
#include "runtime/mappings.h"

namespace morgana::kmt {
namespace {

constexpr uint64_t kPiece = 64 * 1024;
constexpr uint64_t kNearStack = 256 * 1024;

// Pages of one kind: shared ones are of one mapping.
struct Stretch {
  uint64_t begin = 0, end = 0;
  bool is_shared = false;
};

// [begin, end) in its parts. Empty: some of it is not there, or cannot be written.
std::vector<Stretch> stretches(uint64_t begin, uint64_t end) {
  std::vector<Stretch> list;
  uint64_t covered = begin;
  runtime::visit_mappings([&](const runtime::Mapping& mapping) {
    if (mapping.end <= covered) return true;
    if (mapping.begin > covered || !mapping.is_writable) return false;
    const uint64_t until = std::min(mapping.end, end);
    if (!mapping.is_shared && !list.empty() && !list.back().is_shared)
      list.back().end = until;
    else
      list.push_back({covered, until, mapping.is_shared});
    covered = until;
    return covered < end;
  });
  if (covered < end) list.clear();
  return list;
}

// Whether any of [begin, end) lies in the mapping of the calling thread's stack.
bool is_on_stack(uint64_t begin, uint64_t end) {
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  bool found = false;
  runtime::visit_mappings([&](const runtime::Mapping& mapping) {
    if (frame >= mapping.end) return true;
    found = begin < mapping.end && end > mapping.begin;
    return false;
  });
  return found;
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

// Maps the pages once more, at `at` or (0) where there is room.
uint64_t map_again(uint64_t address, uint64_t size, uint64_t at) {
  const uint64_t begin = address / kPage * kPage, end = (address + size + kPage - 1) / kPage * kPage;
  // Below the caller's frame lies the stack that this function itself writes.
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (begin < frame + kPage && end > frame - kNearStack) return 0;
  const std::vector<Stretch> list = stretches(begin, end);
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

bool DeferredAliases::add(uint64_t address, uint64_t size, uint64_t at) {
  const uint64_t end = address + size;
  const bool is_copied = is_on_stack(address, end);
  if (!is_copied && stretches(address, end).empty()) return false;
  std::lock_guard lock(mutex_);
  waiting_.insert_or_assign(at,
                            Alias{address, size, is_copied ? Alias::Kind::copied : Alias::Kind::movable, {}});
  count_ = waiting_.size();
  return true;
}

void DeferredAliases::remove(uint64_t at) {
  std::lock_guard lock(mutex_);
  waiting_.erase(at);
  count_ = waiting_.size();
}

uint64_t DeferredAliases::pages_of(uint64_t at, uint64_t bytes) {
  if (count_ == 0) return at;
  std::lock_guard lock(mutex_);
  const auto above = waiting_.upper_bound(at);
  if (above == waiting_.begin()) return at;
  const auto& [begin, alias] = *std::prev(above);
  const uint64_t offset = at - begin;
  return offset < alias.size && bytes <= alias.size - offset ? alias.address + offset : at;
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
  if (count_ == 0) return;
  std::lock_guard lock(mutex_);
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    auto& [at, alias] = *it;
    if (alias.kind == Alias::Kind::movable) {
      if (make_alias_at(alias.address, alias.size, at)) {
        it = waiting_.erase(it);
        continue;
      }
      alias.kind = Alias::Kind::refused;
    }
    if (alias.kind == Alias::Kind::copied) {
      if (alias.last.empty() && mmap(reinterpret_cast<void*>(at), alias.size, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
        alias.last.resize(alias.size);
      carry(alias.address, at, alias.last);
    }
    ++it;
  }
  count_ = waiting_.size();
}

void DeferredAliases::after_kernel() {
  if (count_ == 0) return;
  std::lock_guard lock(mutex_);
  for (auto& [at, alias] : waiting_)
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
