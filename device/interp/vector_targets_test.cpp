// Vector and scalar instructions of every target: reference cases of conformance/isa, for the older
// ones carried over from gfx950 or made from the documents, and what no target may lack.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "device/coverage.h"
#include "device/isa/decode.h"
#include "device/testing/vectors.h"

namespace morgana::device {
namespace {

struct File {
  Target target;
  const char* name;
  const char* of = nullptr;  // the target whose file it is, if another one
};
class TargetVectors : public testing::TestWithParam<File> {};

TEST_P(TargetVectors, HaveNoDifference) {
  const auto [target, name, of] = GetParam();
  const std::string path = fmt::format("{}/conformance/isa/semantics/{}_{}.jsonl.zst", MORGANA_SOURCE_DIR,
                                       of != nullptr ? of : info(target).name, name);
  const Result<VectorReport> report = run_vectors(path, target);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report->total.passed, 0);
  EXPECT_EQ(report->total.failed + report->total.unimplemented, 0);
  for (const std::string& message : report->messages) ADD_FAILURE() << message;
}
INSTANTIATE_TEST_SUITE_P(
    Targets, TargetVectors,
    testing::Values(
        File{Target::gfx600, "carried"}, File{Target::gfx701, "carried"}, File{Target::gfx803, "carried"},
        File{Target::gfx900, "carried"}, File{Target::gfx906, "carried"}, File{Target::gfx908, "carried"},
        File{Target::gfx90a, "carried"}, File{Target::gfx600, "older"}, File{Target::gfx701, "older"},
        File{Target::gfx803, "older"}, File{Target::gfx900, "older"}, File{Target::gfx906, "older"},
        File{Target::gfx908, "older"}, File{Target::gfx90a, "older"}, File{Target::gfx942, "older"},
        File{Target::gfx950, "older"}, File{Target::gfx942, "edges"}, File{Target::gfx950, "edges"},
        File{Target::gfx1010, "carried"}, File{Target::gfx1010, "new"}, File{Target::gfx1030, "carried"},
        File{Target::gfx1030, "new"}, File{Target::gfx1100, "carried"}, File{Target::gfx1100, "new"},
        File{Target::gfx1200, "carried"}, File{Target::gfx1200, "new"}, File{Target::gfx1100, "scalar"},
        File{Target::gfx1100, "VOP1"}, File{Target::gfx1100, "VOP2"}, File{Target::gfx1100, "VOPC"},
        File{Target::gfx1100, "VOP3"}, File{Target::gfx1100, "VOP3P"}, File{Target::gfx1100, "VOPD"},
        File{Target::gfx1100, "DS"}, File{Target::gfx1100, "hw_facts"},
        File{Target::gfx1030, "hw_facts", "gfx1100"}, File{Target::gfx1200, "scalar"},
        File{Target::gfx1200, "VOP1"}, File{Target::gfx1200, "VOP2"}, File{Target::gfx1200, "VOPC"},
        File{Target::gfx1200, "VOP3"}, File{Target::gfx1200, "VOP3P"}, File{Target::gfx1200, "VOPD"},
        File{Target::gfx1200, "DS"}, File{Target::gfx1010, "siblings"}, File{Target::gfx1100, "siblings"}),
    [](const auto& instance) {
      return std::string(morgana::info(instance.param.target).name) + "_" + instance.param.name;
    });

// Nothing is without semantics but what only graphics has; those are counted, so that none comes or goes
// unnoticed.
TEST(Coverage, EveryFormOfEveryRow) {
  const std::map<Target, int> graphics = {{Target::gfx600, 5},   {Target::gfx701, 5},   {Target::gfx803, 11},
                                          {Target::gfx900, 12},  {Target::gfx906, 12},  {Target::gfx908, 12},
                                          {Target::gfx90a, 0},   {Target::gfx942, 0},   {Target::gfx950, 0},
                                          {Target::gfx1010, 11}, {Target::gfx1030, 13}, {Target::gfx1100, 15},
                                          {Target::gfx1200, 16}};
  for (const auto& [target, expected] : graphics) {
    int count = 0, forms = 0;
    for (const RowCoverage& row : coverage(target)) {
      forms++;
      count += row.state == RowState::graphics;
      EXPECT_NE(row.state, RowState::missing)
          << info(target).name << " " << row.row->mnemonic << " " << isa::name(row.form);
    }
    EXPECT_EQ(count, expected) << info(target).name;
    EXPECT_GT(forms, 1000);
  }
}

// --- Every row that differs from gfx950 has a case of its own ---

using Rows = std::set<const isa::Row*>;

Rows rows_of_vectors(Target target) {
  Rows rows;
  for (const char* kind : {"carried", "older"}) {
    const std::string path = fmt::format("{}/conformance/isa/semantics/{}_{}.jsonl.zst", MORGANA_SOURCE_DIR,
                                         info(target).name, kind);
    if (!std::ifstream(path)) continue;
    const Result<VectorReport> report = run_vectors(path, target);
    EXPECT_TRUE(report.ok()) << path;
    if (report.ok()) rows.insert(report->rows.begin(), report->rows.end());
  }
  return rows;
}

// What MemoryInstructions (memory_test.cpp) runs.
Rows rows_of_memory_tests(Target target) {
  Rows rows;
  std::ifstream file(MORGANA_SOURCE_DIR "/device/interp/testdata/memory.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string targets, hex;
    words >> targets >> hex;
    if (("," + targets + ",").find("," + std::string(info(target).name + 3) + ",") == std::string::npos)
      continue;
    const std::vector<uint32_t> code = dwords_of_hex(hex);
    const Result<isa::Inst> inst = isa::decode(target, Bytes(code.data(), code.size() * 4));
    if (inst.ok()) rows.insert(inst->row);
  }
  return rows;
}

// A line of older_rows.tsv: rows that a test in C++ has cases for.
struct Elsewhere {
  std::string targets, format, mnemonic, file, test;
  bool covers(Target target, const isa::Row& row, const char* format_name) const {
    const std::string name = row.mnemonic;
    const bool begins = mnemonic.ends_with('*');
    return (targets == "all" ||
            ("," + targets + ",").find(fmt::format(",{},", info(target).name)) != targets.npos) &&
           format == format_name &&
           (begins ? name.starts_with(mnemonic.substr(0, mnemonic.size() - 1)) : name == mnemonic);
  }
};

std::vector<Elsewhere> read_elsewhere() {
  std::vector<Elsewhere> list;
  std::ifstream file(MORGANA_SOURCE_DIR "/conformance/isa/older_rows.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Elsewhere e;
    EXPECT_TRUE(words >> e.targets >> e.format >> e.mnemonic >> e.file >> e.test) << line;
    list.push_back(e);
  }
  return list;
}

bool is_elsewhere(const std::vector<Elsewhere>& list, Target target, const isa::Row& row) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Elsewhere& e) { return e.covers(target, row, isa::name(row.format)); });
}

