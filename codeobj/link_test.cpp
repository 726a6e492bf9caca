#include "codeobj/link.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "codeobj/loader.h"
#include "codeobj/test_support.h"

#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
using IgnoreLeaks = __lsan::ScopedDisabler;
#else
struct IgnoreLeaks {
  ~IgnoreLeaks() {}
};
#endif

namespace morgana::codeobj {
namespace {

Result<std::vector<uint8_t>> link_one(const Blob& blob, const LinkOptions& options = {}) {
  const Bytes bytes = view(blob);
  return link({&bytes, 1}, options);
}

TEST(link, makes_a_relocatable_object_loadable) {
  for (const bool isolate : {false, true}) {
    const auto output = link_one(read_testdata("gfx906_v5.o"), {.isolate = isolate});
    ASSERT_TRUE(output.ok()) << output.error().message;
    const auto object = CodeObject::parse(Bytes(output->data(), output->size()));
    ASSERT_TRUE(object.ok()) << object.error().message;
    EXPECT_FALSE(object->is_relocatable());
    EXPECT_EQ(object->kernels().size(), 3u);
    EXPECT_TRUE(load_span(*object).ok());
  }
}

TEST(link, joins_objects) {
  Blob defines = read_testdata("gfx906_v5.o");
  const Blob uses = read_testdata("external.o");
  const Bytes objects[] = {view(defines), view(uses)};
  const auto output = link(objects, {.allow_undefined = true});
  ASSERT_TRUE(output.ok()) << output.error().message;
  const auto object = CodeObject::parse(Bytes(output->data(), output->size()));
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ(object->kernels().size(), 4u);
}

TEST(link, undefined_symbols_are_errors_that_name_symbol_and_object) {
  const auto output = link_one(read_testdata("external.o"));
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, ErrorCode::build_failed);
  EXPECT_NE(output.error().message.find("outside"), std::string::npos) << output.error().message;
  EXPECT_NE(output.error().message.find("object 0"), std::string::npos) << output.error().message;
}

TEST(link, refuses_what_is_no_relocatable_amdgpu_object) {
  EXPECT_FALSE(link_one({}).ok());
  EXPECT_FALSE(link_one(read_testdata("gfx90a_v4.co")).ok());
  EXPECT_FALSE(link_one(read_testdata("kernels.cl")).ok());
  EXPECT_FALSE(link({}).ok());
}

TEST(link, a_fatal_error_of_lld_is_an_error_and_linking_goes_on) {
  Blob broken = read_testdata("gfx906_v5.o");
  const auto elf = ElfFile::parse(view(broken));
  // A symbol table whose string table is no string table is fatal to LLD.
  const ElfSection* symbols = elf->section_of_type(SHT_SYMTAB);
  const uint64_t header = elf->header().e_shoff + symbols->index * sizeof(Elf64_Shdr);
  put<uint32_t>(broken, header + offsetof(Elf64_Shdr, sh_link), elf->section(".text")->index);
  const IgnoreLeaks ignore;  // what a fatal error leaves of LLD is leaked by design (link.cpp)
  const auto output = link_one(broken);
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, ErrorCode::build_failed);
  EXPECT_TRUE(link_one(read_testdata("gfx906_v5.o")).ok());
}

TEST(link, leaves_the_signal_handlers_of_the_process_alone) {
  struct sigaction mine = {}, after = {};
  mine.sa_handler = [](int) {};
  ::sigaction(SIGBUS, &mine, nullptr);
  ASSERT_TRUE(link_one(read_testdata("gfx906_v5.o")).ok());
  ::sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(after.sa_handler, mine.sa_handler);
  ::signal(SIGBUS, SIG_DFL);
}

TEST(link, works_from_several_threads) {
  std::vector<std::thread> threads;
  std::array<bool, 4> ok = {};
  for (size_t i = 0; i < ok.size(); ++i)
    threads.emplace_back([&ok, i] {
      ok[i] = true;
      for (int k = 0; k < 5; ++k) ok[i] = link_one(read_testdata("gfx906_v5.o")).ok() && ok[i];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ok, (std::array{true, true, true, true}));
}

TEST(link, a_forked_child_links_whatever_other_threads_link) {
  const Blob blob = read_testdata("gfx906_v5.o");
  std::atomic<bool> is_over{false};
  const auto links = [&] {
    while (!is_over) EXPECT_TRUE(link_one(blob).ok());
  };
  std::thread others[] = {std::thread(links), std::thread(links), std::thread(links)};
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(link_one(blob).ok() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << i;
    if (status != 0) break;
  }
  is_over = true;
  for (std::thread& other : others) other.join();
}

// A damaged object is linked in a child, so that LLD may do with it what it likes.
TEST(link, damaged_objects_are_errors) {
  const Blob original = read_testdata("external.o");
  for (size_t at = 0; at < original.size(); at += 13) {
    Blob bytes = original;
    bytes[at] ^= 0xff;
    auto object = CodeObject::parse(view(bytes));
    if (!object) continue;
    const auto output = link_one(bytes, {.allow_undefined = true, .isolate = true});
    if (!output) {
      EXPECT_FALSE(output.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace morgana::codeobj
