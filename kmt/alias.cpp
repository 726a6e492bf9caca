#include "kmt/alias.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "device/held_pages.h"

namespace morgana::kmt {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPiece = 64 * 1024;
constexpr uint64_t kNearStack = 256 * 1024;

enum class Kind { shared, anonymous, other };

// What kind of pages [begin, end) are, by /proc/self/maps. Shared pages must lie in one mapping.
Kind kind_of(uint64_t begin, uint64_t end) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return Kind::other;
  uint64_t covered = begin;
  Kind kind = Kind::other;
  bool is_first = true, ok = true;
  char line[512];
  while (ok && covered < end && std::fgets(line, sizeof line, maps) != nullptr) {
    uint64_t from = 0, to = 0, inode = 0;
    char access[5] = {};
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*s %" SCNu64, &from, &to, access, &inode) != 4)
      continue;
    if (to <= covered) continue;
    const bool is_writable = access[0] == 'r' && access[1] == 'w' && access[2] == '-';
    const Kind here = !is_writable       ? Kind::other
                      : access[3] == 's' ? Kind::shared
                      : inode == 0       ? Kind::anonymous
                                         : Kind::other;
    ok = from <= covered && here != Kind::other && (is_first || (here == kind && here == Kind::anonymous));
    kind = here;
    is_first = false;
    covered = to;
  }
  std::fclose(maps);
  return ok && covered >= end ? kind : Kind::other;
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
         mmap(piece, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(done)) !=
             MAP_FAILED;
    if (!ok) mprotect(piece, bytes, PROT_READ | PROT_WRITE);
    pages.release();
  }
  if (ok) return file;
  close(file);
  return -1;
}

namespace {

// Maps the pages once more, at `at` or (0) where there is room.
uint64_t map_again(uint64_t address, uint64_t size, uint64_t at) {
  const uint64_t begin = address / kPage * kPage, end = (address + size + kPage - 1) / kPage * kPage;
  // Below the caller's frame lies the stack that this function itself writes.
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (begin < frame + kPage && end > frame - kNearStack) return 0;
  void* const place = reinterpret_cast<void*>(at);
  void* alias = MAP_FAILED;
  switch (kind_of(begin, end)) {
    case Kind::shared:
      alias = mremap(reinterpret_cast<void*>(begin), 0, end - begin,
                     MREMAP_MAYMOVE | (at != 0 ? MREMAP_FIXED : 0), place);
      break;
    case Kind::anonymous:
      if (const int file = move_into_file(begin, end - begin); file >= 0) {
        alias =
            mmap(place, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED | (at != 0 ? MAP_FIXED : 0), file, 0);
        close(file);
      }
      break;
    case Kind::other: break;
  }
  return alias == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(alias) + (address - begin);
}

}  // namespace

uint64_t make_alias(uint64_t address, uint64_t size) { return map_again(address, size, 0); }

bool make_alias_at(uint64_t address, uint64_t size, uint64_t at) { return map_again(address, size, at) != 0; }

void remove_alias(uint64_t alias, uint64_t size) {
  const uint64_t begin = alias / kPage * kPage, end = (alias + size + kPage - 1) / kPage * kPage;
  munmap(reinterpret_cast<void*>(begin), end - begin);
}

}  // namespace morgana::kmt
