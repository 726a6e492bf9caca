#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/log.h"

namespace morgana {

// By stdio: a stream's buffer throws where a folder is read.
Result<std::vector<uint8_t>> read_file(const std::string& path) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"));
  if (!file) return make_error(ErrorCode::not_found, "{}: {}", path, std::strerror(errno));
  constexpr size_t kStep = 256 * 1024, kMostBytes = size_t{2} << 30;
  std::vector<uint8_t> bytes;
  for (size_t size = 0;;) {
    bytes.resize(size + kStep);
    const size_t got = std::fread(bytes.data() + size, 1, kStep, file.get());
    bytes.resize(size += got);
    if (got < kStep) break;
    if (size > kMostBytes) return make_error(ErrorCode::io, "{}: more than {} bytes", path, kMostBytes);
  }
  if (std::ferror(file.get())) return make_error(ErrorCode::io, "{}: {}", path, std::strerror(errno));
  return bytes;
}

Status write_whole_file(const std::string& path, std::string_view bytes) {
  const std::string part = path + ".part";
  std::FILE* const file = std::fopen(part.c_str(), "wbe");
  bool ok = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  int error = errno;
  if (file != nullptr && std::fclose(file) != 0 && ok) ok = false, error = errno;
  if (ok && std::rename(part.c_str(), path.c_str()) == 0) return {};
  if (ok) error = errno;
  if (file != nullptr) std::remove(part.c_str());
  return make_error(ErrorCode::io, "{}: {}", path, std::strerror(error));
}

std::string output_folder(const char* option, const std::string& wanted) {
  if (wanted.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(wanted, error);
  if (!error) return wanted;
  log(LogLevel::warn, "{}: {}: {}; nothing is written", option, wanted, error.message());
  return {};
}

}  // namespace morgana
