#include "device/testing/instruction_tests.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "device/testing/vectors.h"

namespace morgana::device {
namespace {

namespace fs = std::filesystem;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Whether `line` has the mnemonic as a word, or one of its forms.
bool names(std::string_view line, std::string_view mnemonic) {
  for (size_t at = line.find(mnemonic); at != line.npos; at = line.find(mnemonic, at + 1)) {
    if (at > 0 && is_word(line[at - 1])) continue;
    std::string_view behind = line.substr(at + mnemonic.size());
    for (const std::string_view form : {"_e32", "_e64", "_sdwa", "_dpp"})
      if (behind.starts_with(form)) {
        behind.remove_prefix(form.size());
        break;
      }
    if (behind.empty() || !is_word(behind[0])) return true;
  }
  return false;
}

template <typename Action>
void each_line(std::string_view text, const Action& action) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    action(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Records, a line each; in lists of cases ("inst …", then a line a case) the cases.
size_t count_records(std::string_view text, std::string_view mnemonic) {
  size_t count = 0;
  bool in_list = false;
  each_line(text, [&](std::string_view line) {
    if (line.starts_with('#')) return;
    const bool is_head = line.starts_with("inst ");
    if (is_head)
      in_list = names(line, mnemonic);
    else if (in_list)
      count += !line.empty();
    else
      count += names(line, mnemonic);
  });
  return count;
}

// "Suite.Name" of "TEST_P(Suite, Name) {".
std::string test_name(std::string_view line) {
  for (const std::string_view macro : {"TEST(", "TEST_F(", "TEST_P("}) {
    if (!line.starts_with(macro)) continue;
    const size_t comma = line.find(", "), end = line.find(')');
    if (comma == line.npos || end == line.npos || end < comma) return {};
    return std::string(line.substr(macro.size(), comma - macro.size())) + "." +
           std::string(line.substr(comma + 2, end - comma - 2));
  }
  return {};
}

// The functions that name it; "(shared by the file's tests)" for what stands outside of them.
std::vector<std::string> test_functions(std::string_view text, std::string_view mnemonic) {
  std::vector<std::string> found;
  std::string test;
  each_line(text, [&](std::string_view line) {
    if (std::string name = test_name(line); !name.empty()) test = std::move(name);
    if (names(line, mnemonic)) {
      const std::string& where = test.empty() ? "(shared by the file's tests)" : test;
      if (found.empty() || found.back() != where) found.push_back(where);
    }
    if (line == "}") test.clear();
  });
  return found;
}

}  // namespace

Result<std::vector<InstructionTest>> tests_of_instruction(const std::string& source_dir,
                                                          std::string_view mnemonic) {
  std::vector<InstructionTest> tests;
  for (const char* const folder : {"conformance/isa", "device", "kmt", "runtime"}) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(fs::path(source_dir) / folder, error), end; it != end;
         it.increment(error)) {
      if (error) break;
      const std::string path = it->path().string();
      const bool is_source = path.ends_with("_test.cpp");
      const auto is_data = [&](std::string_view suffix) { return path.ends_with(suffix); };
      constexpr std::array<std::string_view, 4> kData = {".jsonl.zst", ".tsv.zst", ".jsonl", ".txt"};
      if (!is_source && (is_data("CMakeLists.txt") || std::ranges::none_of(kData, is_data))) continue;
      MORGANA_TRY(const std::string text, read_text(path));
      InstructionTest test;
      test.path = fs::path(path).lexically_relative(source_dir).string();
      if (is_source) test.names = test_functions(text, mnemonic);
      test.count = is_source ? test.names.size() : count_records(text, mnemonic);
      if (test.count > 0) tests.push_back(std::move(test));
    }
    if (error) return make_error(ErrorCode::io, "{}/{}: {}", source_dir, folder, error.message());
  }
  std::ranges::sort(tests, {}, &InstructionTest::path);
  return tests;
}

}  // namespace morgana::device
