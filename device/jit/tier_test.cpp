// Which launches of a kernel share compiled code.
#include "device/jit/tier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/options.h"
#include "device/device.h"
#include "device/object_store.h"
#include "device/program/program.h"

namespace morgana::device::jit {
namespace {

TEST(Tier, FurtherSizesOfGroupsShareCode) {
  const uint32_t code[] = {0xbf82ffff, 0xbf810000};  // s_branch L; s_endpgm
  const auto address = reinterpret_cast<uint64_t>(code);
  auto owner = std::make_unique<Program>(Target::gfx950, address, Bytes(code, sizeof code));
  Program& program = *owner;
  const Step* const entry = program.at(address);
  Tier tier;
  const auto request = [&](uint32_t width) {
    Specialisation key;
    key.local = {width, 8, 1};
    return tier.request(program, entry, key, true, false);
  };
  if (options().jit == "off") {
    EXPECT_EQ(request(8), nullptr);
    return;
  }
  const std::shared_ptr<Request> own[] = {request(8), request(16), request(24), request(32)};
  for (const auto& one : own)
    for (const auto& other : own) EXPECT_EQ(one == other, &one == &other);
  // A wave that is interpreted comes back to the beginning, a loop, before anybody looks at it.
  program.decode(entry, {104, 256, 0});
  EXPECT_EQ(own[0]->rest(entry, true, ticks_of_us(1000)), nullptr);
  const auto shared = request(40);
  for (const auto& one : own) EXPECT_NE(shared, one);
  EXPECT_EQ(request(48), shared);
  EXPECT_EQ(request(24), own[2]);
  tier.remove(std::move(owner));
}

// Notes what is stored, and lets a test wait for a compilation that asks it.
class Shelf final : public ObjectStore {
 public:
  std::optional<std::string> load(std::string_view identity) override {
    std::unique_lock lock(mutex_);
    asked_++;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !holds_; });
    if (interruptions_ > 0 && identity.starts_with("interrupted "))
      return std::string(reinterpret_cast<const char*>(&interruptions_), sizeof interruptions_);
    const auto found = objects_.find(std::string(identity));
    return found == objects_.end() ? std::nullopt : std::optional(found->second);
  }
  void store(std::string_view identity, std::string object) override {
    std::lock_guard lock(mutex_);
    objects_[std::string(identity)] = std::move(object);
    lengths_.push_back(identity.size());
    changed_.notify_all();
  }
  void set_interruptions(uint32_t count) { interruptions_ = count; }  // before it is used
  void hold() {
    std::lock_guard lock(mutex_);
    holds_ = true;
  }
  void let_go() {
    std::lock_guard lock(mutex_);
    holds_ = false;
    changed_.notify_all();
  }
  bool wait_until_asked() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return asked_ > 0; });
  }
  bool wait_for_an_object() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return !objects_.empty(); });
  }
  size_t asked() {
    std::lock_guard lock(mutex_);
    return asked_;
  }
  // Of the identities, which the kernels' code is a part of, in the order of the objects.
  std::vector<size_t> lengths() {
    std::lock_guard lock(mutex_);
    return lengths_;
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return objects_.size();
  }
  bool has_note() {
    std::lock_guard lock(mutex_);
    return std::any_of(objects_.begin(), objects_.end(),
                       [](const auto& object) { return object.first.starts_with("interrupted "); });
  }

 private:
  static constexpr auto kPatience = std::chrono::minutes(2);
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t asked_ = 0;
  bool holds_ = false;
  std::vector<size_t> lengths_;
  uint32_t interruptions_ = 0;
  std::map<std::string, std::string> objects_;
};

// For what happens in the background alone.
class TierInBackground : public ::testing::Test {
 protected:
  void SetUp() override {
    if (options().jit != "on") GTEST_SKIP() << "in the background only";
    set_object_store(&shelf);
  }
  void TearDown() override { set_object_store(nullptr); }

  Shelf shelf;
};

