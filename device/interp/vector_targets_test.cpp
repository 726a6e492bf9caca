// Vector and scalar instructions of every target: reference cases of conformance/isa, for the older
// ones carried over from gfx950 or made from the documents, and what no target may lack.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
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
        File{Target::gfx1010, "carried"}, File{Target::gfx1030, "carried"}, File{Target::gfx1100, "carried"},
        File{Target::gfx1200, "carried"}, File{Target::gfx1100, "scalar"}, File{Target::gfx1100, "VOP1"},
        File{Target::gfx1100, "VOP2"}, File{Target::gfx1100, "VOPC"}, File{Target::gfx1100, "VOP3"},
        File{Target::gfx1100, "VOP3P"}, File{Target::gfx1100, "VOPD"}, File{Target::gfx1100, "DS"},
        File{Target::gfx1100, "hw_facts"}, File{Target::gfx1030, "hw_facts", "gfx1100"},
        File{Target::gfx1200, "scalar"}, File{Target::gfx1200, "VOP1"}, File{Target::gfx1200, "VOP2"},
        File{Target::gfx1200, "VOPC"}, File{Target::gfx1200, "VOP3"}, File{Target::gfx1200, "VOP3P"},
        File{Target::gfx1200, "VOPD"}, File{Target::gfx1200, "DS"}, File{Target::gfx1010, "siblings"},
        File{Target::gfx1100, "siblings"}),
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

TEST(OlderRows, WhatGfx950LacksHasACaseOfItsOwn) {
  const std::vector<Elsewhere> elsewhere = read_elsewhere();
  std::vector<bool> is_used(elsewhere.size());
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
      bool found = tested.contains(&row);
      for (size_t i = 0; i < elsewhere.size(); i++)
        if (elsewhere[i].covers(target, row, isa::name(row.format))) found = is_used[i] = true;
      EXPECT_TRUE(found) << info(target).name << " " << isa::name(row.format) << " " << row.mnemonic;
    }
    EXPECT_GT(differing, 0) << info(target).name;
  }
  for (size_t i = 0; i < elsewhere.size(); i++) {
    const Elsewhere& e = elsewhere[i];
    EXPECT_TRUE(is_used[i]) << "no such row: " << e.targets << " " << e.format << " " << e.mnemonic;
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
