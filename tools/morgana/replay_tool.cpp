#include "tools/morgana/replay_tool.h"

#include <sys/personality.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/replay.h"
#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

using runtime::Capsule;

// How often another process, whose memory lies elsewhere, has begun anew.
constexpr const char* kTries = "MORGANA_REPLAY_TRIES";
constexpr int kMostTries = 8;

}  // namespace

Result<Capsule> read_capsule(const std::string& path, std::vector<uint8_t>& bytes) {
  MORGANA_TRY(bytes, read_file(path));
  auto capsule = runtime::parse_capsule(Bytes(bytes));
  if (!capsule.ok()) return capsule.error().in(path);
  return capsule;
}

Error begin_anew(char** argv, const Error& why) {
  const char* const text = std::getenv(kTries);
  const int tries = text == nullptr ? 0 : std::atoi(text);
  if (tries < kMostTries) {
    personality(static_cast<unsigned long>(personality(0xffffffff)) &
                ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE));
    setenv(kTries, std::to_string(tries + 1).c_str(), 1);
    execv("/proc/self/exe", argv);
  }
  return make_error(
      why.code, "{}, and were not in {} others; a capsule is replayed at the addresses it was recorded at",
      why.message, tries);
}

bool write_all(int file, const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  while (size != 0) {
    const ssize_t done = write(file, bytes, size);
    if (done <= 0) return false;
    bytes += done;
    size -= static_cast<size_t>(done);
  }
  return true;
}

bool read_all(int file, void* data, size_t size) {
  auto* bytes = static_cast<uint8_t*>(data);
  while (size != 0) {
    const ssize_t done = read(file, bytes, size);
    if (done <= 0) return false;
    bytes += done;
    size -= static_cast<size_t>(done);
  }
  return true;
}

Status write_result(Capsule capsule, const device::Fault& fault, const std::string& path) {
  capsule.outcome = {.fault = static_cast<uint8_t>(fault.kind),
                     .is_write = fault.is_write,
                     .pc = fault.pc,
                     .address = fault.kind == device::FaultKind::memory ? fault.address : 0};
  for (Capsule::Piece& piece : capsule.pieces)
    if ((piece.flags & Capsule::Piece::shared) == 0)
      piece.after = runtime::hash_bytes(reinterpret_cast<const void*>(piece.address), piece.size);
  return write_file(path, runtime::write_capsule(capsule));
}

}  // namespace morgana::tools