// So many multiply-adds, and their end.
std::vector<uint32_t> long_code(size_t count) {
  std::vector<uint32_t> code;
  for (uint32_t i = 0; i < count; i++) {
    constexpr uint32_t kFma = 0xd1cb0000;  // VOP3, fused multiply-add
    code.push_back(kFma | i % 61);
    code.push_back((256 + i % 53) | (256 + i % 47) << 9 | (256 + i % 59) << 18);
  }
  code.push_back(0xbf810000);  // s_endpgm
  return code;
}

Specialisation key_of_long_code() {
  Specialisation key;
  key.sgprs = 16;
  key.vgprs = 64;
  key.observe_everything = true;
  return key;
}

std::unique_ptr<Program> program_of(const std::vector<uint32_t>& code) {
  return std::make_unique<Program>(Target::gfx950, reinterpret_cast<uint64_t>(code.data()),
                                   Bytes(code.data(), code.size() * 4));
}

// In the background.
void begin_to_compile(Tier& tier, Program& program, uint64_t time = ticks_of_us(100'000'000)) {
  const Step* const entry = program.at(program.address);
  program.decode(entry, {16, 64, 0});
  tier.request(program, entry, key_of_long_code(), true, false)->interpreted(time, nullptr);
}

// Code that is removed while it is compiled may go; what was compiled is kept.
TEST_F(TierInBackground, RemovedCodeIsCompiledForTheStore) {
  shelf.hold();
  Tier tier;
  auto code = std::make_unique<std::vector<uint32_t>>(long_code(40));
  auto program = program_of(*code);
  begin_to_compile(tier, *program);
  ASSERT_TRUE(shelf.wait_until_asked());
  const uint64_t forms = compiled_forms();
  tier.remove(std::move(program));
  std::fill(code->begin(), code->end(), 0);
  code.reset();
  EXPECT_EQ(shelf.size(), 0u);
  shelf.let_go();
  EXPECT_TRUE(shelf.wait_for_an_object());
  EXPECT_FALSE(shelf.has_note());
  EXPECT_EQ(compiled_forms(), forms) << "nobody can use it";
}

