#include "codeobj/target_id.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

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
  EXPECT_TRUE(compatible(id("gfx10-1-generic:xnack-"), id("gfx1012:xnack-")));
  EXPECT_FALSE(compatible(id("gfx10-1-generic:xnack+"), id("gfx1012:xnack-")));
  EXPECT_FALSE(compatible(id("gfx1031"), id("gfx1030")));
  EXPECT_EQ(id("gfx1030").xnack, Feature::unsupported);
}

TEST(target_id, a_generic_processor_covers_its_family_and_no_other) {
  const std::map<std::string, std::string> families = {{"gfx101", "gfx10-1-generic"},
                                                       {"gfx103", "gfx10-3-generic"},
                                                       {"gfx110", "gfx11-generic"},
                                                       {"gfx115", "gfx11-generic"},
                                                       {"gfx120", "gfx12-generic"}};
  int covered = 0;
  for (int mach = 0; mach < 256; ++mach) {
    const Processor* processor = find_processor(static_cast<uint8_t>(mach));
    if (processor == nullptr || processor->is_generic) continue;
    const std::string name = processor->name;
    const auto family = families.find(name.substr(0, 6));
    for (const char* generic : {"gfx10-1-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic"}) {
      const bool expected = name.size() == 7 && family != families.end() && family->second == generic;
      EXPECT_EQ(compatible(id(generic), id(name)), expected) << generic << ' ' << name;
      covered += expected ? 1 : 0;
    }
  }
  EXPECT_EQ(covered, 21);
}

TEST(target_id, the_closest_fit_ranks_highest) {
  const TargetId agent = id("gfx950:sramecc+:xnack-");
  EXPECT_LT(match_rank(id("gfx950:xnack+"), agent), 0);
  EXPECT_LT(match_rank(id("gfx9-4-generic:sramecc+:xnack-"), agent), match_rank(id("gfx950"), agent));
  EXPECT_LT(match_rank(id("gfx950"), agent), match_rank(id("gfx950:xnack-"), agent));
  EXPECT_LT(match_rank(id("gfx950:xnack-"), agent), match_rank(id("gfx950:sramecc+:xnack-"), agent));
}

TEST(processor, every_machine_has_one_name_and_the_known_ones_a_table) {
  for (int mach = 0; mach < 256; ++mach) {
    const Processor* processor = find_processor(static_cast<uint8_t>(mach));
    if (processor == nullptr) continue;
    EXPECT_EQ(find_processor(std::string_view(processor->name)), processor);
    if (!std::string_view(processor->name).starts_with("gfx9-")) {
      EXPECT_EQ(processor->target, find_target(processor->name)) << processor->name;
    }
  }
}

}  // namespace
}  // namespace morgana::codeobj
