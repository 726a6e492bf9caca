// The disk cache: keeps what the compiler made, under the hash of everything that went into it.
//
// A user has one folder. Any number of processes and threads share it without locks: an entry is written
// under another name, renamed, and never changed; a reader believes it only when header and hash are right.
// Entries that are damaged or stale are removed and count as absent. No build fails because of the cache:
// when it cannot be written, the log says so once.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/fork_safe.h"
#include "base/options.h"
#include "base/result.h"
#include "runtime/cache_digest.h"

namespace morgana::runtime {

using CacheKey = Digest;

// What a build learnt about one path of the disk. An entry is valid as long as all its paths would still say
// the same.
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

// An entry as the bytes of a file, and back. Parsing accepts any bytes and refuses what is no entry of this
// key, as a file that somebody renamed.
std::string write_cache_entry(const CacheKey& key, const CacheEntry& entry);
Result<CacheEntry> parse_cache_entry(Bytes file, const CacheKey& key);
// The part of an entry file behind its header. Here for the fuzzer, which could not get past the hash.
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
  ForkSafe<std::mutex> mutex_;  // guards total_
  std::optional<uint64_t> total_;
  std::atomic<uint64_t> hits_ = 0, misses_ = 0, stores_ = 0, discarded_ = 0;
  std::atomic<bool> complained_ = false;
};

}  // namespace morgana::runtime