TEST(OlderRows, WhatGfx950LacksHasACaseOfItsOwn) {
  const std::vector<Elsewhere> elsewhere = read_elsewhere();
  for (Target target : {Target::gfx600, Target::gfx701, Target::gfx803, Target::gfx900, Target::gfx906,
                        Target::gfx908, Target::gfx90a, Target::gfx942}) {
    Rows tested = rows_of_vectors(target);
    tested.merge(rows_of_memory_tests(target));
    int differing = 0;
    for (const isa::Row& row : isa::all_rows()) {
      if (row.opcode[size_t(target)] < 0 || row.opcode[size_t(target)] == row.opcode[size_t(Target::gfx950)])
        continue;
      if (row.flags & isa::kGraphics) continue;
      differing++;
      EXPECT_TRUE(tested.contains(&row) || is_elsewhere(elsewhere, target, row))
          << info(target).name << " " << isa::name(row.format) << " " << row.mnemonic;
    }
    EXPECT_GT(differing, 0) << info(target).name;
  }
}

// --- What gfx10 and later have that no record and no test executes on any target ---

constexpr Target kRdna[] = {Target::gfx1010, Target::gfx1030, Target::gfx1100, Target::gfx1200};

// Of all files of records, the lines of memory.txt and the tests that older_rows.tsv names.
std::set<isa::Op> ops_with_a_case(const std::vector<Elsewhere>& elsewhere) {
  std::set<isa::Op> ops;
  for (const auto& entry :
       std::filesystem::directory_iterator(MORGANA_SOURCE_DIR "/conformance/isa/semantics")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".jsonl.zst")) continue;
    const std::optional<Target> target = find_target(name.substr(0, name.find('_')));
    EXPECT_TRUE(target) << name;
    const Result<std::set<isa::Op>> own = ops_of_records(entry.path(), *target);
    EXPECT_TRUE(own.ok()) << own.error().message;
    if (own.ok()) ops.insert(own->begin(), own->end());
  }
  std::ifstream scalar(MORGANA_SOURCE_DIR "/conformance/isa/semantics/gfx950_scalar.txt");
  for (std::string line; std::getline(scalar, line);) {
    if (!line.starts_with("inst ")) continue;
    const std::vector<uint32_t> code = dwords_of_hex(line.substr(5, line.find(' ', 5) - 5));
    const Result<isa::Inst> inst = isa::decode(Target::gfx950, Bytes(code.data(), code.size() * 4));
    EXPECT_TRUE(inst.ok()) << line;
    if (inst.ok()) ops.insert(inst->row->op);
  }
  for (int t = 0; t < kTargetCount; t++) {
    for (const isa::Row* row : rows_of_memory_tests(Target(t))) ops.insert(row->op);
    for (const isa::Row& row : isa::all_rows())
      if (row.opcode[size_t(t)] >= 0 && is_elsewhere(elsewhere, Target(t), row)) ops.insert(row.op);
  }
  return ops;
}

