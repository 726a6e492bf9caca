// QueueShare: what a queue gets of the threads that execute work-groups: its priority, and the compute units
// that its work-groups may run on.
//
// A queue owns one and names it in its launches (Launch::share), which it outlives. Callable from any thread.
#pragma once

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace morgana::device {

// While queues of a higher priority have work, those of a lower one get a thirty-second of one thread
// together, so that what they do goes on and what waits for them ends.
enum class Priority : uint8_t { low, normal, high };
inline constexpr size_t kPriorities = 3;

// Every device has Device::threads() compute units, and has them in common with the others.
inline constexpr uint32_t kMaxUnits = 1024;
using UnitMask = std::bitset<kMaxUnits>;

class QueueShare {
 public:
  explicit QueueShare(Priority priority = Priority::normal);
  ~QueueShare();
  QueueShare(const QueueShare&) = delete;
  QueueShare& operator=(const QueueShare&) = delete;

  void set_priority(Priority priority);
  Priority priority() const { return priority_.load(std::memory_order_relaxed); }

  // For the launches that follow. Units that the device does not have count for nothing; a mask of none
  // leaves all.
  void set_units(const UnitMask& units);
  bool is_limited() const { return is_limited_.load(std::memory_order_acquire); }
  UnitMask units() const;
  // Where the queue's own thread executes, of the units it may use.
  uint32_t home() const { return home_.load(std::memory_order_relaxed); }

  // Whether there are queues for which it matters that this one has work.
  bool has_rivals() const;

 private:
  friend class WorkPeriod;
  void begin_work();
  void end_work();

  mutable std::mutex mutex_;  // leaf
  std::atomic<Priority> priority_;
  std::atomic<bool> is_limited_{false};
  std::atomic<uint32_t> home_{0};
  UnitMask units_;
  uint32_t periods_ = 0;                    // WorkPeriods that are begun
  Priority begun_with_ = Priority::normal;  // of the first of them
};

// The time in which a queue has work, from the first launch until it finds no packet: meanwhile queues of
// lower priority hold back. Belongs to the thread that is the queue's command processor.
class WorkPeriod {
 public:
  WorkPeriod() = default;
  WorkPeriod(WorkPeriod&& other) noexcept : share_(other.share_) { other.share_ = nullptr; }
  WorkPeriod& operator=(WorkPeriod&& other) noexcept;
  ~WorkPeriod() { end(); }
  // Either may be called again.
  void begin(QueueShare& share) {
    if (share_ == nullptr && share.has_rivals()) start(share);
  }
  void end() {
    if (share_ != nullptr) stop();
  }

 private:
  void start(QueueShare& share);
  void stop();
  QueueShare* share_ = nullptr;  // null: not begun
};

}  // namespace morgana::device