// The next process knows of a compilation that the end of this one interrupted.
TEST(TierDeathTest, TheProcessExitsFromAKernelThatTakesLong) {
  if (options().jit != "on") GTEST_SKIP() << "in the background only";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EXIT(
      {
        static Shelf& shelf = *new Shelf;
        set_object_store(&shelf);
        warm_up();
        std::atexit([] {
          // Runs after the tier's handler, which is registered later.
          if (shelf.has_note() && shelf.size() == 1) std::fputs("a note was kept\n", stderr);
        });
        static Tier& tier = *new Tier;
        static auto& code = *new auto(long_code(8000));
        begin_to_compile(tier, *program_of(code).release());
        if (!shelf.wait_until_asked()) std::exit(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        std::exit(7);
      },
      testing::ExitedWithCode(7), "a note was kept");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// What a process was interrupted at is compiled by the next one as soon as it is met, unless that never ends.
TEST_F(TierInBackground, AnInterruptedCompilationBeginsAtOnce) {
  const std::vector<uint32_t> code = long_code(40);
  for (const uint32_t times : {0, 1, 3, 4}) {
    Shelf own, *const shelf = &own;
    shelf->set_interruptions(times);
    set_object_store(shelf);
    {
      Tier tier;
      auto program = program_of(code);
      begin_to_compile(tier, *program, ticks_of_us(2100));
      ASSERT_TRUE(shelf->wait_until_asked());
      if (times == 1 || times == 3) EXPECT_TRUE(shelf->wait_for_an_object());
      tier.remove(std::move(program));
    }
    set_object_store(nullptr);
    EXPECT_EQ(shelf->size(), times == 1 || times == 3 ? 1u : 0u) << times;
  }
}

// What is not yet worth a compilation is looked at once, and again when it is.
TEST_F(TierInBackground, AKernelIsLookedAtAgainWhenItIsWorthIt) {
  const std::vector<uint32_t> code = long_code(100);
  Tier tier;
  auto program = program_of(code);
  begin_to_compile(tier, *program, ticks_of_us(2100));
  const Step* const entry = program->at(program->address);
  const auto request = tier.request(*program, entry, key_of_long_code(), true, false);
  constexpr size_t kQuestions = 2;  // for the object, and for a note
  while (shelf.asked() < kQuestions) std::this_thread::yield();
  for (int i = 0; i < 20; i++) {
    request->interpreted(ticks_of_us(100), nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(shelf.asked(), kQuestions);
  while (shelf.size() == 0) {
    request->interpreted(ticks_of_us(10'000), nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  tier.remove(std::move(program));
}

// A wave goes on from the head of a loop in code for the rest of its kernel, once waves that came there have
// been interpreted for as long as that is worth. What they took elsewhere does not count.
TEST_F(TierInBackground, TheRestFromALoopOnIsCompiledForWhatItsWavesTook) {
  const std::vector<uint32_t> code = {0xbf85ffff, 0xbf85ffff, 0xbf810000};  // L: s_cbranch_scc1 L; twice
  Tier tier;
  auto program = program_of(code);
  const Step *const first = program->at(program->address), *const second = first + 1;
  for (const Step* step : {first, second}) program->decode(step, {16, 64, 0});
  const auto request = tier.request(*program, first, key_of_long_code(), true, false);
  EXPECT_EQ(request->rest(first, false, ticks_of_us(1000)), nullptr);
  EXPECT_FALSE(request->has_rests);
  const Kernel* partial = nullptr;
  while (partial == nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    partial = request->rest(first, false, ticks_of_us(10'000));
  }
  EXPECT_TRUE(request->has_rests);
  EXPECT_EQ(request->known_rest(first, false), partial);
  EXPECT_EQ(request->known_rest(first, true), nullptr);
  EXPECT_EQ(request->rest(first, true, 0), partial) << "it executes full waves, too";
  EXPECT_EQ(request->known_rest(first, true), partial);
  EXPECT_EQ(request->known_rest(second, false), nullptr);
  const size_t asked = shelf.asked();
  EXPECT_EQ(request->rest(second, false, ticks_of_us(1000)), nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(shelf.asked(), asked);
  tier.remove(std::move(program));
}

// What takes long does not keep others waiting.
TEST_F(TierInBackground, ShortKernelsAreCompiledFirst) {
  const std::vector<uint32_t> code[] = {long_code(20), long_code(200), long_code(100)};
  Tier tier;
  std::unique_ptr<Program> programs[3];
  std::shared_ptr<Request> requests[3];
  for (int i = 0; i < 3; i++) {
    programs[i] = program_of(code[i]);
    begin_to_compile(tier, *programs[i], ticks_of_us(2100));
    requests[i] =
        tier.request(*programs[i], programs[i]->at(programs[i]->address), key_of_long_code(), true, false);
  }
  while (shelf.asked() < 6) std::this_thread::yield();
  while (requests[2]->is_compiling) std::this_thread::yield();
  shelf.hold();
  requests[0]->interpreted(ticks_of_us(10'000'000), nullptr);
  while (shelf.asked() < 7) std::this_thread::yield();
  EXPECT_TRUE(requests[0]->is_compiling);
  for (int i = 1; i < 3; i++) requests[i]->interpreted(ticks_of_us(10'000'000), nullptr);
  EXPECT_FALSE(requests[1]->is_compiling);
  shelf.let_go();
  for (const auto& request : requests)
    while (request->kernel(true) == nullptr) std::this_thread::yield();
  const std::vector<size_t> lengths = shelf.lengths();
  ASSERT_EQ(lengths.size(), 3u);
  EXPECT_LT(lengths[0], lengths[1]);
  EXPECT_LT(lengths[1], lengths[2]);
  for (auto& program : programs) tier.remove(std::move(program));
}

// A launch of a kernel that is being compiled waits for it where all processors are busy; here the compiling
// thread gets none because the store keeps it.
TEST_F(TierInBackground, LaunchesGiveACompilationRoom) {
  const std::vector<uint32_t> code = long_code(40);
  Tier tier;
  auto program = program_of(code);
  shelf.hold();
  begin_to_compile(tier, *program);
  ASSERT_TRUE(shelf.wait_until_asked());
  const auto request = tier.request(*program, program->at(program->address), key_of_long_code(), true, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // Not for ever.
  for (int launch = 0; launch < 5; launch++) request->give_room();
  EXPECT_EQ(request->kernel(true), nullptr);
  shelf.let_go();
  while (request->kernel(true) == nullptr) request->give_room();
  tier.remove(std::move(program));
}

// What is said of a launch of the kernel `long`.
class Watch final : public LaunchWatch {
 public:
  void still_running() override {}
  void was_stopped(std::vector<WavePlace>) override {}
  std::string kernel_name() override { return "long"; }
  void was_interpreted(double seconds, std::string_view why) override {
    EXPECT_GE(seconds, 2);
    said.emplace_back(why);
  }
  std::vector<std::string> said;
};

TEST(Tier, WhoIsInterpretedForLongIsToldOnce) {
  const std::vector<uint32_t> code = long_code(4);
  auto program = program_of(code);
  const Step* const entry = program->at(program->address);
  Tier tier;
  Watch watch;
  for (int launch = 0; launch < 4; launch++) {
    const auto request = tier.refuse(*program, entry, "addresses are watched", &watch);
    if (options().jit == "off") {
      EXPECT_EQ(request, nullptr) << "who switched it off knows";
      continue;
    }
    EXPECT_EQ(request->kernel(true), nullptr);
    request->interpreted(ticks_of_us(900'000), &watch);
    EXPECT_EQ(watch.said.size(), launch < 2 ? 0u : 1u);
  }
  if (options().jit != "off") EXPECT_EQ(watch.said, std::vector<std::string>{"addresses are watched"});
  tier.remove(std::move(program));
}

TEST_F(TierInBackground, WhoIsInterpretedWhileItIsCompiledIsTold) {
  shelf.hold();
  const std::vector<uint32_t> code = long_code(40);
  Watch watch;
  Tier tier;
  auto program = program_of(code);
  begin_to_compile(tier, *program, ticks_of_us(1'000'000));
  ASSERT_TRUE(shelf.wait_until_asked());
  const Step* const entry = program->at(program->address);
  tier.request(*program, entry, key_of_long_code(), true, false)->interpreted(ticks_of_us(1'500'000), &watch);
  shelf.let_go();
  tier.remove(std::move(program));
  ASSERT_EQ(watch.said.size(), 1u);
  EXPECT_EQ(watch.said[0], "it is being compiled, 41 instructions");
}

// The log of a kernel that is compiled, and of the same one in the next process.
TEST(TierDeathTest, TheLogNamesKernelsAndSaysWhy) {
  if (options().jit != "on") GTEST_SKIP() << "in the background only";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("MORGANA_LOG", "info", 1);  // for the child
  const auto log_of = [](uint64_t time) {
    static Shelf& shelf = *new Shelf;
    set_object_store(&shelf);
    const std::vector<uint32_t> code = long_code(40);
    for (int process = 0; process < 2; process++) {
      Tier tier;
      Watch watch;
      auto program = program_of(code);
      const Step* const entry = program->at(program->address);
      program->decode(entry, {16, 64, 0});
      const auto request = tier.request(*program, entry, key_of_long_code(), true, false, &watch);
      request->interpreted(time, &watch);
      if (time > ticks_of_us(10'000))
        while (request->kernel(true) == nullptr) std::this_thread::yield();
      else
        shelf.wait_until_asked();
      tier.remove(std::move(program));
    }
    std::exit(7);
  };
  EXPECT_EXIT(log_of(ticks_of_us(100'000'000)), testing::ExitedWithCode(7),
              "kernel 'long': compiled: 41 instructions, 0 by handlers.*\n"
              ".*kernel 'long': compiled, for full waves, after 1 launches and .* of interpretation\n"
              ".*kernel 'long': from the cache, for full waves, after 1 launches");
  EXPECT_EXIT(log_of(ticks_of_us(3'000)), testing::ExitedWithCode(7),
              "kernel 'long': not compiled yet: 41 instructions take some .* ms");
  unsetenv("MORGANA_LOG");
}

}  // namespace
}  // namespace morgana::device::jit
