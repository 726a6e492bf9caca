#include "runtime/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/log.h"

namespace morgana::runtime {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'M', 'O', 'R', 'G', 'C', 'A', 'C', 'H'};
constexpr uint32_t kFormat = 1;
constexpr const char* kSuffix = ".entry";
constexpr const char* kTemporaryPrefix = "tmp.";

struct Header {
  char magic[8];
  uint32_t format;
  uint32_t header_size;
  CacheKey key;
  Digest body_digest;
  uint64_t body_size;
};
static_assert(sizeof(Header) == 88);

void append(std::string& out, const void* data, size_t size) {
  out.append(static_cast<const char*>(data), size);
}

void append_text(std::string& out, std::string_view text) {
  uint64_t size = text.size();
  append(out, &size, sizeof size);
  out += text;
}

// Reads forward through an entry's body.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}
  template <typename T>
  Result<T> value() {
    MORGANA_TRY(T result, bytes_.read<T>(offset_));
    offset_ += sizeof(T);
    return result;
  }
  Result<std::string> text() {
    MORGANA_TRY(uint64_t size, value<uint64_t>());
    MORGANA_TRY(Bytes bytes, bytes_.slice(offset_, size));
    offset_ += size;
    return std::string(bytes.text());
  }
  bool at_end() const { return offset_ == bytes_.size(); }

 private:
  Bytes bytes_;
  uint64_t offset_ = 0;
};

std::optional<std::string> read_file(const char* path) {
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> result;
  struct stat status;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    std::string bytes(static_cast<size_t>(status.st_size), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t count = ::read(fd, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    if (done == bytes.size()) result = std::move(bytes);
  }
  ::close(fd);
  return result;
}

bool write_file(const char* path, std::string_view bytes) {
  int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  while (!bytes.empty()) {
    ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  int error = errno;
  // A full disk or quota may show only here.
  bool closed = ::close(fd) == 0;
  if (!bytes.empty()) errno = error;
  return bytes.empty() && closed;
}

bool still_true(const FileStamp& stamp) {
  struct stat status;
  const bool exists = ::stat(stamp.path.c_str(), &status) == 0;
  if (stamp.state == FileStamp::State::missing) return !exists;
  if (!exists || stamp.state == FileStamp::State::present) return exists;
  auto content = read_file(stamp.path.c_str());
  return content.has_value() && sha256(*content) == stamp.digest;
}

}  // namespace

std::string write_cache_entry(const CacheKey& key, const CacheEntry& entry) {
  std::string body;
  uint32_t count = static_cast<uint32_t>(entry.files.size());
  append(body, &count, sizeof count);
  for (const FileStamp& stamp : entry.files) {
    append(body, &stamp.state, sizeof stamp.state);
    append(body, stamp.digest.data(), stamp.digest.size());
    append_text(body, stamp.path);
  }
  append_text(body, entry.log);
  append_text(body, entry.object);
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.format = kFormat;
  header.header_size = sizeof(Header);
  header.key = key;
  header.body_digest = sha256(body);
  header.body_size = body.size();
  std::string file;
  append(file, &header, sizeof header);
  return file + body;
}

Result<CacheEntry> parse_cache_body(Bytes body) {
  Reader reader(body);
  CacheEntry entry;
  MORGANA_TRY(uint32_t count, reader.value<uint32_t>());
  for (uint32_t i = 0; i < count; ++i) {
    FileStamp stamp;
    MORGANA_TRY(uint8_t state, reader.value<uint8_t>());
    if (state > static_cast<uint8_t>(FileStamp::State::content))
      return make_error(ErrorCode::malformed, "cache entry: file state {}", state);
    stamp.state = static_cast<FileStamp::State>(state);
    MORGANA_TRY(stamp.digest, reader.value<Digest>());
    MORGANA_TRY(stamp.path, reader.text());
    if (stamp.path.find('\0') != std::string::npos)
      return make_error(ErrorCode::malformed, "cache entry: a path with a NUL");
    entry.files.push_back(std::move(stamp));
  }
  MORGANA_TRY(entry.log, reader.text());
  MORGANA_TRY(entry.object, reader.text());
  if (!reader.at_end()) return make_error(ErrorCode::malformed, "cache entry: bytes behind its end");
  return entry;
}

Result<CacheEntry> parse_cache_entry(Bytes file, const CacheKey& key) {
  MORGANA_TRY(Header header, file.read<Header>(0));
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.header_size != sizeof(Header))
    return make_error(ErrorCode::malformed, "not a cache entry");
  if (header.format != kFormat)
    return make_error(ErrorCode::malformed, "cache entry of format {}", header.format);
  if (header.key != key) return make_error(ErrorCode::malformed, "cache entry of another key");
  if (header.body_size != file.size() - sizeof(Header))
    return make_error(ErrorCode::malformed, "cache entry of {} bytes instead of {}",
                      file.size() - sizeof(Header), header.body_size);
  MORGANA_TRY(Bytes body, file.slice(sizeof(Header), header.body_size));
  if (sha256(body.text()) != header.body_digest)
    return make_error(ErrorCode::malformed, "cache entry is damaged");
  return parse_cache_body(body);
}

