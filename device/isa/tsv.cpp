#include "device/isa/tsv.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "device/isa/tsv_source.h"

namespace morgana::isa {
namespace {

std::string_view take(std::string_view& text, char delimiter) {
  const size_t end = text.find(delimiter);
  const std::string_view head = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return head;
}

Result<std::vector<uint8_t>> parse_hex(std::string_view hex) {
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); i++) {
    const char* digits = hex.data() + 2 * i;
    if (std::from_chars(digits, digits + 2, bytes[i], 16).ptr != digits + 2)
      return make_error(ErrorCode::malformed, "'{}' is no hexadecimal text", hex);
  }
  if (hex.size() % 2 != 0 || hex.empty())
    return make_error(ErrorCode::malformed, "'{}' is no hexadecimal text", hex);
  return bytes;
}

struct Outcome {
  bool match = false;
  std::string text;  // the disassembly, or why there is none
};

struct Manner {
  Target target;
  WaveSize wave;
  Halves halves;
};

Outcome try_row(const Manner& manner, const std::vector<uint8_t>& bytes, std::string_view expected) {
  const Target target = manner.target;
  Result<Inst> inst = decode(target, Bytes(bytes), manner.wave);
  if (!inst.ok()) return {false, inst.error().message};
  Outcome outcome{false, disassemble(target, *inst, manner.halves)};
  outcome.match = inst->size == bytes.size() && outcome.text == expected;
  if (!outcome.match && info(target).generation <= Generation::gfx7)
    outcome.match = same_instruction(*inst, outcome.text, expected);
  return outcome;
}

}  // namespace

Result<TsvReport> compare_tsv(Target target, std::string_view text) {
  return compare_tsv(target, text, default_wave(target));
}

Result<TsvReport> compare_tsv(Target target, std::string_view text, WaveSize wave, Halves halves) {
  TsvReport report;
  take(text, '\n');
  for (int line = 2; !text.empty(); line++) {
    std::string_view row = take(text, '\n');
    if (row.empty()) continue;
    std::array<std::string_view, 6> column;
    for (auto& field : column) field = take(row, '\t');
    const auto [format, opcode, mnemonic, hex, expected, roundtrip] = column;
    if (roundtrip.empty()) return make_error(ErrorCode::malformed, "line {} has not six columns", line);
    MORGANA_TRY(const std::vector<uint8_t> bytes, parse_hex(hex));

    const Outcome outcome = try_row({target, wave, halves}, bytes, expected);
    const bool sure = roundtrip == "1" || roundtrip == "2";
    (sure ? report.total : report.doubtful_total)++;
    if (outcome.match)
      (sure ? report.matched : report.doubtful_matched)++;
    else
      (sure ? report.differences : report.doubtful_differences)
          .push_back(fmt::format("{} {} {} {}: expected '{}', got '{}'", info(target).name, format, mnemonic,
                                 hex, expected, outcome.text));
  }
  return report;
}

}  // namespace morgana::isa
