#include "runtime/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace morgana::runtime {
namespace {

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "morgana-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override {
    std::error_code error;
    fs::permissions(root_, fs::perms::owner_all, error);
    fs::remove_all(root_, error);
  }
  std::string folder() const { return root_ + "/cache"; }

  std::string root_;
  const CacheKey key_ = sha256("a key");
  const CacheEntry entry_ = {std::string("object\0bytes", 12), "a warning", {}};
};

// FIPS 180-4 example vectors, as NIST publishes them.
TEST(Hash, AgreesWithTheStandard) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, DoesNotDependOnHowTheBytesArrive) {
  const std::string text(300, 'x');
  for (size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(Hasher().add(text.substr(0, cut)).add(text.substr(cut)).finish(), sha256(text)) << cut;
}

TEST(Hash, FieldsDoNotRunIntoEachOther) {
  EXPECT_NE(Hasher().add_field("ab").add_field("c").finish(),
            Hasher().add_field("a").add_field("bc").finish());
}

TEST_F(CacheTest, ReturnsWhatWasStored) {
  DiskCache cache(folder(), 1 << 20);
  EXPECT_FALSE(cache.load(key_).has_value());
  cache.store(key_, entry_);
  auto loaded = cache.load(key_);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->object, entry_.object);
  EXPECT_EQ(loaded->log, entry_.log);
  EXPECT_FALSE(cache.load(sha256("another key")).has_value());
  CacheStats stats = cache.stats();
  EXPECT_EQ(stats.entries, 1u);
  EXPECT_EQ(stats.hits, 1u);
  EXPECT_EQ(stats.misses, 2u);
  EXPECT_EQ(stats.stores, 1u);
  EXPECT_EQ(stats.bytes, fs::file_size(cache.path_of(key_)));
  // A second cache on the same folder stands for another process.
  EXPECT_TRUE(DiskCache(folder(), 1 << 20).load(key_).has_value());
}

TEST_F(CacheTest, EveryTruncationIsDiscarded) {
  DiskCache cache(folder(), 1 << 20);
  cache.store(key_, entry_);
  const std::string bytes = read(cache.path_of(key_));
  for (size_t size = 0; size < bytes.size(); ++size) {
    write(cache.path_of(key_), bytes.substr(0, size));
    EXPECT_FALSE(cache.load(key_).has_value()) << size;
    EXPECT_FALSE(fs::exists(cache.path_of(key_))) << size;
  }
}

TEST_F(CacheTest, EveryFlippedBitIsDiscarded) {
  DiskCache cache(folder(), 1 << 20);
  cache.store(key_, entry_);
  const std::string bytes = read(cache.path_of(key_));
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    write(cache.path_of(key_), damaged);
    EXPECT_FALSE(cache.load(key_).has_value()) << i;
  }
  write(cache.path_of(key_), bytes + "x");
  EXPECT_FALSE(cache.load(key_).has_value());
  EXPECT_EQ(cache.stats().discarded, bytes.size() * 8 + 1);
  cache.store(key_, entry_);
  EXPECT_TRUE(cache.load(key_).has_value());
}

TEST_F(CacheTest, AnEntryUnderAnotherNameIsDiscarded) {
  DiskCache cache(folder(), 1 << 20);
  const CacheKey other = sha256("another key");
  cache.store(key_, entry_);
  fs::create_directories(fs::path(cache.path_of(other)).parent_path());
  fs::copy_file(cache.path_of(key_), cache.path_of(other));
  EXPECT_FALSE(cache.load(other).has_value());
}

TEST_F(CacheTest, AnEntryLivesOnlyWhileItsFilesAnswerTheSame) {
  DiskCache cache(folder(), 1 << 20);
  const std::string header = root_ + "/header.h", absent = root_ + "/absent.h", seen = root_ + "/seen.h";
  auto prepare = [&] {
    write(header, "int a;");
    write(seen, "");
    fs::remove(absent);
    CacheEntry entry = entry_;
    entry.files = {{header, FileStamp::State::content, sha256("int a;")},
                   {absent, FileStamp::State::missing, {}},
                   {seen, FileStamp::State::present, {}}};
    cache.store(key_, entry);
    ASSERT_TRUE(cache.load(key_).has_value());
  };
  prepare();
  write(header, "int b;");  // same size
  EXPECT_FALSE(cache.load(key_).has_value());
  prepare();
  fs::remove(header);
  EXPECT_FALSE(cache.load(key_).has_value());
  prepare();
  write(absent, "");
  EXPECT_FALSE(cache.load(key_).has_value());
  prepare();
  fs::remove(seen);
  EXPECT_FALSE(cache.load(key_).has_value());
}

TEST_F(CacheTest, TheOldestEntriesGoFirst) {
  CacheEntry entry;
  entry.object.assign(1000, 'x');
  DiskCache cache(folder(), 12000);
  for (int i = 0; i < 10; ++i) {
    CacheKey key = sha256(std::to_string(i));
    cache.store(key, entry);
    timespec times[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, cache.path_of(key).c_str(), times, 0), 0);
  }
  ASSERT_TRUE(cache.load(sha256("0")).has_value());  // used just now
  for (int i = 10; i < 13; ++i) cache.store(sha256(std::to_string(i)), entry);
  EXPECT_LE(cache.stats().bytes, 12000u);
  EXPECT_TRUE(fs::exists(cache.path_of(sha256("0"))));
  EXPECT_FALSE(fs::exists(cache.path_of(sha256("1"))));
  EXPECT_TRUE(fs::exists(cache.path_of(sha256("12"))));
  entry.object.assign(20000, 'x');
  cache.store(key_, entry);  // larger than the whole cache
  EXPECT_FALSE(fs::exists(cache.path_of(key_)));
}

TEST_F(CacheTest, AFolderThatCannotBeWrittenIsNoError) {
  write(folder(), "a file where the folder should be");
  DiskCache cache(folder(), 1 << 20);
  cache.store(key_, entry_);
  EXPECT_FALSE(cache.load(key_).has_value());
  EXPECT_EQ(cache.stats().stores, 0u);
}

TEST_F(CacheTest, ProcessesAndThreadsShareAFolder) {
  constexpr int kProcesses = 4, kThreads = 4, kRounds = 50;
  CacheEntry entry;
  entry.object.assign(50000, 'y');
  auto work = [&] {
    DiskCache cache(folder(), 1 << 20);
    std::atomic<bool> good = true;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kRounds; ++i) {
          CacheKey key = sha256(std::to_string(i % 5));
          auto loaded = cache.load(key);
          if (loaded && loaded->object != entry.object) good = false;
          cache.store(key, entry);
        }
      });
    for (std::thread& thread : threads) thread.join();
    return good && cache.stats().discarded == 0;
  };
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    pid_t child = ::fork();
    if (child == 0) ::_exit(work() ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const auto& file : fs::recursive_directory_iterator(folder()))
    EXPECT_FALSE(file.path().filename().string().starts_with("tmp.")) << file.path();
}

TEST(CacheDirectory, FollowsTheOptions) {
  Options values;
  values.cache_dir = "/somewhere";
  EXPECT_EQ(DiskCache::directory_of(values), "/somewhere");
  values.cache = false;
  EXPECT_EQ(DiskCache::directory_of(values), "");
  values = {};
  values.cache_limit = 0;
  EXPECT_EQ(DiskCache::directory_of(values), "");
}

}  // namespace
}  // namespace morgana::runtime
