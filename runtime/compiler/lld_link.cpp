#include "runtime/compiler/lld_link.h"

#include <fcntl.h>
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "runtime/compiler/containment.h"
#include "runtime/compiler/text.h"

LLD_HAS_DRIVER(elf)

namespace morgana::runtime {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// LLD reads inputs by path: an anonymous file has one under /proc.
Result<FileDescriptor> input_file(std::string_view bytes) {
  FileDescriptor file(::memfd_create("morgana.o", MFD_CLOEXEC));
  if (file.number() < 0) return make_error(ErrorCode::io, "memfd_create: {}", std::strerror(errno));
  while (!bytes.empty()) {
    ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return make_error(ErrorCode::io, "writing an object: {}", std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return file;
}

std::string input_path(const FileDescriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.number());
}

// LLD writes its output next to the final name and renames, so the output needs a real folder.
class OutputFolder {
 public:
  OutputFolder() {
    const char* temporary = ::getenv("TMPDIR");
    for (const char* parent : {"/dev/shm", temporary, "/tmp"}) {
      if (parent == nullptr || *parent == 0) continue;
      std::string pattern = std::string(parent) + "/morgana-XXXXXX";
      if (::mkdtemp(pattern.data()) == nullptr) continue;
      path_ = pattern;
      return;
    }
  }
  ~OutputFolder() {
    if (path_.empty()) return;
    ::unlink(file().c_str());
    ::rmdir(path_.c_str());
  }
  bool exists() const { return !path_.empty(); }
  std::string file() const { return path_ + "/a.co"; }

 private:
  std::string path_;
};

Result<std::string> read_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0)
    return make_error(ErrorCode::io, "'{}': {}", path, std::strerror(errno));
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t count = ::read(file.number(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return make_error(ErrorCode::io, "reading '{}': {}", path, std::strerror(errno));
    done += static_cast<size_t>(count);
  }
  return bytes;
}

}  // namespace

Result<std::string> lld_link(const std::vector<std::string_view>& objects, std::string& log) {
  std::vector<FileDescriptor> inputs;
  OutputFolder folder;
  if (!folder.exists()) return make_error(ErrorCode::io, "no folder for temporary files is writable");
  const std::string output = folder.file();
  std::vector<std::string> words = {
      "ld.lld", "--no-undefined", "-shared", "--threads=1", "--color-diagnostics=never", "-o", output};
  for (std::string_view object : objects) {
    MORGANA_TRY(FileDescriptor input, input_file(object));
    words.push_back(input_path(input));
    inputs.push_back(std::move(input));
  }
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());

  std::string text, reason;
  bool linked = false;
  // The lock is taken outside, so that a crash inside cannot keep it.
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  const bool completed = run_contained(
      [&] {
        llvm::raw_string_ostream stream(text);
        linked = lld::elf::link(arguments, stream, stream, /*exitEarly=*/false, /*disableOutput=*/false);
        lld::CommonLinkerContext::destroy();
      },
      reason);
  for (const FileDescriptor& input : inputs) replace_all(text, 0, input_path(input), "program");
  log += text;
  if (!completed) log += "fatal error: the linker failed: " + reason + "\n";
  if (!linked) return make_error(ErrorCode::build_failed, "linking failed");
  return read_file(output);
}

}  // namespace morgana::runtime
