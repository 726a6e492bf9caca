// What a launch is expected to touch is opened before it begins, and watched from when it is kept.
#include "device/touched_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <string>
#include <thread>

namespace morgana::device {
namespace {

TEST(TouchedPages, ExpectedPagesAreOpenAndKeptAsTheyWere) {
  constexpr uint64_t kPage = TouchedPages::kPage;
  constexpr uint64_t kPages = 16;
  void* const memory =
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const bytes = static_cast<volatile uint8_t*>(memory);
  const auto begin = reinterpret_cast<uint64_t>(memory);
  bytes[2 * kPage] = 7;
  std::vector<TouchedPages::Run> runs;
  {
    auto pages = TouchedPages::create({{begin, kPages * kPage, true}});
    ASSERT_TRUE(pages.ok());
    ASSERT_TRUE((*pages)->close().ok());
    const TouchedPages::Thread launch(pages->get());
    bytes[2 * kPage] = 8;
    const uint8_t read = bytes[9 * kPage];
    EXPECT_EQ(read, 0);
    for (const TouchedPages::Page& page : (*pages)->pages())
      runs.push_back({page.address, kPage, page.is_written});
  }
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].begin, begin + 2 * kPage);
  EXPECT_TRUE(runs[0].is_written);
  EXPECT_EQ(runs[1].begin, begin + 9 * kPage);
  EXPECT_FALSE(runs[1].is_written);
  {
    // The run that was read begins in one region and ends in the next, which ends in its midst; the last is
    // read-only.
    runs[1] = {begin + 7 * kPage, 4 * kPage, false};
    auto pages = TouchedPages::create(
        {{begin, 8 * kPage, true}, {begin + 8 * kPage, 2 * kPage, true}, {begin + 12 * kPage, kPage, false}});
    ASSERT_TRUE(pages.ok());
    const TouchedPages::Run program[] = {{begin + 4 * kPage + 8, 8, true}, {begin + 12 * kPage, 8, true}};
    ASSERT_TRUE((*pages)->close(runs, program).ok());
    const std::vector<TouchedPages::Page> open = (*pages)->pages();
    std::string seen;
    for (const TouchedPages::Page& page : open)
      seen += std::to_string((page.address - begin) / kPage) + (page.is_written ? "w" : "r") +
              (page.is_foreign ? "f " : " ");
    EXPECT_EQ(seen, "2w 4wf 7r 8r 9r 12rf ");
    bytes[2 * kPage] = 9;
    EXPECT_EQ(open[0].before[0], 8);
    bytes[9 * kPage] = 1;  // by the program: no Thread says that it is the launch's
    EXPECT_TRUE((*pages)->pages()[4].is_foreign);
    bytes[5 * kPage] = 1;
    EXPECT_EQ((*pages)->pages().size(), 7u) << "others are watched";
  }
  munmap(memory, kPages * kPage);
}

// mprotect comes between this write and the copies, which ThreadSanitizer does not know.
[[clang::no_sanitize("thread")]] void write(volatile uint32_t* word, uint32_t value) { *word = value; }

// The program writes once while pages are being closed: what was kept is what is there, or the write is seen.
TEST(TouchedPages, AWriteWhilePagesAreClosedIsKeptOrSeen) {
  constexpr uint64_t kPage = TouchedPages::kPage;
  constexpr uint64_t kPages = 256, kWrittenPage = 3;
  constexpr uint32_t kTimes = 3000;
  void* const memory =
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto begin = reinterpret_cast<uint64_t>(memory);
  auto* const word = reinterpret_cast<volatile uint32_t*>(begin + kWrittenPage * kPage);
  std::atomic<uint32_t> begun{0}, written{0};
  std::thread program([&] {
    for (uint32_t time = 1; time <= kTimes; ++time) {
      while (begun.load() != time) std::this_thread::yield();
      for (uint32_t i = 0; i < time % 500 * 40; ++i) static_cast<void>(begun.load());
      write(word, time);
      written.store(time);
    }
  });
  uint32_t unseen = 0, kept = 0, seen = 0;
  for (uint32_t time = 1; time <= kTimes; ++time) {
    auto pages = TouchedPages::create({{begin, kPages * kPage, true}});
    const TouchedPages::Run expected[] = {{begin, kPages * kPage, false}};
    begun.store(time);
    const bool is_closed = pages.ok() && (*pages)->close(expected).ok();
    EXPECT_TRUE(is_closed);
    while (written.load() != time) std::this_thread::yield();
    if (!is_closed) continue;
    const TouchedPages::Page page = (*pages)->pages()[kWrittenPage];
    const bool is_kept = *reinterpret_cast<const uint32_t*>(page.before) == time;
    kept += is_kept;
    seen += page.is_foreign;
    unseen += !is_kept && !page.is_foreign;
  }
  program.join();
  EXPECT_EQ(unseen, 0u) << kept << " writes were kept, " << seen << " seen";
  munmap(memory, kPages * kPage);
}

}  // namespace
}  // namespace morgana::device
