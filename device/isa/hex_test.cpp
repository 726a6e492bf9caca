// The hex in the sources of tests is the assembly that stands beside it.
//
// In C++ a comment that begins with a mnemonic speaks of the hex before it: a string of dwords in memory
// order, or dwords as numbers. In the text files of tests hex and assembly share a line. An encoding need not
// say its target: one of the nine must read it as the text, spelt as LLVM does or as its assembler takes it
// (tsv_source.h).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "device/isa/decode.h"
#include "device/isa/tsv_source.h"

namespace morgana::isa {
namespace {

bool is_mnemonic(std::string_view word) {
  static const std::set<std::string, std::less<>> known = [] {
    std::set<std::string, std::less<>> names;
    for (const Row& row : all_rows()) names.insert(row.mnemonic);
    return names;
  }();
  for (const std::string_view suffix : {"", "_e32", "_e64", "_sdwa", "_dpp"})
    if (word.ends_with(suffix) && known.contains(word.substr(0, word.size() - suffix.size()))) return true;
  return false;
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(" ,;:")); }
std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Dwords of a string of bytes in memory order; none if the text is anything else.
std::vector<uint32_t> dwords_of(std::string_view text) {
  std::vector<uint32_t> dwords;
  std::string digits;
  for (const char c : text) {
    if (is_hex(c)) {
      digits += c;
    } else if (c != ' ' || digits.size() % 8 != 0) {
      return {};
    }
  }
  if (digits.empty() || digits.size() % 8 != 0) return {};
  for (size_t at = 0; at < digits.size(); at += 8) {
    uint32_t dword = 0;
    for (size_t byte = 4; byte-- > 0;) {
      uint32_t value = 0;
      std::from_chars(&digits[at + 2 * byte], &digits[at + 2 * byte] + 2, value, 16);
      dword = dword << 8 | value;
    }
    dwords.push_back(dword);
  }
  return dwords;
}

bool is_label(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// Whether `text` is the instruction: all of it, a branch to a label, or the mnemonic alone.
bool is_text_of(const Inst& inst, const std::string& canonical, std::string_view text) {
  if (same_instruction(inst, canonical, text)) return true;
  const std::string_view word = first_word(text), operands = trimmed(text.substr(word.size()));
  const bool same_word = word == inst.row->mnemonic || word == first_word(canonical);
  if (same_word && operands.empty()) return true;
  if (same_word && (inst.row->flags & kBranch) != 0) {
    const size_t last = std::min(operands.rfind(' '), operands.size()) + 1;
    const std::string_view label = last <= operands.size() ? operands.substr(last) : operands;
    return is_label(label) && canonical.starts_with(text.substr(0, text.size() - label.size()));
  }
  // LLVM's words for the pattern, or its number.
  return inst.row->op == Op::ds_swizzle_b32 && text.ends_with(fmt::format(" offset:{}", inst.offset)) &&
         canonical.starts_with(text.substr(0, text.rfind(' ')));
}

// The same with a remark behind a mark that no operand contains.
bool says(const Inst& inst, const std::string& canonical, std::string_view text) {
  if (is_text_of(inst, canonical, text)) return true;
  for (size_t mark = text.find_first_of("(;:="); mark != text.npos;
       mark = text.find_first_of("(;:=", mark + 1))
    if (is_text_of(inst, canonical, trimmed(text.substr(0, mark)))) return true;
  return false;
}

// One instruction, or several that "; " divides; one without a mnemonic has that of the one before.
bool reads_as(Target target, const std::vector<uint32_t>& dwords, std::string_view text) {
  size_t at = 0;
  std::string mnemonic;
  while (at < dwords.size()) {
    const Result<Inst> inst = decode(target, Bytes(dwords.data() + at, (dwords.size() - at) * 4));
    if (!inst.ok()) return false;
    at += inst->size / 4;
    const std::string canonical = disassemble(target, *inst);
    const size_t end = at < dwords.size() ? text.find("; ") : text.npos;
    std::string one(trimmed(text.substr(0, end)));
    if (is_mnemonic(first_word(one)))
      mnemonic = first_word(one);
    else
      one = fmt::format("{} {}", mnemonic, one);
    if (!says(*inst, canonical, one)) return false;
    text = end == text.npos ? std::string_view() : text.substr(end + 2);
    if (at < dwords.size() && text.empty()) return false;
  }
  return true;
}
bool reads_as(const std::vector<uint32_t>& dwords, std::string_view text) {
  for (int t = 0; t < kTargetCount; t++)
    if (reads_as(static_cast<Target>(t), dwords, text)) return true;
  return false;
}

struct Findings {
  int pairs = 0;
  std::vector<std::string> wrong;

  // `more`: the text with that of the comment behind it.
  void judge(const std::string& where, std::string_view hex, const std::vector<uint32_t>& dwords,
             std::string_view text, std::string_view more = {}) {
    pairs++;
    // Numbers may have others before them that are no code.
    std::vector<uint32_t> rest = dwords;
    for (; !rest.empty(); rest.erase(rest.begin())) {
      std::vector<uint32_t> padded = rest;
      padded.push_back(0);
      if (reads_as(rest, text) || reads_as(rest, more)) return;
      if (!hex.starts_with("0x")) break;
      if (reads_as(padded, text)) return;  // "{0xc0900000, 0}"
    }
    std::string read = "nothing";
    for (int t = kTargetCount; t-- > 0 && read == "nothing";)
      if (const auto inst = decode(static_cast<Target>(t), Bytes(dwords.data(), dwords.size() * 4));
          inst.ok())
        read = fmt::format("'{}' on {}", disassemble(static_cast<Target>(t), *inst),
                           info(static_cast<Target>(t)).name);
    wrong.push_back(fmt::format("{}: {} is {}, not '{}'", where, hex, read, text));
  }
};

// Literals and comments of C++, in order.
void judge_source(const std::string& name, std::string_view source, Findings& findings) {
  int line = 1;
  std::string hex;
  std::vector<uint32_t> dwords;
  const auto forget = [&] { hex.clear(), dwords.clear(); };
  for (size_t at = 0; at < source.size();) {
    const std::string_view rest = source.substr(at);
    size_t size = 1;
    if (rest[0] == '\n') {
      line++;
    } else if (rest[0] == '"') {
      while (size < rest.size() && rest[size] != '"' && rest[size] != '\n')
        size += rest[size] == '\\' ? 2 : 1;
      const std::string_view text = rest.substr(1, size - 1);
      size++;
      if (const auto read = dwords_of(text); !read.empty()) hex = std::string(trimmed(text)), dwords = read;
    } else if (rest.starts_with("0x")) {
      size = 2;
      while (size < rest.size() && is_hex(rest[size])) size++;
      // Beside a string numbers are something else.
      if (size == 10 && (dwords.empty() || hex.starts_with("0x"))) {
        uint32_t value = 0;
        std::from_chars(rest.data() + 2, rest.data() + size, value, 16);
        hex += (hex.empty() ? "" : " ") + std::string(rest.substr(0, size));
        dwords.push_back(value);
      }
    } else if (rest.starts_with("//") || rest.starts_with("/*")) {
      const bool block = rest[1] == '*';
      size = std::min(rest.find(block ? "*/" : "\n"), rest.size());
      const std::string_view text = trimmed(rest.substr(2, size - 2));
      if (!dwords.empty() && is_mnemonic(first_word(text))) {
        const std::string_view behind = trimmed(rest.substr(std::min(size + 1, rest.size())));
        std::string more;
        if (!block && behind.starts_with("//"))
          more = fmt::format("{} {}", text, trimmed(behind.substr(2, behind.find('\n') - 2)));
        findings.judge(fmt::format("{}:{}", name, line), hex, dwords, text, more);
      }
      forget();
      line +=
          static_cast<int>(std::count(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
    } else if (rest[0] == ';') {
      // `f("…");  // assembly` on one line
      const size_t end = std::min(rest.find('\n'), rest.size());
      if (rest.substr(0, end).find("//") == rest.npos) forget();
    }
    at += size;
  }
}

// Lines "… hex assembly".
void judge_lines(const std::string& name, std::string_view text, Findings& findings) {
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    number++;
    for (int words = 0; words < 3 && !line.empty(); words++) {
      const std::string_view word = line.substr(0, line.find(' '));
      line = trimmed(line.substr(word.size()));
      const auto dwords = dwords_of(word);
      if (dwords.empty() || !is_mnemonic(first_word(line))) continue;
      findings.judge(fmt::format("{}:{}", name, number), word, dwords, line);
      break;
    }
  }
}

TEST(Hex, a_wrong_word_is_found) {
  const auto wrong = [](std::string_view source) {
    Findings findings;
    judge_source("x", source, findings);
    EXPECT_EQ(findings.pairs, 1) << source;
    return findings.wrong.size();
  };
  EXPECT_EQ(wrong("run(\"050080bf \"  // s_nop 5\n"), 0u);
  EXPECT_EQ(wrong("run(\"060080bf \"  // s_nop 5\n"), 1u);
  EXPECT_EQ(wrong("run(\"050080bf\"),\n    options);  // s_nop 5\n"), 0u);
  EXPECT_EQ(wrong("run(\"050081bf\");  // s_nop 5\n"), 1u);
  EXPECT_EQ(wrong("{0x7e020302, 1} /* v_mov_b32 v1, v2 */"), 0u);
  EXPECT_EQ(wrong("\"040084bf\"  // s_cbranch_scc0 L0"), 0u);
  EXPECT_EQ(wrong("\"040085bf\"  // s_cbranch_scc0 L0"), 1u);
  EXPECT_EQ(wrong("\"0203027e 0403067e\"  // v_mov_b32 v1, v2; v3, v4"), 0u);
  EXPECT_EQ(wrong("\"0203027e 0403067e\"  // v_mov_b32 v1, v2; v3, v5"), 1u);
  EXPECT_EQ(wrong("\"1f047ad80600000a\"  // ds_swizzle_b32 v10, v6 offset:1055"), 0u);
  EXPECT_EQ(wrong("\"1f047ad80600000a\"  // ds_swizzle_b32 v10, v6 offset:1056"), 1u);
  EXPECT_EQ(wrong("{0x7e020302} /* v_mov_b32 v1, v3 */"), 1u);
  EXPECT_EQ(wrong("\"0203027e 050080bf\"  // v_mov_b32_e32 v1, v2; s_nop 5"), 0u);
  EXPECT_EQ(wrong("\"0203027e 050080bf\"  // v_mov_b32_e32 v1, v2"), 1u);
  EXPECT_EQ(wrong("\"0203027e\"  // v_mov_b32_e32 v1, v2 row_mask"), 1u);
  EXPECT_EQ(wrong("\"0203027e\"  // v_mov_b32_e32 v1, v2: a copy"), 0u);
  Findings lines;
  judge_lines("y", "600 050080bf s_nop 5\n600 050080bf s_nop 6\n", lines);
  EXPECT_EQ(lines.pairs, 2);
  EXPECT_EQ(lines.wrong.size(), 1u);
}

TEST(Hex, is_the_assembly_beside_it) {
  namespace fs = std::filesystem;
  Findings findings;
  for (const char* const folder : {"codeobj", "device", "runtime", "icd", "kmt", "conformance/isa/semantics"})
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(fs::path(MORGANA_SOURCE_DIR) / folder)) {
      const std::string name = entry.path().lexically_relative(MORGANA_SOURCE_DIR).string();
      const bool is_source = name.ends_with("_test.cpp"), is_text = name.ends_with(".txt");
      if (!is_source && !is_text) continue;
      if (name.ends_with("isa/hex_test.cpp")) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      is_source ? judge_source(name, text, findings) : judge_lines(name, text, findings);
    }
  EXPECT_GT(findings.pairs, 2000);
  RecordProperty("pairs", findings.pairs);
  for (const std::string& wrong : findings.wrong) ADD_FAILURE() << wrong;
}

}  // namespace
}  // namespace morgana::isa
