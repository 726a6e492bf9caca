// Vector and scalar instructions of every target: reference cases carried over from gfx950 or made from the
// older documents (conformance/isa), and what no target may lack.
#include <gtest/gtest.h>

#include <map>

#include "device/program/coverage.h"
#include "device/testing/vectors.h"

namespace morgana::device {
namespace {

struct File {
  Target target;
  const char* name;
};
class TargetVectors : public testing::TestWithParam<File> {};

TEST_P(TargetVectors, HaveNoDifference) {
  const std::string path = fmt::format("{}/conformance/isa/semantics/{}_{}.jsonl.zst", MORGANA_SOURCE_DIR,
                                       info(GetParam().target).name, GetParam().name);
  const Result<VectorReport> report = run_vectors(path, GetParam().target);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report->total.passed, 0);
  EXPECT_EQ(report->total.failed + report->total.unimplemented, 0);
  for (const std::string& message : report->messages) ADD_FAILURE() << message;
}
INSTANTIATE_TEST_SUITE_P(Targets, TargetVectors,
                         testing::Values(File{Target::gfx600, "carried"}, File{Target::gfx701, "carried"},
                                         File{Target::gfx803, "carried"}, File{Target::gfx900, "carried"},
                                         File{Target::gfx906, "carried"}, File{Target::gfx908, "carried"},
                                         File{Target::gfx90a, "carried"}, File{Target::gfx600, "older"},
                                         File{Target::gfx701, "older"}, File{Target::gfx803, "older"},
                                         File{Target::gfx900, "older"}, File{Target::gfx906, "older"},
                                         File{Target::gfx908, "older"}, File{Target::gfx90a, "older"},
                                         File{Target::gfx942, "older"}),
                         [](const auto& instance) {
                           return std::string(morgana::info(instance.param.target).name) + "_" +
                                  instance.param.name;
                         });

// Nothing is without semantics but what only graphics has; those are counted, so that none comes or goes
// unnoticed.
TEST(Coverage, EveryFormOfEveryRow) {
  const std::map<Target, int> graphics = {{Target::gfx600, 5},  {Target::gfx701, 5},  {Target::gfx803, 11},
                                          {Target::gfx900, 12}, {Target::gfx906, 12}, {Target::gfx908, 12},
                                          {Target::gfx90a, 0},  {Target::gfx942, 0},  {Target::gfx950, 0}};
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

TEST(Vectors, TiersThatAreNotThereAreRefused) {
  EXPECT_TRUE(executor_of("interp").ok());
  EXPECT_EQ(executor_of("none").error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace morgana::device
