// What a launch is expected to touch is opened before it begins.
#include "device/touched_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

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
    for (const TouchedPages::Page& page : (*pages)->pages()) runs.push_back({page.address, kPage});
  }
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].begin, begin + 2 * kPage);
  EXPECT_EQ(runs[1].begin, begin + 9 * kPage);
  {
    auto pages = TouchedPages::create({{begin, 8 * kPage, true}});
    ASSERT_TRUE(pages.ok());
    ASSERT_TRUE((*pages)->close(runs).ok());  // the second is in no region
    const std::vector<TouchedPages::Page> open = (*pages)->pages();
    ASSERT_EQ(open.size(), 1u);
    EXPECT_EQ(open[0].address, begin + 2 * kPage);
    EXPECT_FALSE(open[0].is_foreign);
    bytes[2 * kPage] = 9;
    EXPECT_EQ(open[0].before[0], 8);
    bytes[5 * kPage] = 1;
    EXPECT_EQ((*pages)->pages().size(), 2u) << "others are watched";
  }
  munmap(memory, kPages * kPage);
}

}  // namespace
}  // namespace morgana::device
