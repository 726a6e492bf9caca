#include "tools/morgana/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace morgana::tools {
namespace {

volatile pid_t passed_to = 0;
volatile int came_early = 0;  // a signal from before the child's number was known

void pass_on(int signal) {
  const int before = errno;
  if (passed_to > 0)
    ::kill(passed_to, signal);
  else
    came_early = signal;
  errno = before;
}

// What this process does with the signals while the child lives; the child starts with what was before.
class Signals {
 public:
  Signals() {
    struct sigaction action{};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigemptyset(&defaults_);
    for (size_t i = 0; i < kNumbers.size(); ++i) {
      action.sa_handler = i < kLeft ? SIG_IGN : pass_on;
      sigaction(kNumbers[i], &action, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaddset(&defaults_, kNumbers[i]);
      // One that was ignored stays so for both.
      if (before_[i].sa_handler == SIG_IGN) sigaction(kNumbers[i], &before_[i], nullptr);
    }
  }
  Signals(const Signals&) = delete;
  ~Signals() {
    for (size_t i = 0; i < kNumbers.size(); ++i) sigaction(kNumbers[i], &before_[i], nullptr);
  }
  const sigset_t& defaults() const { return defaults_; }

 private:
  static constexpr std::array kNumbers{SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  static constexpr size_t kLeft = 2;  // the first are left to the child
  std::array<struct sigaction, kNumbers.size()> before_{};
  sigset_t defaults_{};
};

// Starts it; `actions` may be null.
Result<pid_t> spawn(std::vector<std::string>& words, const sigset_t& defaults,
                    const posix_spawn_file_actions_t* actions) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return make_error(error == ENOENT ? ErrorCode::not_found : ErrorCode::io, "{}: {}", words[0],
                      std::strerror(error));
  return child;
}

void begin_passing(pid_t child) {
  passed_to = child;
  if (came_early != 0) ::kill(child, came_early);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<int> run_child(std::vector<std::string> words) {
  const Signals signals;
  MORGANA_TRY(const pid_t child, spawn(words, signals.defaults(), nullptr));
  begin_passing(child);
  const int status = wait_for(child);
  passed_to = 0;
  return status;
}

Result<Captured> capture_child(std::vector<std::string> words) {
  const Signals signals;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return make_error(ErrorCode::io, "pipe2: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  auto child = spawn(words, signals.defaults(), &actions);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (child.ok()) begin_passing(*child);
  Captured captured;
  std::array<char, 4096> part;
  for (ssize_t count; child.ok() && (count = ::read(ends[0], part.data(), part.size())) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) captured.text.append(part.data(), static_cast<size_t>(count));
  }
  ::close(ends[0]);
  if (!child.ok()) return std::move(child).error();
  captured.status = wait_for(*child);
  passed_to = 0;
  return captured;
}

}  // namespace morgana::tools
