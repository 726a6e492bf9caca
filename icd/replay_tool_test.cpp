// What `morgana replay` refuses and says, beside replaying.
#include <fnmatch.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "icd/replay_support.h"
#include "runtime/capsule.h"

namespace morgana::icd::test {
namespace {

std::vector<uint8_t> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

TEST_F(Replay, DamagedFilesAreRefusedAndChangedOnesEndNobody) {
  run_on_buffer("kernel void damaged(global int* p) { p[get_global_id(0)] += 1; }", "damaged", 64, 64, 64);
  const std::vector<std::string> files = capsules("damaged");
  ASSERT_EQ(files.size(), 1u);
  const std::vector<uint8_t> good = bytes_of(files[0]);
  ASSERT_GT(good.size(), 1000u);
  const std::string path = folder + "/changed";
  for (size_t at :
       {size_t{0}, size_t{9}, size_t{20}, size_t{28}, size_t{40}, good.size() / 2, good.size() - 1}) {
    std::vector<uint8_t> bad = good;
    bad[at] ^= 0x11;
    write(path, bad);
    const Ended ended = replay(path);
    EXPECT_EQ(ended.status, 2) << at << ended.output;
    EXPECT_TRUE(has(ended.output, "capsule")) << ended.output;
  }
  std::vector<uint8_t> cut(good.begin(), good.end() - 100);
  write(path, cut);
  EXPECT_EQ(replay(path).status, 2);
  EXPECT_EQ(replay(folder).status, 2);
  EXPECT_EQ(replay(folder + "/none").status, 2);

  // What was changed by somebody who knows the format: another place to begin, other sizes, no code.
  const runtime::Capsule capsule = runtime::parse_capsule(Bytes(good)).value();
  const auto status_of = [&](const runtime::Capsule& changed) {
    write(path, runtime::write_capsule(changed));
    return replay(path).status;
  };
  runtime::Capsule changed = capsule;
  changed.launch.entry += 3;
  EXPECT_EQ(status_of(changed), 1);
  changed = capsule;
  changed.launch.kernarg = 0x10;
  EXPECT_EQ(status_of(changed), 1);
  changed = capsule;
  changed.launch.group = {70000, 70000, 1};
  EXPECT_EQ(status_of(changed), 1);
  changed = capsule;
  changed.code[0].size += 1 << 20;
  EXPECT_EQ(status_of(changed), 2);
  changed = capsule;
  changed.target = "gfx1";
  EXPECT_EQ(status_of(changed), 2);
  changed = capsule;
  changed.pieces.back().after ^= 1;
  const int status = status_of(changed);
  EXPECT_EQ(status, (capsule.pieces.back().flags & runtime::Capsule::Piece::shared) != 0 ? 0 : 1);
}

// The blocks of a page that begin with "$ ".
struct Step {
  std::string command;
  std::vector<std::string> lines;  // of output
};
std::vector<Step> steps_of(const std::string& page) {
  std::vector<Step> steps;
  std::istringstream lines(page);
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) is_inside = false;
    if (line.starts_with("$ ")) {
      steps.push_back({line.substr(2), {}});
      is_inside = true;
    } else if (is_inside) {
      steps.back().lines.push_back(line);
    }
  }
  return steps;
}

// "..." stands for what differs from run to run.
bool matches(std::string pattern, std::string line) {
  for (std::string* text : {&pattern, &line})
    for (char& c : *text)
      if (c == '[' || c == ']') c = '|';
  return fnmatch(std::regex_replace(pattern, std::regex("\\.\\.\\."), "*").c_str(), line.c_str(), 0) == 0;
}

