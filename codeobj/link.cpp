#include "codeobj/link.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/raw_ostream.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/fork_safe.h"
#include "base/leavable.h"

LLD_HAS_DRIVER(elf)

namespace morgana::codeobj {
namespace {

constexpr int kChildSeconds = 60;

Error system_error(const char* what) {
  return make_error(ErrorCode::io, "{}: {}", what, std::strerror(errno));
}

// An input as an anonymous file: LLD reads by path, and it has one under /proc.
class MemoryFile {
 public:
  static Result<MemoryFile> of(Bytes bytes) {
    MemoryFile file;
    file.descriptor_ = ::memfd_create("morgana-link", MFD_CLOEXEC);
    if (file.descriptor_ < 0) return system_error("memfd_create");
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(file.descriptor_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return system_error("writing to memory");
      done += static_cast<size_t>(count);
    }
    return file;
  }
  MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  MemoryFile() = default;
  int descriptor_ = -1;
};

// The output as a pipe with a reader: LLD replaces a regular file by renaming, which needs a folder, but
// writes into any other kind of file.
class OutputPipe {
 public:
  static Result<std::unique_ptr<OutputPipe>> create() {
    std::unique_ptr<OutputPipe> pipe(new OutputPipe);
    if (::pipe2(pipe->ends_, O_CLOEXEC) != 0) return system_error("pipe2");
    pipe->reader_ = std::thread([self = pipe.get()] { self->read(); });
    return pipe;
  }
  OutputPipe(const OutputPipe&) = delete;
  ~OutputPipe() {
    close_and_join();
    if (ends_[0] >= 0) ::close(ends_[0]);
  }

  std::string path() const { return fmt::format("/proc/self/fd/{}", ends_[1]); }

  // What was written, once no writer is left.
  std::vector<uint8_t> take() {
    close_and_join();
    return std::move(bytes_);
  }

 private:
  OutputPipe() = default;

  void close_and_join() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
    if (reader_.joinable()) reader_.join();
  }

  void read() {
    std::vector<uint8_t> buffer(size_t{64} << 10);
    for (;;) {
      const ssize_t count = ::read(ends_[0], buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      bytes_.insert(bytes_.end(), buffer.begin(), buffer.begin() + count);
    }
  }

  int ends_[2] = {-1, -1};
  std::thread reader_;
  std::vector<uint8_t> bytes_;
};

// lld::fatal() ends the process unless LLVM's crash recovery is enabled. Enabling it also installs handlers
// for the fault signals, which belong to the device: put back what was there.
void enable_recovery_without_handlers() {
  constexpr std::array kSignals = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
  std::array<struct sigaction, kSignals.size()> before;
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &before[i]);
  llvm::CrashRecoveryContext::Enable();
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

// LLD has one context. A child of a fork finds it whole: the fork waits for a link.
ForkSafe<std::mutex> lld_mutex;

// Runs ld.lld; true on success. What a fatal error leaves of LLD's context is leaked, and the next call
// makes a new one.
bool run_lld(const std::vector<std::string>& words, std::string& messages) {
  const ForeignCode inside_now;
  const std::lock_guard lock(lld_mutex);
  static std::once_flag once;
  std::call_once(once, enable_recovery_without_handlers);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  llvm::raw_string_ostream stream(messages);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  return lld::lldMain(arguments, stream, stream, drivers).retCode == 0;
}

// The child's faults and its alarm end it, whatever the parent does with those signals.
void default_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP}) {
    ::signal(number, SIG_DFL);
    sigaddset(&set, number);
  }
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

// The same in a child, whose crash or hang costs only itself.
bool run_lld_isolated(const std::vector<std::string>& words, std::string& messages) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    messages = "pipe2: " + std::string(std::strerror(errno));
    return false;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    default_signals();
    ::alarm(kChildSeconds);
    std::string text;
    const bool ok = run_lld(words, text);
    for (size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(ends[1], text.data() + done, text.size() - done);
      if (count <= 0 && errno != EINTR) break;
      if (count > 0) done += static_cast<size_t>(count);
    }
    ::_exit(ok ? 0 : 1);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    messages = "fork: " + std::string(std::strerror(errno));
    return false;
  }
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(ends[0], buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    messages.append(buffer, static_cast<size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) {
      messages += "waitpid: " + std::string(std::strerror(errno));
      return false;
    }
  if (WIFSIGNALED(status)) messages += fmt::format("the linker ended by signal {}\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

Status check_input(Bytes bytes, size_t index) {
  auto elf = ElfFile::parse(bytes);
  if (!elf) return elf.error().in(fmt::format("object {}", index));
  // LLD would take other machines' objects, and text for a linker script.
  if (elf->header().e_machine != kMachineAmdgpu || elf->header().e_type != ET_REL)
    return make_error(ErrorCode::malformed,
                      "object {}: ELF machine {} and type {}, not those of a relocatable AMDGPU object",
                      index, elf->header().e_machine, elf->header().e_type);
  return {};
}

}  // namespace

Result<std::vector<uint8_t>> link(std::span<const Bytes> objects, const LinkOptions& options) {
  if (objects.empty()) return make_error(ErrorCode::invalid_argument, "nothing to link");
  std::vector<MemoryFile> inputs;
  for (size_t i = 0; i < objects.size(); ++i) {
    MORGANA_CHECK(check_input(objects[i], i));
    MORGANA_TRY(MemoryFile input, MemoryFile::of(objects[i]));
    inputs.push_back(std::move(input));
  }
  MORGANA_TRY(const auto output, OutputPipe::create());

  std::vector<std::string> words = {
      "ld.lld", "-shared",     "--threads=1", "--error-limit=0", "--color-diagnostics=never",
      "-o",     output->path()};
  if (!options.allow_undefined) words.emplace_back("--no-undefined");
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  for (const MemoryFile& input : inputs) words.push_back(input.path());

  std::string messages;
  const bool ok = options.isolate ? run_lld_isolated(words, messages) : run_lld(words, messages);
  // From the back, so that "…/fd/1" is not found in "…/fd/12".
  for (size_t i = inputs.size(); i-- > 0;)
    replace_all(messages, inputs[i].path(), fmt::format("object {}", i));
  while (messages.ends_with('\n')) messages.pop_back();
  if (!ok) return make_error(ErrorCode::build_failed, "linking failed: {}", messages);
  return output->take();
}

Result<CodeObject> linked(CodeObject object) {
  if (!object.is_relocatable()) return object;
  const Bytes bytes = object.bytes();
  MORGANA_TRY(const auto output, link({&bytes, 1}, {.isolate = true}));
  return CodeObject::parse(Bytes(output.data(), output.size()));
}

}  // namespace morgana::codeobj
