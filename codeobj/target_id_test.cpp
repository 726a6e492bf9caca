#include "codeobj/target_id.h"

#include <gtest/gtest.h>

#include "codeobj/processor.h"

namespace morgana::codeobj {
namespace {

TargetId id(std::string_view text) {
  auto parsed = parse_target_id(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed ? *parsed : TargetId{};
}

TEST(target_id, reads_every_spelling_and_prints_the_canonical_one) {
  EXPECT_EQ(id("gfx90a:xnack-:sramecc+").str(), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(id("amdgcn-amd-amdhsa--gfx90a:sramecc+").isa_name(), "amdgcn-amd-amdhsa--gfx90a:sramecc+");
  EXPECT_EQ(id("amdgcn-amd-amdhsa-gfx803").str(), "gfx803");
  EXPECT_EQ(id("amdgcn-amd-amdhsa--gfx906+xnack+sram-ecc").str(), "gfx906:sramecc+:xnack+");
  EXPECT_EQ(id("fiji").str(), "gfx803");
  EXPECT_EQ(id("amdgcn-amd-amdhsa--gfx9-4-generic:xnack+").str(), "gfx9-4-generic:xnack+");
  EXPECT_EQ(id("gfx90a").xnack, Feature::any);
  EXPECT_EQ(id("gfx803").xnack, Feature::unsupported);
}

TEST(target_id, refuses_what_does_not_exist) {
  for (const char* text : {"", "gfx", "gfx90a:", "gfx90a:xnack", "gfx90a:turbo+", "gfx803:xnack+",
                           "gfx900:sramecc-", "gfx90a:xnack+:xnack-", "amdgcn-", "amdgcn-amd-amdhsa--"})
    EXPECT_FALSE(parse_target_id(text).ok()) << text;
}

TEST(target_id, code_runs_where_processor_and_features_fit) {
  EXPECT_TRUE(compatible(id("gfx90a"), id("gfx90a:sramecc+:xnack-")));
  EXPECT_TRUE(compatible(id("gfx90a:xnack-"), id("gfx90a:sramecc+:xnack-")));
  EXPECT_FALSE(compatible(id("gfx90a:xnack+"), id("gfx90a:sramecc+:xnack-")));
  EXPECT_TRUE(compatible(id("gfx90a:xnack+"), id("gfx90a")));
  EXPECT_FALSE(compatible(id("gfx942"), id("gfx950")));
  EXPECT_TRUE(compatible(id("gfx9-4-generic"), id("gfx950:sramecc+:xnack-")));
  EXPECT_TRUE(compatible(id("gfx9-generic:xnack-"), id("gfx906:sramecc-:xnack-")));
  EXPECT_FALSE(compatible(id("gfx9-generic"), id("gfx90a")));
  EXPECT_FALSE(compatible(id("gfx900"), id("gfx9-generic")));
}

TEST(target_id, the_closest_fit_ranks_highest) {
  const TargetId agent = id("gfx950:sramecc+:xnack-");
  EXPECT_LT(match_rank(id("gfx950:xnack+"), agent), 0);
  EXPECT_LT(match_rank(id("gfx9-4-generic:sramecc+:xnack-"), agent), match_rank(id("gfx950"), agent));
  EXPECT_LT(match_rank(id("gfx950"), agent), match_rank(id("gfx950:xnack-"), agent));
  EXPECT_LT(match_rank(id("gfx950:xnack-"), agent), match_rank(id("gfx950:sramecc+:xnack-"), agent));
}

TEST(processor, every_machine_has_one_name_and_the_executable_ones_a_table) {
  for (int mach = 0; mach < 256; ++mach) {
    const Processor* processor = find_processor(static_cast<uint8_t>(mach));
    if (processor == nullptr) continue;
    EXPECT_EQ(find_processor(std::string_view(processor->name)), processor);
    if (!processor->is_generic) {
      EXPECT_EQ(processor->target, find_target(processor->name)) << processor->name;
    }
  }
}

}  // namespace
}  // namespace morgana::codeobj
