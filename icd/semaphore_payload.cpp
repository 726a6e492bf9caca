#include "icd/semaphore_payload.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace morgana::icd {
namespace {

void end(Event& event, cl_int status) {
  event.end(status);
  event.settle();
}

// Each signal and its wait share one event, which whoever comes first makes.
class LocalPayload final : public SemaphorePayload {
 public:
  std::unique_ptr<Signal> announce(Context& context) override {
    return std::make_unique<LocalSignal>(pair(context, claimed_, announced_));
  }
  Ref<Event> claim(Context& context) override { return pair(context, announced_, claimed_); }
  bool is_signaled() override {
    std::lock_guard lock(mutex_);
    return !announced_.empty() && announced_.front()->status() == CL_COMPLETE;
  }

 private:
  class LocalSignal final : public Signal {
   public:
    explicit LocalSignal(Ref<Event> event) : event_(std::move(event)) {}
    void happen() override { end(*event_, CL_COMPLETE); }
    void fail() override { end(*event_, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST); }

   private:
    const Ref<Event> event_;
  };

  // The oldest event of the other side that has no partner, or a new one that waits for a partner.
  Ref<Event> pair(Context& context, std::deque<Ref<Event>>& others, std::deque<Ref<Event>>& own) {
    std::lock_guard lock(mutex_);
    if (others.empty()) {
      own.push_back(make<Event>(context));
      return own.back();
    }
    Ref<Event> event = others.front();
    others.pop_front();
    return event;
  }

  std::mutex mutex_;
  std::deque<Ref<Event>> announced_;  // signals that no wait has claimed
  std::deque<Ref<Event>> claimed_;    // waits whose signal has not been enqueued
};

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(number_); }
  int number() const { return number_; }
  // Takes one signal; false when there is none.
  bool take() const {
    uint64_t count;
    return read(number_, &count, sizeof count) == sizeof count;
  }
  void give() const {
    const uint64_t one = 1;
    if (write(number_, &one, sizeof one) != sizeof one) log(LogLevel::error, "a semaphore was not signaled");
  }
  bool is_readable() const {
    pollfd asked{number_, POLLIN, 0};
    return poll(&asked, 1, 0) == 1 && (asked.revents & POLLIN) != 0;
  }

 private:
  const int number_;
};

// A thread that waits for signals of other processes, from the first such wait to the end of the process.
class Watch {
 public:
  static Watch& instance() {
    static Watch* watch = current = new Watch;
    return *watch;
  }
  // Null while nobody has waited.
  static Watch* started() { return current; }

  // Ends `event` when a signal can be taken that no earlier wait takes. A wait that has ended otherwise, or
  // whose context was terminated, takes none.
  void add(std::shared_ptr<const Descriptor> descriptor, Ref<Event> event) {
    {
      std::lock_guard lock(mutex_);
      waits_.push_back({std::move(descriptor), std::move(event)});
    }
    wake_.give();
  }

  void forget_dead() {
    std::vector<Wait> dead;  // gone only after the lock: they may be the last to hold their context
    std::lock_guard lock(mutex_);
    dead = take_dead();
    if (!dead.empty()) wake_.give();
  }

 private:
  struct Wait {
    std::shared_ptr<const Descriptor> descriptor;
    Ref<Event> event;
    bool is_dead() const { return event->has_ended() || event->context().is_terminated(); }
  };

  // Under the lock.
  std::vector<Wait> take_dead() {
    std::vector<Wait> dead;
    std::copy_if(waits_.begin(), waits_.end(), std::back_inserter(dead),
                 [](const Wait& wait) { return wait.is_dead(); });
    // No other ones, though more may die meanwhile.
    std::erase_if(waits_, [&](const Wait& wait) {
      return std::any_of(dead.begin(), dead.end(),
                         [&](const Wait& gone) { return gone.event.get() == wait.event.get(); });
    });
    return dead;
  }

