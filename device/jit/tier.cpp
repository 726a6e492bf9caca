#include "device/jit/tier.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/options.h"

namespace morgana::device::jit {
namespace {

enum class Policy { off, background, before };

Policy policy() {
  static const Policy chosen = [] {
    const std::string& wanted = options().jit;
    if (wanted == "off") return Policy::off;
    if (wanted == "on") return Policy::background;
    if (wanted == "sync") return Policy::before;
    log(LogLevel::warn, "MORGANA_JIT={}: neither off, on nor sync", wanted);
    return Policy::off;
  }();
  return chosen;
}

// The process's exit destroys LLVM's globals: it waits for compilations in progress, and none begins after
// it.
std::atomic<int> compilations{0};
std::atomic<bool> is_exiting{false};

void before_exit() {
  is_exiting.store(true);
  constexpr int kPatience = 10'000;  // milliseconds
  for (int i = 0; i < kPatience && compilations.load() > 0; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Before the first compilation, by the thread that asks for it: one that launches kernels does not exit
// meanwhile.
void register_exit() {
  static const bool registered = [] {
    warm_up();
    pthread_atfork(nullptr, nullptr, [] { compilations.store(0); });  // threads do not survive fork
    return std::atexit(before_exit) == 0;
  }();
  (void)registered;
}

class Compilation {
 public:
  Compilation() { compilations.fetch_add(1); }
  ~Compilation() { compilations.fetch_sub(1); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;
  bool may_begin() const { return !is_exiting.load(); }
};

// One form of a kernel. Its state goes from waiting to done, once.
struct Form {
  std::atomic<const Kernel*> kernel{nullptr};
  std::shared_ptr<const Kernel> owner;      // of `kernel`; written before it
  bool is_wanted = false, is_done = false;  // guarded by Tier's mutex
};

class Forms final : public Request {
 public:
  Forms(Program& in, const Step* at, const Specialisation& with) : program(in), entry(at), key(with) {}
  const Kernel* kernel(bool full_wave) const override {
    return form[full_wave].kernel.load(std::memory_order_acquire);
  }

  Program& program;
  const Step* const entry;
  const Specialisation key;
  Form form[2];
};

}  // namespace

struct Tier::Impl {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<const Step*, std::vector<std::shared_ptr<Forms>>> kernels;
  std::deque<std::pair<std::shared_ptr<Forms>, bool>> queue;
  const Forms* compiling = nullptr;  // by the background thread
  bool stops = false;
  std::thread thread;

  void build(Forms& forms, bool full) {
    const Compilation compilation;
    if (!compilation.may_begin()) return;
    Specialisation key = forms.key;
    key.full_wave = full;
    auto made = compile(forms.program, forms.entry, key);
    Form& form = forms.form[full];
    if (made.ok()) {
      form.owner = *made;
      form.kernel.store(form.owner.get(), std::memory_order_release);
    } else {
      log(LogLevel::info, "jit: the kernel at {:#x} stays interpreted: {}", forms.program.pc(forms.entry),
          made.error().message);
    }
  }

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stops || !queue.empty(); });
      if (stops) return;
      auto [forms, full] = std::move(queue.front());
      queue.pop_front();
      compiling = forms.get();
      lock.unlock();
      build(*forms, full);
      lock.lock();
      compiling = nullptr;
      forms->form[full].is_done = true;
      changed.notify_all();
    }
  }
};

Tier::Tier() : impl_(std::make_unique<Impl>()) {}

Tier::~Tier() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stops = true;
    impl_->changed.notify_all();
  }
  if (impl_->thread.joinable()) impl_->thread.join();
}

std::shared_ptr<const Request> Tier::request(Program& program, const Step* entry, const Specialisation& key,
                                             bool full, bool partial) {
  if (policy() == Policy::off) return nullptr;
  register_exit();
  std::unique_lock lock(impl_->mutex);
  std::shared_ptr<Forms> forms;
  auto& known = impl_->kernels[entry];
  for (const auto& one : known)
    if (one->key == key) forms = one;
  if (!forms) forms = known.emplace_back(std::make_shared<Forms>(program, entry, key));
  for (const bool which : {true, false}) {
    if (!(which ? full : partial)) continue;
    Form& form = forms->form[which];
    const bool is_first = !std::exchange(form.is_wanted, true);
    if (policy() == Policy::before) {
      // The first launch compiles, the others wait for it.
      if (is_first) {
        lock.unlock();
        impl_->build(*forms, which);
        lock.lock();
        form.is_done = true;
        impl_->changed.notify_all();
      }
      impl_->changed.wait(lock, [&] { return form.is_done; });
    } else if (is_first) {
      impl_->queue.emplace_back(forms, which);
      if (!impl_->thread.joinable()) impl_->thread = std::thread([impl = impl_.get()] { impl->work(); });
      impl_->changed.notify_all();
    }
  }
  return forms;
}

void Tier::remove(const Program* program) {
  std::unique_lock lock(impl_->mutex);
  std::erase_if(impl_->queue, [&](const auto& job) { return &job.first->program == program; });
  impl_->changed.wait(lock, [&] { return !impl_->compiling || &impl_->compiling->program != program; });
  std::erase_if(impl_->kernels, [&](const auto& entry) {
    return !entry.second.empty() && &entry.second.front()->program == program;
  });
}

}  // namespace morgana::device::jit
