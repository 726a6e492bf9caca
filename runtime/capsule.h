// Capsule: one dispatch in one file, as `morgana replay` executes it again: the launch, its code, the memory
// that it touched as that was before, and hashes of what it left behind (docs/replay.md).
//
// The file, all of it little endian:
//
//   "MORGANA\n"   8 bytes
//   version       u32 = 2; a reader refuses others
//   flags         u32 = 0
//   body          u64 bytes, u64 hash_bytes() of them, the bytes
//
// The body, in this order; a text is a u32 of bytes and the bytes:
//
//   target, kernel    texts; the kernel's may be empty
//   launch            u64 entry, kernel_object, kernarg, packet, queue, dispatch_id;
//                     u32 grid[3], group[3], private_bytes (of a work-item), group_bytes (LDS)
//   descriptor        64 bytes, AMDGPUUsage "Kernel Descriptor"; the waves' MODE is in there
//   seed              u64; 0: groups were taken in the order of their indices
//   outcome           u8 device::FaultKind, u8 (1: by a write), u64 pc, u64 address
//   others            u8 (1: a queue executed something else meanwhile, which may have written there, too)
//   global share      u64 bytes (0: nothing was in there); parts as of the code object
//   code object       u64 its address less that of the file, u64 bytes (0: not known); u32 count of parts,
//   each
//                     u64 offset, u64 bytes, the bytes; by rising offset, and zeros between them
//   regions of code   u32 count; each u64 address, u64 bytes
//   allocations       u32 count; each u64 address, u64 bytes, u8 (1: freed, 2: the program's own), text
//   pieces of memory  u32 count; each u64 address, u16 bytes, u8 flags (Piece), u64 hash afterwards, and
//                     the bytes before unless they are all zero; by rising address, none across a page
//
// Nothing in it tells when or where it was made: two recordings of one dispatch with the same memory are
// equal byte for byte. Plain data: any thread.
//
// Bytes in a Capsule are views, of the file that it was read from or of what a recording keeps, which live
// longer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "runtime/content_hash.h"

namespace morgana::runtime {

struct Capsule {
  static constexpr uint32_t kVersion = 2;
  static constexpr uint64_t kPage = 4096;
  // Addresses are those of user space.
  static constexpr uint64_t kAddresses = uint64_t{1} << 47;

  struct Launch {
    uint64_t entry = 0, kernel_object = 0, kernarg = 0, packet = 0, queue = 0, dispatch_id = 0;
    std::array<uint32_t, 3> grid{1, 1, 1}, group{1, 1, 1};
    uint32_t private_bytes = 0, group_bytes = 0;
    bool operator==(const Launch&) const = default;
  };
  struct Outcome {
    uint8_t fault = 0;  // device::FaultKind
    bool is_write = false;
    uint64_t pc = 0, address = 0;
    bool operator==(const Outcome&) const = default;
  };
  struct Region {
    uint64_t address = 0, size = 0;
    bool operator==(const Region&) const = default;
  };
  struct Allocation {
    uint64_t address = 0, size = 0;
    bool is_freed = false, is_registered = false;
    std::string label;
    bool operator==(const Allocation&) const = default;
  };
  struct Piece {
    enum : uint8_t {
      zero = 1,      // all bytes were 0, and none are kept
      readonly = 2,  // the kernel may not write there
      shared = 4,    // others may have written while the kernel ran: the hash says nothing
    };
    uint64_t address = 0;
    uint16_t size = 0;  // at most a page
    uint8_t flags = 0;
    uint64_t after = 0;  // hash_bytes() of what the dispatch left
    Bytes bytes;         // `size` of them, or none
  };

  std::string target, kernel;
  Launch launch;
  std::array<uint8_t, 64> descriptor{};
  uint64_t seed = 0;
  Outcome outcome;
  bool has_others = false;
  Bytes global_share;  // Device::global_share() before; none: all zero
  std::shared_ptr<const std::vector<uint8_t>> owned_global_share;  // has them where the file does not
  uint64_t code_bias = 0;
  Bytes code_object;
  std::shared_ptr<const std::vector<uint8_t>> owned_code_object;  // has them where the file does not
  std::vector<Region> code;
  std::vector<Allocation> allocations;
  std::vector<Piece> pieces;
};

std::vector<uint8_t> write_capsule(const Capsule& capsule);
// Hands the file's bytes, in parts, to `take`, and returns what that does.
bool write_capsule(const Capsule& capsule, const std::function<bool(std::span<const Bytes> parts)>& take);
// Malformed: not such a file, damaged, or cut short; unsupported: of another version.
Result<Capsule> parse_capsule(Bytes file);
// The body alone, whose hash the caller has no need to see.
Result<Capsule> parse_capsule_body(Bytes body);

}  // namespace morgana::runtime
