#include "device/jit/tier.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fork_safe.h"
#include "base/log.h"
#include "base/options.h"
#include "base/trace.h"
#include "device/device.h"
#include "device/jit/llvm_guard.h"

namespace morgana::device::jit {
namespace {

// What the interpreter spends on a kernel before the JIT looks at it.
uint64_t first_look() { return ticks_of_us(2000); }
constexpr uint64_t kNever = UINT64_MAX;
// After so long somebody is told that a kernel is interpreted.
constexpr uint64_t kSlowUs = 2'000'000;
// The sizes of work-groups that a kernel is compiled for apart; further ones share code for any size.
constexpr int kGroupSizes = 4;

enum class Policy { off, background, before };

Policy policy() {
  static const Policy chosen = [] {
    const std::string& wanted = options().jit;
    if (wanted == "off") return Policy::off;
    if (wanted == "on") return Policy::background;
    if (wanted == "sync") return Policy::before;
    log(LogLevel::warn, "MORGANA_JIT={}: neither off, on nor sync; taken for on", wanted);
    return Policy::background;
  }();
  return chosen;
}

// What compiling takes of processor time, in microseconds, as far as the process has not seen it.
// Long kernels take more for an instruction: LLVM looks at all values that live at once for each of them.
constexpr double kCostUs = 8'000, kCostPerInstructionUs = 600, kTwiceAsDear = 5'000;
// A kernel is compiled when what compiled code would have spared is this part of that: what has run for long
// goes on for long.
constexpr double kWorth = 0.5, kLeastGain = 0.02;
// Who compiles gets less than this of a processor: all are busy.
constexpr double kBusy = 0.8;
// A kernel whose compilation the end of a process interrupted is compiled at once by the next one, unless
// that has happened so often.
constexpr uint32_t kAtOnce = 3;

// The process's exit destroys LLVM's globals: compilations in progress leave LLVM, and none begins after it.
std::atomic<int> compilations{0};
std::atomic<bool> is_exiting{false};
std::atomic<bool> in_forked_child{false};
std::atomic<uint64_t> forms_made{0};

void before_exit() {
  is_exiting.store(true);
  if (in_forked_child.load()) return;
  close_llvm();
  constexpr int kPatience = 10'000;  // milliseconds
  for (int i = 0; i < kPatience && compilations.load() > 0; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Before the first compilation.
void register_exit() {
  static const bool registered = [] {
    warm_up();
    return std::atexit(before_exit) == 0;
  }();
  (void)registered;
}

class Compiling {
 public:
  Compiling() { compilations.fetch_add(1); }
  ~Compiling() { compilations.fetch_sub(1); }
  Compiling(const Compiling&) = delete;
  Compiling& operator=(const Compiling&) = delete;
  bool may_begin() const { return !is_exiting.load(); }
};

// One form of a kernel. Its state goes from wanted to done, once.
struct Form {
  std::atomic<const Kernel*> kernel{nullptr};
  std::shared_ptr<const Kernel> owner;                         // of `kernel`; written before it
  bool is_wanted = false, is_queued = false, is_done = false;  // guarded by Tier's mutex
};

// Counts what the interpreter spends on a kernel.
class Interpreted {
 public:
  // How much it is now. Whoever calls is told by `is_slow` once that somebody should know.
  uint64_t add(uint64_t time, bool& is_slow) {
    const uint64_t before = spent_.fetch_add(time, std::memory_order_relaxed), limit = ticks_of_us(kSlowUs);
    is_slow = before < limit && before + time >= limit;
    return before + time;
  }
  void set(uint64_t time) { spent_.store(time, std::memory_order_relaxed); }
  uint64_t get() const { return spent_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> spent_{0};
};

double milliseconds(uint64_t ticks) {
  return static_cast<double>(ticks) / static_cast<double>(ticks_of_us(1000));
}

uint64_t thread_ns() { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

// What compiling takes on this host, learnt from every compilation. Any thread.
class Cost {
 public:
  // In ticks.
  uint64_t of(uint32_t instructions) const {
    return ticks_of_us(static_cast<uint64_t>(factor_.load(std::memory_order_relaxed) * guess(instructions)));
  }
  void learn(uint32_t instructions, uint64_t ns) {
    const double seen = std::clamp(static_cast<double>(ns) / 1000 / guess(instructions), 0.2, 10.0);
    factor_.store((factor_.load(std::memory_order_relaxed) + seen) / 2, std::memory_order_relaxed);
  }

 private:
  static double guess(uint32_t instructions) {
    return kCostUs + kCostPerInstructionUs * instructions * (1 + instructions / kTwiceAsDear);
  }
  std::atomic<double> factor_{1};
};
Cost cost;

// Of a kernel that nobody compiles.
class Refused final : public Request {
 public:
  explicit Refused(const char* because) : why(because) {}
  const Kernel* kernel(bool) const override { return nullptr; }
  void interpreted(uint64_t time, LaunchWatch* watch) override {
    bool is_slow;
    const uint64_t spent = spent_.add(time, is_slow);
    if (is_slow && watch != nullptr) watch->was_interpreted(milliseconds(spent) / 1000, why);
  }
  const Kernel* rest(const Step*, bool, uint64_t) override { return nullptr; }
  const Kernel* known_rest(const Step*, bool) const override { return nullptr; }
  void give_room() override {}

  const char* const why;

 private:
  Interpreted spent_;
};

// For the log and the timeline; empty where nobody reads it. Before any lock is taken: who knows the name may
// need one.
std::string name_for_people(const Program& program, const Step* entry, LaunchWatch* watch) {
  if (!log_enabled(LogLevel::info) && !trace_wanted()) return {};
  const std::string name = watch != nullptr ? watch->kernel_name() : std::string();
  return name.empty() ? fmt::format("kernel at {:#x}", program.pc(entry)) : fmt::format("kernel '{}'", name);
}

struct Background;

class Forms final : public Request, public std::enable_shared_from_this<Forms> {
 public:
  Forms(Background& of, Program& in, const Step* at, const Specialisation& with, std::string called)
      : tier(of), program(in), entry(at), key(with), name(std::move(called)) {}
  const Kernel* kernel(bool full_wave) const override {
    return form[full_wave].kernel.load(std::memory_order_acquire);
  }
  void interpreted(uint64_t time, LaunchWatch* watch) override;
  const Kernel* rest(const Step* at, bool full_wave, uint64_t time) override;
  void give_room() override;
  const Kernel* known_rest(const Step* at, bool full_wave) const override;
  void note_rest(const Step* at, bool full_wave, const Kernel* kernel, Forms& rest);
  bool is_for_full_waves(bool full_wave);

  Background& tier;
  Program& program;
  const Step* const entry;
  const Specialisation key;
  const std::string name;  // empty where nobody reads it
  Form form[2];
  // Guarded by the mutex.
  bool is_given_up = false;
  std::string why_interpreted;  // for good
  uint64_t launches = 0;
  uint32_t instructions = 0;  // 0: not known
  double gain = 1;
  uint64_t given_ns = 0;  // that launches have waited
  // Of a rest: what the waves that came to it had been interpreted for, and how many these were.
  uint64_t rest_spent = 0, asked[2] = {};
  // What waves go on in, for threads without the mutex. All of them are kept: somebody may still read one.
  using Rests = std::map<std::pair<const Step*, bool>, const Kernel*>;
  std::vector<std::unique_ptr<const Rests>> all_rests;
  std::atomic<const Rests*> rests{nullptr};

  Interpreted spent;
  // From where on more of it calls the JIT; kNever: everything wanted is done or on its way.
  std::atomic<uint64_t> patience{kNever};
};

struct Background {
  std::mutex mutex;
  std::condition_variable changed;
  // By where they begin: what launches begin with, and rests of kernels.
  using Map = std::map<const Step*, std::vector<std::shared_ptr<Forms>>>;
  Map kernels, rests;
  std::deque<std::pair<std::shared_ptr<Forms>, bool>> queue;
  const Forms* compiling = nullptr;  // by the background thread
  bool reads_code = false;           // it still needs the guest's code
  struct Since {
    uint64_t wall = 0, processor = 0;
  } compiling_since;                // by its clocks, in ns
  clockid_t processor_clock{};      // of the background thread
  std::unique_ptr<Program> orphan;  // whose code is gone, and whose steps it still needs
  bool stops = false;
  std::thread thread;

  // False: it has not been worth while so far.
  bool build(Forms& forms, bool full, uint64_t worth) {
    const Compiling compiling_now;
    if (!compiling_now.may_begin() || is_given_up(forms)) return true;
    Specialisation key = forms.key;
    key.full_wave = full;
    static const TraceTrack background = make_trace_track("compilations");
    TraceSpan span("compile", forms.name, policy() == Policy::background ? background : 0);
    auto made = build(forms, key, worth);
    if (made.ok() && *made == nullptr) {
      span.drop();
      return false;
    }
    if (made.ok()) {
      Form& form = forms.form[full];
      form.owner = *made;
      form.kernel.store(form.owner.get(), std::memory_order_release);
      forms_made.fetch_add(1, std::memory_order_relaxed);
    } else if (!is_exiting.load()) {
      log(LogLevel::info, "jit: {}: stays interpreted: {}", forms.name, made.error().message);
      std::lock_guard lock(mutex);
      forms.why_interpreted = "it cannot be compiled, " + made.error().message;
      forms.is_given_up = made.error().code == ErrorCode::build_failed;
    }
    return true;
  }

  // nullptr: it has not been worth while so far, or nobody needs it any more.
  Result<std::shared_ptr<const Kernel>> build(Forms& forms, const Specialisation& key, uint64_t worth) {
    MORGANA_TRY(const auto compilation, Compilation::begin(forms.program, forms.entry, key));
    if (!forms.name.empty()) compilation->set_name(forms.name);
    const double gain = compilation->gain();
    code_was_read(forms, compilation->instructions(), gain);
    if (is_orphan(forms)) return std::shared_ptr<const Kernel>();
    if (!compilation->find()) {
      const uint32_t instructions = compilation->instructions();
      const uint64_t price = cost.of(instructions);
      const auto enough =
          static_cast<uint64_t>(kWorth * static_cast<double>(price) / std::max(gain, kLeastGain));
      const auto is_promised = [&] {
        const uint32_t interruptions = compilation->interruptions();
        return interruptions > 0 && interruptions <= kAtOnce;
      };
      if (worth < enough && !is_promised()) {
        log(LogLevel::info,
            "jit: {}: not compiled yet: {} instructions take some {:.0f} ms and spare {:.0f} % of the "
            "interpreter's time, which was {:.0f} ms",
            forms.name, instructions, milliseconds(price), 100 * gain, milliseconds(worth));
        forms.patience.store(enough, std::memory_order_relaxed);
        return std::shared_ptr<const Kernel>();
      }
      const uint64_t begin = thread_ns();
      MORGANA_CHECK(compilation->generate());
      cost.learn(instructions, thread_ns() - begin);
      log_ready(forms, key, "compiled");
    } else {
      log_ready(forms, key, "from the cache");
    }
    if (is_orphan(forms)) return std::shared_ptr<const Kernel>();
    return compilation->link();
  }

  // Says which form there is, and when.
  void log_ready(const Forms& forms, const Specialisation& key, const char* from) {
    if (!log_enabled(LogLevel::info)) return;
    std::unique_lock lock(mutex);
    const uint64_t launches = forms.launches;
    lock.unlock();
    log(LogLevel::info, "jit: {}: {}, for {} waves{}, after {} launches and {:.1f} ms of interpretation",
        forms.name, from, key.full_wave ? "full" : "partial",
        key.local[0] == 0
            ? ""
            : fmt::format(" of groups of {} x {} x {}", key.local[0], key.local[1], key.local[2]),
        launches, milliseconds(forms.spent.get()));
  }

  // Of what launches compile the code stays there.
  void code_was_read(Forms& forms, uint32_t instructions, double gain) {
    std::lock_guard lock(mutex);
    forms.instructions = instructions;
    forms.gain = gain;
    if (compiling != &forms) return;
    reads_code = false;
    changed.notify_all();
  }
  bool is_orphan(const Forms& forms) {
    std::lock_guard lock(mutex);
    return compiling == &forms && orphan != nullptr;
  }

  // Whether LLVM has been left in the middle of what begins there: other forms would take as long.
  bool is_given_up(const Forms& forms) {
    std::lock_guard lock(mutex);
    for (const Map* in : {&kernels, &rests})
      if (const auto known = in->find(forms.entry); known != in->end())
        for (const auto& one : known->second)
          if (one->is_given_up) return true;
    return false;
  }

  // In the background.
  void enqueue(Forms& forms) {
    for (const bool full : {true, false}) {
      Form& form = forms.form[full];
      if (!form.is_wanted || form.is_done || std::exchange(form.is_queued, true)) continue;
      queue.emplace_back(forms.shared_from_this(), full);
    }
    changed.notify_all();
    if (thread.joinable()) return;
    try {
      thread = std::thread([this] { work(); });
    } catch (const std::system_error& refused) {
      log(LogLevel::warn, "jit: no thread, kernels stay interpreted: {}", refused.what());
    }
  }

  // With the mutex.
  static std::shared_ptr<Forms> find(const Map& in, const Step* entry, const Specialisation& key) {
    const auto known = in.find(entry);
    if (known == in.end()) return nullptr;
    for (const auto& one : known->second)
      if (one->key == key) return one;
    return nullptr;
  }
  std::shared_ptr<Forms> find_or_make(Map& in, Program& program, const Step* entry, const Specialisation& key,
                                      std::string name) {
    if (auto known = find(in, entry, key)) return known;
    return in[entry].emplace_back(std::make_shared<Forms>(*this, program, entry, key, std::move(name)));
  }

  // Why waves of it are interpreted, for whoever waits for it.
  std::string why_interpreted(const Forms& forms) {
    std::lock_guard lock(mutex);
    if (!forms.why_interpreted.empty()) return forms.why_interpreted;
    if (compiling == &forms) return fmt::format("it is being compiled, {} instructions", forms.instructions);
    if (forms.form[0].is_queued || forms.form[1].is_queued) return "others are compiled before it";
    if (forms.form[0].kernel.load() || forms.form[1].kernel.load())
      return "it is compiled, but its waves leave that code or began before";
    return fmt::format(
        "compiling its {} instructions, to spare {:.0f} % of this, has not been worth while so far",
        forms.instructions, 100 * forms.gain);
  }

  // Whether launches like `key`'s have come with so many sizes.
  bool has_many_sizes(const Step* entry, Specialisation key) const {
    const auto known = kernels.find(entry);
    const auto is_another = [&](const std::shared_ptr<Forms>& forms) {
      key.local = forms->key.local;
      return key.local[0] != 0 && forms->key == key;
    };
    return known != kernels.end() &&
           std::count_if(known->second.begin(), known->second.end(), is_another) >= kGroupSizes;
  }

  std::shared_ptr<Forms> request(Program& program, const Step* entry, Specialisation key, bool full,
                                 bool partial, std::string name) {
    if (policy() == Policy::before) register_exit();
    std::unique_lock lock(mutex);
    std::shared_ptr<Forms> forms = find(kernels, entry, key);
    if (forms == nullptr) {
      if (has_many_sizes(entry, key)) key.local = {};
      forms = find_or_make(kernels, program, entry, key, std::move(name));
    }
    forms->launches++;
    for (const bool which : {true, false}) {
      if (!(which ? full : partial)) continue;
      Form& form = forms->form[which];
      const bool is_first = !std::exchange(form.is_wanted, true);
      if (policy() == Policy::before) {
        // The first launch compiles, the others wait for it.
        if (is_first) {
          lock.unlock();
          build(*forms, which, kNever);
          lock.lock();
          form.is_done = true;
          changed.notify_all();
        }
        changed.wait(lock, [&] { return form.is_done; });
      } else if (is_first) {
        const uint64_t spent = forms->spent.get();
        forms->patience.store(std::max(spent, first_look()), std::memory_order_relaxed);
      }
    }
    return forms;
  }

  void work() {
    std::unique_lock lock(mutex);
    pthread_getcpuclockid(pthread_self(), &processor_clock);
    while (true) {
      changed.wait(lock, [&] { return stops || !queue.empty(); });
      if (stops) return;
      // What takes a second does not keep waiting what takes milliseconds. 0: not looked at yet.
      const auto next = std::min_element(queue.begin(), queue.end(), [](const auto& a, const auto& b) {
        return a.first->instructions < b.first->instructions;
      });
      auto [forms, full] = std::move(*next);
      queue.erase(next);
      compiling = forms.get();
      compiling_since = {now_ns(), thread_ns()};
      forms->is_compiling.store(true);
      reads_code = true;
      lock.unlock();
      const uint64_t spent = forms->spent.get();
      const bool is_done = build(*forms, full, spent);
      forms->is_compiling.store(false);
      lock.lock();
      compiling = nullptr;
      reads_code = false;
      const auto unused = std::move(orphan);
      forms->form[full].is_done = is_done;
      forms->form[full].is_queued = false;
      changed.notify_all();
    }
  }
};

void Forms::interpreted(uint64_t time, LaunchWatch* watch) {
  bool is_slow;
  const uint64_t now = spent.add(time, is_slow);
  if (is_slow && watch != nullptr)
    watch->was_interpreted(milliseconds(now) / 1000, tier.why_interpreted(*this));
  if (now < patience.load(std::memory_order_relaxed)) return;
  register_exit();
  std::lock_guard lock(tier.mutex);
  if (patience.exchange(kNever, std::memory_order_relaxed) != kNever) tier.enqueue(*this);
}

void Forms::give_room() {
  if (!is_compiling.load(std::memory_order_relaxed)) return;
  constexpr uint64_t kLeast = 2'000'000, kMost = 2'000'000'000;  // ns
  std::unique_lock lock(tier.mutex);
  if (tier.compiling != this) return;
  const uint64_t begin = now_ns(), wall = begin - tier.compiling_since.wall;
  const uint64_t processor = nanoseconds(tier.processor_clock) - tier.compiling_since.processor;
  if (wall < kLeast || static_cast<double>(processor) > kBusy * static_cast<double>(wall)) return;
  // At its pace so far the compilation would take `wall / processor` times its cost.
  const double pace = static_cast<double>(wall) / static_cast<double>(std::max<uint64_t>(processor, 100'000));
  const double whole = pace * 1e6 * milliseconds(cost.of(instructions));
  const uint64_t most = whole < static_cast<double>(kMost) ? static_cast<uint64_t>(whole) : kMost;
  if (given_ns >= most) return;
  tier.changed.wait_for(lock, std::chrono::nanoseconds(most - given_ns),
                        [&] { return tier.compiling != this; });
  given_ns += now_ns() - begin;
}

// Whether a branch behind it goes back to `at`. Such a one has been executed, and so decoded.
bool is_loop_head(const Program& program, const Step* at) {
  for (const Step* step = at; step < program.steps + program.count;) {
    const bool is_decoded = step->run.load(std::memory_order_acquire) != level().undecoded && step->inst;
    if (is_decoded && step->inst->row->format == isa::Format::SOPP &&
        (step->inst->row->flags & isa::kBranch) && step + step->imm == at)
      return true;
    step += is_decoded ? step->dwords : 1;
  }
  return false;
}

const Kernel* Forms::rest(const Step* at, bool full_wave, uint64_t time) {
  if (in_forked_child.load() || at < program.steps || at >= program.steps + program.count) return nullptr;
  Specialisation unknown = key;
  unknown.local = {};
  unknown.occupied = unknown.lanes;
  unknown.most_looped = 0;  // its waves differ
  std::unique_lock lock(tier.mutex);
  std::shared_ptr<Forms> forms = tier.find(tier.rests, at, unknown);
  if (forms == nullptr) {
    std::string called = name.empty() ? name : fmt::format("{} from {:#x} on", name, program.pc(at));
    forms = tier.find_or_make(tier.rests, program, at, unknown, std::move(called));
    if (!is_loop_head(program, at)) forms->form[0].is_done = forms->form[1].is_done = true;
  }
  // That for partial waves executes any.
  for (const bool which : {full_wave, false})
    if (const Kernel* kernel = forms->kernel(which)) {
      note_rest(at, full_wave, kernel, *forms);
      return kernel;
    }
  const bool which = forms->is_for_full_waves(full_wave);
  Form& form = forms->form[which];
  const uint64_t waited = forms->rest_spent += time;
  const uint64_t enough = forms->patience.load(std::memory_order_relaxed);  // kNever: nobody has looked
  if (form.is_done || form.is_queued || waited < (enough == kNever ? first_look() : enough)) return nullptr;
  lock.unlock();
  register_exit();
  lock.lock();
  if (form.is_done || form.is_queued) return forms->kernel(full_wave);
  forms->spent.set(waited);
  form.is_wanted = true;
  if (policy() == Policy::background) {
    tier.enqueue(*forms);
    return nullptr;
  }
  form.is_queued = true;
  lock.unlock();
  const bool is_done = tier.build(*forms, which, waited);
  lock.lock();
  form.is_done = is_done;
  form.is_queued = false;
  return forms->kernel(full_wave);
}

// Which form a wave at the head of a loop waits for. With the mutex.
bool Forms::is_for_full_waves(bool full_wave) {
  constexpr uint64_t kMost = 8;
  asked[full_wave]++;
  const bool mostly = asked[true] > kMost * asked[false];
  return form[mostly].is_done ? full_wave : mostly;
}

const Kernel* Forms::known_rest(const Step* at, bool full_wave) const {
  const Rests* const known = rests.load(std::memory_order_acquire);
  if (known == nullptr) return nullptr;
  const auto found = known->find({at, full_wave});
  return found == known->end() ? nullptr : found->second;
}

// With the mutex.
void Forms::note_rest(const Step* at, bool full_wave, const Kernel* kernel, Forms& rest) {
  if (known_rest(at, full_wave) == kernel) return;
  auto more = std::make_unique<Rests>(all_rests.empty() ? Rests() : *all_rests.back());
  (*more)[{at, full_wave}] = kernel;
  rests.store(more.get(), std::memory_order_release);
  all_rests.push_back(std::move(more));
  has_rests.store(true, std::memory_order_relaxed);
  rest.rest_spent = 0;  // the other form is not worth while before as much has been interpreted again
}

}  // namespace

struct Tier::Impl : Background {
  // Also in a forked child.
  ForkSafe<std::mutex> refused_mutex;
  std::map<const Step*, std::shared_ptr<Refused>> refused;
};

void make_ready() {
  if (policy() != Policy::off && !in_forked_child.load()) register_exit();
}

uint64_t compiled_forms() { return forms_made.load(std::memory_order_relaxed); }

Tier::Tier() : impl_(std::make_unique<Impl>()) {
  static const bool registered = pthread_atfork(nullptr, nullptr, [] { in_forked_child.store(true); }) == 0;
  (void)registered;
}

Tier::~Tier() {
  if (in_forked_child.load()) {
    [[maybe_unused]] const Impl* const left = impl_.release();  // its thread and locks are the parent's
    return;
  }
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stops = true;
    impl_->changed.notify_all();
  }
  if (impl_->thread.joinable()) impl_->thread.join();
}

std::shared_ptr<Request> Tier::request(Program& program, const Step* entry, const Specialisation& key,
                                       bool full, bool partial, LaunchWatch* watch) {
  if (policy() == Policy::off) return nullptr;
  if (in_forked_child.load()) return refuse(program, entry, "a forked process does not compile", watch);
  return impl_->request(program, entry, key, full, partial, name_for_people(program, entry, watch));
}

std::shared_ptr<Request> Tier::refuse(const Program& program, const Step* entry, const char* why,
                                      LaunchWatch* watch) {
  if (policy() == Policy::off) return nullptr;
  const std::string name = name_for_people(program, entry, watch);
  std::lock_guard lock(impl_->refused_mutex);
  std::shared_ptr<Refused>& known = impl_->refused[entry];
  if (known == nullptr || known->why != why) {
    if (known == nullptr) log(LogLevel::info, "jit: {}: stays interpreted: {}", name, why);
    known = std::make_shared<Refused>(why);
  }
  return known;
}

void Tier::remove(std::unique_ptr<Program> program) {
  {
    const Step* const begin = program->steps;
    std::lock_guard lock(impl_->refused_mutex);
    std::erase_if(impl_->refused,
                  [&](const auto& one) { return one.first >= begin && one.first < begin + program->count; });
  }
  if (in_forked_child.load()) return;
  std::unique_lock lock(impl_->mutex);
  std::erase_if(impl_->queue, [&](const auto& job) { return &job.first->program == program.get(); });
  for (auto* map : {&impl_->kernels, &impl_->rests})
    std::erase_if(*map, [&](const auto& entry) {
      return !entry.second.empty() && &entry.second.front()->program == program.get();
    });
  const auto is_compiled = [&] { return impl_->compiling && &impl_->compiling->program == program.get(); };
  impl_->changed.wait(lock, [&] { return !is_compiled() || !impl_->reads_code; });
  if (is_compiled()) impl_->orphan = std::move(program);
}

}  // namespace morgana::device::jit
