#include "runtime/compiler/cached.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/compiler/test_support.h"

namespace morgana::runtime {
namespace {

namespace fs = std::filesystem;

class CachedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/morgana-cached-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    cache_.emplace(root_ + "/cache", 64 << 20);
  }
  void TearDown() override { fs::remove_all(root_); }

  Built build_with(std::string_view source, std::string_view options = "", std::vector<Header> headers = {},
                   const TargetDescription& target = describe("gfx950")) {
    Built built;
    CompileInput input;
    input.source = source;
    input.headers = std::move(headers);
    built.object = cached_build(&*cache_, input, options_of(options), target, built.log);
    return built;
  }
  uint64_t hits() const { return cache_->stats().hits; }

  std::string root_;
  std::optional<DiskCache> cache_;
};

constexpr const char* kWarns = "kernel void f(global int* a) { int x; a[0] = x + V; }\n";

TEST_F(CachedTest, TheSecondBuildIsTheFirstOneFromDisk) {
  Built first = build_with(kWarns, "-Wall -DV=1");
  ASSERT_TRUE(first.ok()) << first.log;
  EXPECT_EQ(hits(), 0u);
  Built second = build_with(kWarns, "-Wall -DV=1");
  EXPECT_EQ(hits(), 1u);
  EXPECT_EQ(*second.object, *first.object);
  EXPECT_EQ(second.log, first.log);
  EXPECT_TRUE(second.log_has("uninitialized"));
}

TEST_F(CachedTest, WhateverEntersTheBuildEntersTheKey) {
  build_with(kWarns, "-DV=1");
  build_with(kWarns, "-DV=2");
  build_with(kWarns, "-DV=1 -g");
  build_with(kWarns, "-DV=1 -O1");
  build_with(kWarns, "-DV=1", {{"h", "x"}});
  build_with(kWarns, "-DV=1", {{"h", "y"}});
  build_with(kWarns, "-DV=1", {}, describe("gfx942"));
  TargetDescription target = describe("gfx950");
  target.extensions.pop_back();
  build_with(kWarns, "-DV=1", {}, target);
  target.code_object_version = 6;
  build_with(kWarns, "-DV=1", {}, target);
  EXPECT_EQ(hits(), 0u);
  EXPECT_EQ(cache_->stats().stores, 9u);
}

TEST_F(CachedTest, FailedBuildsAreNotKept) {
  EXPECT_FALSE(build_with("error").ok());
  EXPECT_FALSE(build_with("error").ok());
  EXPECT_EQ(hits(), 0u);
  EXPECT_EQ(cache_->stats().stores, 0u);
}

TEST_F(CachedTest, AChangedHeaderOnDiskIsSeen) {
  constexpr const char* kSource = "#include \"a.h\"\nkernel void f(global int* a) { a[0] = V; }\n";
  const std::string first = root_ + "/first", second = root_ + "/second";
  fs::create_directories(first);
  fs::create_directories(second);
  auto put = [](const std::string& path, const char* text) { std::ofstream(path) << text; };
  const std::string options = "-I" + first + " -I" + second;

  put(second + "/a.h", "#define V 1\n");
  const std::string one = *build_with(kSource, options).object;
  EXPECT_EQ(*build_with(kSource, options).object, one);
  EXPECT_EQ(hits(), 1u);
  put(second + "/a.h", "#define V 2\n");  // the same size, and perhaps the same time
  const std::string two = *build_with(kSource, options).object;
  EXPECT_NE(two, one);
  // A header that appears earlier on the path hides the other.
  put(first + "/a.h", "#define V 1\n");
  EXPECT_EQ(*build_with(kSource, options).object, one);
  EXPECT_EQ(hits(), 1u);
  build_with(kSource, options);
  EXPECT_EQ(hits(), 2u);
  fs::remove(first + "/a.h");
  EXPECT_EQ(*build_with(kSource, options).object, two);
}

TEST_F(CachedTest, AnotherCurrentFolderHasOtherHeaders) {
  constexpr const char* kSource = "#include \"a.h\"\nkernel void f(global int* a) { a[0] = V; }\n";
  const fs::path before = fs::current_path();
  std::string objects[2];
  for (int i : {0, 1, 0, 1}) {
    const std::string folder = root_ + "/beside" + std::to_string(i);
    fs::create_directories(folder);
    std::ofstream(folder + "/a.h") << "#define V " << i << "\n";
    fs::current_path(folder);
    const std::string object = *build_with(kSource).object;
    EXPECT_TRUE(objects[i].empty() || object == objects[i]) << i;
    objects[i] = object;
  }
  fs::current_path(before);
  EXPECT_NE(objects[0], objects[1]);
}

TEST_F(CachedTest, CompilingAndLinkingAreKept) {
  CompileInput input;
  input.source = "kernel void f(global int* a) { a[0] = 1; }";
  std::string log;
  const TargetDescription target = describe("gfx950");
  for (int round = 0; round < 2; ++round) {
    auto object = cached_compile(&*cache_, input, {}, target, log);
    ASSERT_TRUE(object.ok());
    ASSERT_TRUE(cached_link(&*cache_, {*object}, {}, target, log).ok());
    EXPECT_EQ(hits(), round == 0 ? 0u : 2u);
  }
}

TEST_F(CachedTest, ADamagedEntryIsRebuilt) {
  const std::string object = *build_with(kWarns, "-DV=1").object;
  for (const auto& file : fs::recursive_directory_iterator(root_ + "/cache"))
    if (file.is_regular_file()) fs::resize_file(file.path(), file.file_size() / 2);
  EXPECT_EQ(*build_with(kWarns, "-DV=1").object, object);
  EXPECT_EQ(cache_->stats().discarded, 1u);
  build_with(kWarns, "-DV=1");
  EXPECT_EQ(hits(), 1u);
}

TEST_F(CachedTest, NoCacheMeansCompiling) {
  CompileInput input;
  input.source = "kernel void f() {}";
  std::string log;
  EXPECT_TRUE(cached_build(nullptr, input, {}, describe("gfx950"), log).ok());
}

}  // namespace
}  // namespace morgana::runtime