TEST_F(Replay, TheExampleOfTheDocument) {
  std::ifstream file(MORGANA_SOURCE_DIR "/docs/replay.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const size_t from = page.find("kernel void fill(");
  ASSERT_NE(from, std::string::npos);
  const std::string source = page.substr(from, page.find("```", from) - from);
  cl_program program = make_program(source.c_str(), "-g");
  cl_kernel kernel = make_kernel(program, "fill");
  cl_mem buffer = make_buffer(400);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  testing::internal::CaptureStderr();
  for (cl_int value : {7, 8}) {
    clSetKernelArg(kernel, 1, sizeof value, &value);
    run(kernel, 128, 64);
  }
  testing::internal::GetCapturedStderr();
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);

  const std::vector<std::string> files = capsules("fill");
  ASSERT_EQ(files.size(), 2u);
  const std::string there = folder + "/capsules/";
  fs::create_directories(there);
  fs::rename(files[0], there + "0001-fill.mgd");
  fs::rename(files[1], there + "0002-fill.mgd");
  const std::vector<Step> steps = steps_of(page);
  ASSERT_EQ(steps.size(), 3u);
  constexpr int kStatus[] = {0, 1, 1};
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string prefix = "morgana replay ";
    ASSERT_TRUE(steps[i].command.starts_with(prefix));
    const Ended ended =
        replay(std::regex_replace(steps[i].command.substr(prefix.size()), std::regex("capsules/"), there));
    EXPECT_EQ(ended.status, kStatus[i]) << ended.output;
    std::istringstream lines(std::regex_replace(ended.output, std::regex(there), "capsules/"));
    for (const std::string& pattern : steps[i].lines) {
      std::string line;
      std::getline(lines, line);
      EXPECT_TRUE(matches(pattern, line)) << pattern << "\n" << line;
    }
    const std::string rest{std::istreambuf_iterator<char>(lines), {}};
    EXPECT_EQ(rest, "");
  }
  fs::remove_all(there);
}

constexpr const char* kAdds = "kernel void adds(global int* p) { p[get_global_id(0)] += 5; }";

TEST_F(Replay, AnotherKernelIsNotComparedWith) {
  run_on_buffer(kAdds, "adds", 64, 64, 64);
  run_on_buffer("kernel void takes(global int* p) { p[get_global_id(0)] -= 5; }", "takes", 64, 64, 64);
  const std::vector<std::string> adds = capsules("adds"), takes = capsules("takes");
  ASSERT_EQ(adds.size(), 1u);
  ASSERT_EQ(takes.size(), 1u);
  const Ended other = replay("--compare " + takes[0] + " " + adds[0]);
  EXPECT_EQ(other.status, 2) << other.output;
  EXPECT_TRUE(has(other.output, "is of kernel 'adds'")) << other.output;
  const Ended same = replay("--compare " + adds[0] + " " + adds[0]);
  EXPECT_EQ(same.status, 0) << same.output;
  EXPECT_TRUE(has(same.output, ": equal")) << same.output;
}

TEST_F(Replay, OutputThatCannotBeWrittenIsAnError) {
  run_on_buffer(kAdds, "adds", 64, 64, 64);
  const std::vector<std::string> files = capsules("adds");
  ASSERT_EQ(files.size(), 1u);
  const Ended ended = replay(files[0], R"(sh -c 'exec "$0" "$@" > /dev/full')");
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(has(ended.output, "cannot be written")) << ended.output;
}

// Without randomization a program lies at an address that is known, which is free as soon as it is
// randomized.
TEST_F(Replay, TheOtherCapsulesAddressesAreTaken) {
  if (run_command("setarch -R true").status != 0) GTEST_SKIP() << "no process without randomization here";
  run_on_buffer(kAdds, "adds", 64, 64, 64);
  const std::vector<std::string> files = capsules("adds");
  ASSERT_EQ(files.size(), 1u);
  constexpr uint64_t kProgram = 0x5555'5555'4000;
  const std::vector<uint8_t> good = bytes_of(files[0]);
  runtime::Capsule capsule = runtime::parse_capsule(Bytes(good)).value();
  runtime::Capsule::Piece piece;
  piece.address = kProgram;
  piece.size = runtime::Capsule::kPage;
  piece.flags = runtime::Capsule::Piece::zero | runtime::Capsule::Piece::shared;
  capsule.pieces.push_back(piece);
  std::ranges::sort(capsule.pieces, {}, &runtime::Capsule::Piece::address);
  const std::string path = folder + "/elsewhere";
  write(path, runtime::write_capsule(capsule));
  const std::string words = "--compare " + path + " " + files[0];
  const Ended last = replay(words, "MORGANA_REPLAY_TRIES=8 setarch -R");
  EXPECT_EQ(last.status, 2) << last.output;
  EXPECT_TRUE(has(last.output, "/elsewhere: addresses of its memory are not free")) << last.output;
  const Ended anew = replay(words, "setarch -R");
  EXPECT_EQ(anew.status, 0) << anew.output;
  EXPECT_TRUE(has(anew.output, "elsewhere: equal")) << anew.output;
}

}  // namespace
}  // namespace morgana::icd::test