  Watch() : wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    std::thread thread([this] { run(); });
    pthread_setname_np(thread.native_handle(), "morgana-signals");
    thread.detach();
  }

  void run() {
    for (;;) {
      // Each descriptor once, and held while it is polled.
      std::vector<std::shared_ptr<const Descriptor>> held;
      std::vector<pollfd> asked{{wake_.number(), POLLIN, 0}};
      {
        std::lock_guard lock(mutex_);
        for (const Wait& wait : waits_) {
          if (std::find(held.begin(), held.end(), wait.descriptor) != held.end()) continue;
          held.push_back(wait.descriptor);
          asked.push_back({wait.descriptor->number(), POLLIN, 0});
        }
      }
      poll(asked.data(), asked.size(), -1);
      if ((asked[0].revents & POLLIN) != 0) wake_.take();
      for (size_t i = 0; i < held.size(); ++i)
        if ((asked[i + 1].revents & POLLIN) != 0) finish(held[i]);
    }
  }

  // Takes a signal for the oldest wait for it, if one is left.
  void finish(const std::shared_ptr<const Descriptor>& descriptor) {
    std::vector<Wait> dead;
    Ref<Event> event;
    {
      std::lock_guard lock(mutex_);
      dead = take_dead();
      auto found = std::find_if(waits_.begin(), waits_.end(),
                                [&](const Wait& wait) { return wait.descriptor == descriptor; });
      if (found == waits_.end() || !descriptor->take()) return;
      event = found->event;
      waits_.erase(found);
    }
    end(*event, CL_COMPLETE);
  }

  static inline std::atomic<Watch*> current{nullptr};
  const Descriptor wake_;
  std::mutex mutex_;
  std::vector<Wait> waits_;  // oldest first
};

class SharedPayload final : public SemaphorePayload {
 public:
  explicit SharedPayload(int descriptor) : descriptor_(std::make_shared<const Descriptor>(descriptor)) {}

  std::unique_ptr<Signal> announce(Context& /*context*/) override {
    return std::make_unique<SharedSignal>(descriptor_);
  }
  Ref<Event> claim(Context& context) override {
    Ref<Event> event = make<Event>(context);
    Watch::instance().add(descriptor_, event);
    return event;
  }
  bool is_signaled() override { return descriptor_->is_readable(); }
  int export_descriptor() override { return fcntl(descriptor_->number(), F_DUPFD_CLOEXEC, 0); }

 private:
  class SharedSignal final : public Signal {
   public:
    explicit SharedSignal(std::shared_ptr<const Descriptor> descriptor)
        : descriptor_(std::move(descriptor)) {}
    void happen() override { descriptor_->give(); }
    // Who waits may be in another process, and goes on waiting.
    void fail() override {}

   private:
    const std::shared_ptr<const Descriptor> descriptor_;
  };

  const std::shared_ptr<const Descriptor> descriptor_;
};

bool is_eventfd(int descriptor) {
  std::array<char, 64> name{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  return readlink(link.c_str(), name.data(), name.size() - 1) > 0 &&
         std::string_view(name.data()) == "anon_inode:[eventfd]";
}

}  // namespace

void forget_dead_waits() {
  if (Watch* watch = Watch::started()) watch->forget_dead();
}

std::shared_ptr<SemaphorePayload> make_local_payload() { return std::make_shared<LocalPayload>(); }

std::shared_ptr<SemaphorePayload> make_shared_payload() {
  const int descriptor = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
  return descriptor < 0 ? nullptr : std::make_shared<SharedPayload>(descriptor);
}

std::shared_ptr<SemaphorePayload> import_payload(int descriptor) {
  if (!is_eventfd(descriptor)) return nullptr;
  // Whoever made it did so without blocking; a foreign one must not block either.
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) return nullptr;
  return std::make_shared<SharedPayload>(descriptor);
}

}  // namespace morgana::icd
