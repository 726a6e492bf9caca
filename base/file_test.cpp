#include "base/file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace morgana {
namespace {

TEST(ReadFile, GivesEveryByte) {
  const std::string path = testing::TempDir() + "read_file_test";
  std::vector<uint8_t> written(600'000);
  for (size_t i = 0; i < written.size(); ++i) written[i] = static_cast<uint8_t>(i * 7 >> 3);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(written.data()), static_cast<std::streamsize>(written.size()));
  auto read = read_file(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(*read == written);
  std::ofstream(path, std::ios::trunc).flush();
  read = read_file(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->empty());
  std::remove(path.c_str());
}

TEST(ReadFile, ErrorsNameThePath) {
  auto missing = read_file("/nonexistent/file");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("/nonexistent/file"), std::string::npos);
  auto folder = read_file("/");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ErrorCode::io);
}

TEST(OutputFolder, IsMadeOrNone) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "output_folder_test";
  const std::string folder = (root / "a/b").string();
  EXPECT_EQ(output_folder("MORGANA_DUMP_DIR", folder), folder);
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  EXPECT_EQ(output_folder("MORGANA_DUMP_DIR", ""), "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(output_folder("MORGANA_DUMP_DIR", "/proc/nowhere"), "");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("MORGANA_DUMP_DIR: /proc/nowhere"),
            std::string::npos);
  std::filesystem::remove_all(root);
}

TEST(File, AWholeFileOrNone) {
  const std::string folder = ::testing::TempDir() + "/whole" + std::to_string(getpid()), path = folder + "/a";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_whole_file(path, "first").ok());
  ASSERT_TRUE(write_whole_file(path, "other").ok());
  const auto bytes = read_file(path);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(std::string(bytes->begin(), bytes->end()), "other");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  std::filesystem::create_directory(folder + "/b");
  const Status status = write_whole_file(folder + "/b", "x");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("/b: "), std::string::npos) << status.error().message;
  EXPECT_FALSE(std::filesystem::exists(folder + "/b.part"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace morgana
