// Scalar instructions against conformance/isa/semantics/gfx950_scalar.txt.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

using Assignments = std::vector<std::pair<std::string, uint32_t>>;

Assignments parse(std::istringstream& words) {
  Assignments out;
  for (std::string word; words >> word && word != "|";) {
    const size_t at = word.find('=');
    out.emplace_back(word.substr(0, at), static_cast<uint32_t>(std::stoul(word.substr(at + 1), nullptr, 16)));
  }
  return out;
}

uint32_t& place(WaveRig& rig, const std::string& name) {
  if (name == "scc") return rig.wave().scc;
  return rig.s(std::stoi(name.substr(1)));
}

TEST(ScalarInstructions, MatchTheReferenceCases) {
  std::ifstream file(MORGANA_SOURCE_DIR "/conformance/isa/semantics/gfx950_scalar.txt");
  ASSERT_TRUE(file.is_open());
  std::unique_ptr<WaveRig> rig;
  std::string assembly;
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    if (line.starts_with("inst ")) {
      std::string skip, hex;
      words >> skip >> hex;
      std::getline(words, assembly);
      rig = std::make_unique<WaveRig>(Target::gfx950, dwords_of_hex(hex));
      continue;
    }
    cases++;
    const Assignments before = parse(words), after = parse(words);
    for (const auto& [name, value] : before) place(*rig, name) = value;
    ASSERT_EQ(rig->run(), Exit::ended) << assembly << ": " << rig->fault().detail;
    for (const auto& [name, value] : after)
      EXPECT_EQ(place(*rig, name), value) << assembly << "\n  " << line << " " << name;
    for (const auto& [name, value] : before) {
      bool changed = false;
      for (const auto& [other, ignored] : after) changed = changed || other == name;
      if (!changed) EXPECT_EQ(place(*rig, name), value) << assembly << " changed " << name << "\n  " << line;
    }
  }
  EXPECT_GT(cases, 1900);
}

}  // namespace
}  // namespace morgana::device
