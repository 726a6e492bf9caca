// The disk cache: what the compiler made of a source is found again by the hash of everything that went into
// it.
//
// One folder per user, shared by any number of processes and threads without locks: an entry is written under
// another name and renamed, never changed, and believed only when its header and hash are right. Whatever is
// damaged or stale is removed and counts as absent. Nothing here fails a build: a cache that cannot be
// written says so once in the log (info) and is silent.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/options.h"
#include "base/result.h"
#include "runtime/cache_digest.h"

namespace morgana::runtime {

using CacheKey = Digest;

// What a build learnt about one path of the disk. An entry is valid while all its paths would answer the
// same.
struct FileStamp {
  enum class State : uint8_t { missing, present, content };
  std::string path;  // as it was asked for; relative paths belong to the process's working folder
  State state = State::missing;
  Digest digest = {};  // of the content, for State::content
};

struct CacheEntry {
  std::string object;  // code object or bitcode
  std::string log;     // the build log that came with it
  std::vector<FileStamp> files;
};

// The bytes of an entry file, and back; parsing takes any bytes. The key guards against renamed files.
std::string write_cache_entry(const CacheKey& key, const CacheEntry& entry);
Result<CacheEntry> parse_cache_entry(Bytes file, const CacheKey& key);
// The part of an entry file behind its header; exposed for the fuzzer, since a hash guards it otherwise.
Result<CacheEntry> parse_cache_body(Bytes body);

struct CacheStats {
  std::string directory;  // empty when there is no cache
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t limit = 0;  // bytes
  uint64_t hits = 0;   // of this process, as are the following
  uint64_t misses = 0;
  uint64_t stores = 0;
  uint64_t discarded = 0;  // damaged or stale entries
};

class DiskCache {
 public:
  DiskCache(std::string directory, uint64_t limit_bytes);

  // The cache that the options describe; null when it is switched off or has no place.
  static DiskCache* of_process();
  static std::string directory_of(const Options& options);

  std::optional<CacheEntry> load(const CacheKey& key);
  void store(const CacheKey& key, const CacheEntry& entry);
  CacheStats stats() const;

  std::string path_of(const CacheKey& key) const;

 private:
  struct File {
    std::string path;
    uint64_t bytes;
    int64_t time;
  };
  std::vector<File> scan() const;
  void make_room(uint64_t added);
  void complain(const std::string& what);

  const std::string directory_;
  const uint64_t limit_;
  std::mutex mutex_;  // guards total_
  std::optional<uint64_t> total_;
  std::atomic<uint64_t> hits_ = 0, misses_ = 0, stores_ = 0, discarded_ = 0;
  std::atomic<bool> complained_ = false;
};

}  // namespace morgana::runtime