DiskCache::DiskCache(std::string directory, uint64_t limit_bytes)
    : directory_(std::move(directory)), limit_(limit_bytes) {}

std::string DiskCache::directory_of(const Options& options) {
  if (!options.cache || options.cache_limit <= 0) return "";
  if (!options.cache_dir.empty()) return options.cache_dir;
  // XDG Base Directory Specification: a relative XDG_CACHE_HOME is to be ignored.
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base != nullptr && base[0] == '/') return std::string(base) + "/morgana";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/morgana";
  return "";
}

DiskCache* DiskCache::of_process() {
  static DiskCache* cache = []() -> DiskCache* {
    std::string directory = directory_of(options());
    if (directory.empty()) return nullptr;
    return new DiskCache(std::move(directory), static_cast<uint64_t>(options().cache_limit) << 20);
  }();
  return cache;
}

std::string DiskCache::path_of(const CacheKey& key) const {
  std::string hex = to_hex(key);
  return directory_ + "/" + hex.substr(0, 2) + "/" + hex.substr(2) + kSuffix;
}

std::optional<CacheEntry> DiskCache::load(const CacheKey& key) {
  const std::string path = path_of(key);
  auto bytes = read_file(path.c_str());
  if (!bytes) {
    ++misses_;
    return std::nullopt;
  }
  auto entry = parse_cache_entry(Bytes(std::string_view(*bytes)), key);
  const bool valid = entry.ok() && std::all_of(entry->files.begin(), entry->files.end(), still_true);
  if (!valid) {
    log(LogLevel::debug, "cache: '{}' is discarded: {}", path,
        entry.ok() ? "a file changed" : entry.error().message);
    ::unlink(path.c_str());
    ++discarded_;
    ++misses_;
    return std::nullopt;
  }
  // The time of last use decides what is evicted first.
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  ++hits_;
  return std::move(*entry);
}

void DiskCache::store(const CacheKey& key, const CacheEntry& entry) {
  const std::string bytes = write_cache_entry(key, entry);
  if (bytes.size() > limit_) return;
  const std::string path = path_of(key);
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!fs::exists(folder, error)) {
    const bool is_new = !fs::exists(directory_, error);
    fs::create_directories(folder, error);
    if (error) return complain("cannot create '" + folder.string() + "': " + error.message());
    if (is_new) fs::permissions(directory_, fs::perms::owner_all, error);
  }
  static std::atomic<uint64_t> serial = 0;
  const std::string temporary =
      fmt::format("{}/{}{}.{}.{}", folder.string(), kTemporaryPrefix, ::getpid(), serial++,
                  std::chrono::steady_clock::now().time_since_epoch().count());
  make_room(bytes.size());
  if (!write_file(temporary.c_str(), bytes) || ::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string reason = std::strerror(errno);
    ::unlink(temporary.c_str());
    return complain("cannot write '" + path + "': " + reason);
  }
  ++stores_;
}

std::vector<DiskCache::File> DiskCache::scan() const {
  std::vector<File> files;
  std::error_code error;
  const int64_t an_hour_ago = ::time(nullptr) - 3600;
  for (fs::recursive_directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    struct stat status;
    if (::stat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    // A process that died while it was writing has left this behind.
    if (it->path().filename().string().starts_with(kTemporaryPrefix)) {
      if (status.st_mtim.tv_sec < an_hour_ago) ::unlink(it->path().c_str());
      continue;
    }
    if (it->path().extension() != kSuffix) continue;
    files.push_back({it->path().string(), static_cast<uint64_t>(status.st_size),
                     status.st_mtim.tv_sec * int64_t{1000000000} + status.st_mtim.tv_nsec});
  }
  return files;
}

// Looks at the folder when this process stores for the first time, and when its own count exceeds the limit.
// Other processes store meanwhile, so the folder may exceed the limit until one of them looks.
void DiskCache::make_room(uint64_t added) {
  std::lock_guard lock(mutex_);
  if (total_ && *total_ + added <= limit_) {
    *total_ += added;
    return;
  }
  std::vector<File> files = scan();
  uint64_t total = added;
  for (const File& file : files) total += file.bytes;
  if (total > limit_) {
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
    // Down to nine tenths, so that not every store evicts.
    const uint64_t goal = limit_ - limit_ / 10;
    for (const File& file : files) {
      if (total <= goal) break;
      ::unlink(file.path.c_str());
      total -= file.bytes;
    }
  }
  total_ = total;
}

void DiskCache::complain(const std::string& what) {
  // A home that cannot be written is common where programs are tested. That is no warning, unless somebody
  // named the folder.
  const LogLevel level = options().cache_dir.empty() ? LogLevel::info : LogLevel::warn;
  if (!complained_.exchange(true)) log(level, "cache: {}; compiled programs are not kept", what);
}

CacheStats DiskCache::stats() const {
  CacheStats stats;
  stats.directory = directory_;
  stats.limit = limit_;
  for (const File& file : scan()) {
    ++stats.entries;
    stats.bytes += file.bytes;
  }
  stats.hits = hits_;
  stats.misses = misses_;
  stats.stores = stores_;
  stats.discarded = discarded_;
  return stats;
}

}  // namespace morgana::runtime