TEST(RdnaRows, EveryOneHasACaseOnSomeTarget) {
  const std::set<isa::Op> ops = ops_with_a_case(read_elsewhere());
  for (const Target target : kRdna) {
    int rows = 0;
    for (const isa::Row& row : isa::all_rows()) {
      if (row.opcode[size_t(target)] < 0 || (row.flags & isa::kGraphics)) continue;
      rows++;
      EXPECT_TRUE(ops.contains(row.op))
          << info(target).name << " " << isa::name(row.format) << " " << row.mnemonic;
    }
    EXPECT_GT(rows, 1000) << info(target).name;
  }
}

// Nor does older_rows.tsv name rows or tests that are gone.
TEST(OlderRows, NamedElsewhereAreRowsAndTests) {
  for (const Elsewhere& e : read_elsewhere()) {
    bool is_used = false;
    for (const isa::Row& row : isa::all_rows())
      for (int t = 0; t < kTargetCount; t++)
        is_used |= row.opcode[size_t(t)] >= 0 && e.covers(Target(t), row, isa::name(row.format));
    EXPECT_TRUE(is_used) << "no such row: " << e.targets << " " << e.format << " " << e.mnemonic;
    std::ifstream file(std::string(MORGANA_SOURCE_DIR) + "/" + e.file);
    std::stringstream text;
    text << file.rdbuf();
    const size_t dot = e.test.find('.');
    EXPECT_NE(text.str().find(fmt::format("({}, {})", e.test.substr(0, dot), e.test.substr(dot + 1))),
              std::string::npos)
        << "no test " << e.test << " in " << e.file;
  }
}

TEST(Vectors, TiersThatAreNotThereAreRefused) {
  EXPECT_TRUE(executor_of("interp").ok());
  EXPECT_EQ(executor_of("none").error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace morgana::device
