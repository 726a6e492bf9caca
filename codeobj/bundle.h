// Offload bundles: several code objects, for several GPUs, in one file.
//
// Reads clang offload bundles (`__CLANG_OFFLOAD_BUNDLE__`), compressed ones (`CCOB` versions 1 to 3, zstd and
// zlib), HIP fat binaries inside a host ELF (section `.hip_fatbin`, one bundle per translation unit) and, as
// a bundle of one, a bare code object. Immutable after parse(): any thread. Entries point into the bytes that
// were parsed, which must outlive the Bundle, or into storage that the Bundle and its copies share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "codeobj/target_id.h"

namespace morgana::codeobj {

struct BundleEntry {
  std::string id;                  // "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"
  std::string kind;                // "host", "hip", "hipv4", "openmp"; empty for a bare code object
  std::optional<TargetId> target;  // nullopt for hosts and for GPUs that have no name here
  size_t bundle = 0;               // which of several concatenated bundles
  Bytes bytes;
};

class Bundle {
 public:
  // No compressed bundle may expand beyond `limit` bytes.
  static Result<Bundle> parse(Bytes bytes, uint64_t limit = uint64_t{2} << 30);

  const std::vector<BundleEntry>& entries() const { return entries_; }

  // The entry that fits `agent` best: exact processor before generic, set features before any. not_found
  // lists what there is.
  Result<const BundleEntry*> select(const TargetId& agent) const;
  // The same for each of the concatenated bundles; those without a fitting entry are left out.
  std::vector<const BundleEntry*> select_each(const TargetId& agent) const;

 private:
  Status read_sequence(Bytes bytes, uint64_t limit);
  Result<uint64_t> read_plain(Bytes bytes);
  Result<uint64_t> read_compressed(Bytes bytes, uint64_t limit);
  const BundleEntry* best(const TargetId& agent, std::optional<size_t> bundle) const;

  std::vector<BundleEntry> entries_;
  std::vector<std::shared_ptr<const std::vector<uint8_t>>> storage_;
  size_t bundles_ = 0;
};

// Whether the bytes begin as a plain or compressed offload bundle.
bool is_bundle(Bytes bytes);

// The bundle that a `__hipFatBinaryWrapper` of this process points to, as HIP's registration functions get
// it. Trusts the pointers: they are the program's own.
Result<Bytes> fat_binary_bytes(const void* wrapper);

}  // namespace morgana::codeobj
