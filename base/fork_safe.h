// ForkSafe<Mutex>: a mutex that works in a forked child, whatever the parent's other threads were doing.
//
// A child has only the thread that forked. A mutex that another thread held at that moment would stay locked
// in it for ever. So a fork waits until it holds every ForkSafe mutex itself; parent and child go on with all
// of them free. Each is held for as long as a fork may wait, and by no thread that forks; nobody makes or
// destroys one while he holds another.
#pragma once

#include <new>

namespace morgana {

class ForkSafeLock {
 public:
  ForkSafeLock() = default;
  ForkSafeLock(const ForkSafeLock&) = delete;
  ForkSafeLock& operator=(const ForkSafeLock&) = delete;

  virtual void hold() = 0;
  virtual bool try_to_hold() = 0;
  virtual void let_go() = 0;
  virtual void make_new() = 0;  // in the child: who waited for it is gone

 protected:
  ~ForkSafeLock() = default;
  // A fork holds the lock from here on, until there. Only while the lock is whole: a fork calls its
  // functions.
  void enter();
  void leave();
};

template <typename Mutex>
class ForkSafe final : public Mutex, private ForkSafeLock {
 public:
  ForkSafe() { enter(); }
  ~ForkSafe() { leave(); }

 private:
  void hold() override { this->lock(); }
  bool try_to_hold() override { return this->try_lock(); }
  void let_go() override { this->unlock(); }
  void make_new() override { new (static_cast<Mutex*>(this)) Mutex; }
};

}  // namespace morgana
