#include "device/testing/vectors.h"

#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "device/isa/decode.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxFile = uint64_t{256} << 20;

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return make_error(ErrorCode::io, "cannot open {}", path);
  std::stringstream buffer;
  buffer << file.rdbuf();
  std::string bytes = std::move(buffer).str();
  if (!path.ends_with(".zst")) return bytes;
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxFile)
    return make_error(ErrorCode::malformed, "{} is no zstd file of known size", path);
  std::string text(size, '\0');
  const size_t got = ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) || got != size)
    return make_error(ErrorCode::malformed, "{}: {}", path, ZSTD_getErrorName(got));
  return text;
}

uint64_t hex_value(const Json& value) {
  uint64_t number = 0;
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

// The number behind a one-letter prefix ("v20"), or -1.
int register_number(const std::string& name, char prefix) {
  int number = -1;
  if (name.size() < 2 || name[0] != prefix) return -1;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return -1;
  return number >= 0 && number < 256 ? number : -1;
}

// --- Comparison of values (conformance/isa/README.md) ---

enum class Tolerance { none, ulps, relative };

Tolerance tolerance_of(const std::string& mnemonic) {
  for (const char* name : {"v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_"})
    if (mnemonic.starts_with(name)) return mnemonic.ends_with("f64") ? Tolerance::relative : Tolerance::ulps;
  return Tolerance::none;
}

bool is_nan32(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }
bool is_nan16(uint32_t bits) { return (bits & 0x7fff) > 0x7c00; }

// Distance in units of the last place, by the order of floats as integers.
int64_t ulps(uint32_t a, uint32_t b, uint32_t sign) {
  const auto order = [&](uint32_t bits) {
    return bits & sign ? -static_cast<int64_t>(bits & (sign - 1)) : static_cast<int64_t>(bits);
  };
  return std::abs(order(a) - order(b));
}

bool same_half(uint32_t got, uint32_t want, Tolerance tolerance) {
  got &= 0xffff;
  want &= 0xffff;
  if (got == want || (is_nan16(got) && is_nan16(want))) return true;
  return tolerance == Tolerance::ulps && !is_nan16(got) && !is_nan16(want) && ulps(got, want, 0x8000) <= 2;
}
bool same_brain(uint32_t got, uint32_t want) {
  got &= 0xffff;
  want &= 0xffff;
  return got == want || (is_nan32(got << 16) && is_nan32(want << 16));
}
bool same_float(uint32_t got, uint32_t want, Tolerance tolerance) {
  if (got == want || (is_nan32(got) && is_nan32(want))) return true;
  return tolerance == Tolerance::ulps && !is_nan32(got) && !is_nan32(want) &&
         ulps(got, want, 0x80000000u) <= 2;
}
bool same_double(uint64_t got, uint64_t want, Tolerance tolerance) {
  double a, b;
  std::memcpy(&a, &got, 8);
  std::memcpy(&b, &want, 8);
  if (got == want || (std::isnan(a) && std::isnan(b))) return true;
  return tolerance == Tolerance::relative && std::abs(a - b) <= std::abs(b) * 0x1p-24;
}

// How the registers of a destination are compared.
enum class Kind { bits, half, brain, single, wide };

Kind kind_of(isa::Type type) {
  using isa::Type;
  switch (type) {
    case Type::f16:
    case Type::pk_f16: return Kind::half;
    case Type::bf16:
    case Type::pk_bf16: return Kind::brain;
    case Type::f32:
    case Type::pk_f32: return Kind::single;
    case Type::f64: return Kind::wide;
    default: return Kind::bits;
  }
}

// --- One record ---

class Case {
 public:
  Case(const Json& record, Target target)
      : record_(record),
        in_(record["in"]),
        out_(record["out"]),
        target_(target),
        mnemonic_(record.value("m", "")) {}

  enum class Outcome { passed, failed, unimplemented };
  Outcome run();
  const std::string& message() const { return message_; }

 private:
  Outcome run_scalar_cases(WaveRig& rig);
  Outcome run_wave(WaveRig& rig);
  void set(WaveRig& rig, const std::string& name, const Json& value);
  uint32_t get(WaveRig& rig, const std::string& name);
  bool compare_vector(WaveRig& rig, int number, const Json& want);
  bool compare_scalar(WaveRig& rig, const std::string& name, uint64_t want);
  bool finished(WaveRig& rig, Outcome& outcome);
  bool differ(std::string what) {
    if (message_.empty()) message_ = fmt::format("{}: {}", record_.value("asm", mnemonic_), what);
    return false;
  }

  const Json& record_;
  const Json& in_;
  const Json& out_;
  Target target_;
  std::string mnemonic_, message_;
  isa::Inst inst_;
  uint64_t exec_ = ~uint64_t{0};
};

void Case::set(WaveRig& rig, const std::string& name, const Json& value) {
  Wave& wave = rig.wave();
  if (name == "vcc") {
    wave.vcc() = hex_value(value);
  } else if (name == "exec") {
    wave.exec() = hex_value(value);
  } else if (name == "scc") {
    wave.scc = static_cast<uint32_t>(hex_value(value));
  } else if (name == "m0") {
    wave.m0() = static_cast<uint32_t>(hex_value(value));
  } else if (const int s = register_number(name, 's'); s >= 0) {
    wave.s[s] = static_cast<uint32_t>(hex_value(value));
  } else if (const int v = std::max(register_number(name, 'v'), register_number(name, 'a')); v >= 0) {
    for (int lane = 0; lane < kLanes && lane < static_cast<int>(value.size()); lane++)
      (name[0] == 'v' ? rig.v(v, lane) : rig.a(v, lane)) = static_cast<uint32_t>(hex_value(value[lane]));
  }
}

uint32_t Case::get(WaveRig& rig, const std::string& name) {
  Wave& wave = rig.wave();
  if (name == "scc") return wave.scc;
  if (name == "m0") return wave.m0();
  if (name == "exec_lo") return wave.s[126];
  if (name == "exec_hi") return wave.s[127];
  if (name == "vcc_lo") return wave.s[106];
  if (name == "vcc_hi") return wave.s[107];
  const int s = register_number(name, 's');
  return s >= 0 ? wave.s[s] : 0;
}

bool Case::finished(WaveRig& rig, Outcome& outcome) {
  if (rig.run() == Exit::ended) return true;
  outcome = rig.group().fault.kind == FaultKind::unimplemented ? Outcome::unimplemented : Outcome::failed;
  return differ(
      fmt::format("stopped by a fault: {} {}", name(rig.group().fault.kind), rig.group().fault.detail));
}

bool Case::compare_vector(WaveRig& rig, int number, const Json& want) {
  const std::vector<int> skip = record_.value("skip", std::vector<int>{});
  const bool low_half_only = record_.value("hi16", "") == "unverified";
  const isa::Operand& dst = inst_.dst[0];
  const bool of_dst =
      dst.is_vgpr() && number >= dst.code - isa::kVgprBase && number < dst.code - isa::kVgprBase + dst.dwords;
  const Kind kind = of_dst ? kind_of(dst.type) : Kind::bits;
  const Tolerance tolerance = tolerance_of(mnemonic_);
  for (int lane = 0; lane < kLanes && lane < static_cast<int>(want.size()); lane++) {
    if (std::find(skip.begin(), skip.end(), lane) != skip.end()) continue;
    const uint32_t got = rig.v(number, lane), expected = static_cast<uint32_t>(hex_value(want[lane]));
    const bool active = exec_ >> lane & 1;
    bool same = got == expected;
    if (!same && active) {
      switch (kind) {
        case Kind::bits: same = low_half_only && (got & 0xffff) == (expected & 0xffff); break;
        case Kind::half:
          same = same_half(got, expected, tolerance) &&
                 (low_half_only || same_half(got >> 16, expected >> 16, tolerance));
          break;
        case Kind::brain: same = same_brain(got, expected) && same_brain(got >> 16, expected >> 16); break;
        case Kind::single: same = same_float(got, expected, tolerance); break;
        case Kind::wide: {
          // Judged on the pair, whichever register is at hand.
          const int low = number - (number - (dst.code - isa::kVgprBase)) % 2;
          const auto pair = [&](auto word) { return word(low) | uint64_t{word(low + 1)} << 32; };
          const uint64_t got64 = pair([&](int r) { return rig.v(r, lane); });
          const uint64_t want64 = pair([&](int r) {
            const std::string key = fmt::format("v{}", r);
            return out_.contains(key) ? static_cast<uint32_t>(hex_value(out_[key][lane])) : rig.v(r, lane);
          });
          same = same_double(got64, want64, tolerance);
          break;
        }
      }
    }
    if (!same)
      return differ(fmt::format("v{} lane {}: {:08x}, expected {:08x}", number, lane, got, expected));
  }
  return true;
}

bool Case::compare_scalar(WaveRig& rig, const std::string& name, uint64_t want) {
  // Carry and compare masks: the bits of active lanes count.
  const bool is_mask = (inst_.row->flags & isa::kLaneMaskDst) && !name.starts_with("exec");
  if (name == "vcc") {
    const uint64_t care = is_mask ? exec_ : ~uint64_t{0};
    const uint64_t got = rig.wave().vcc();
    if (((got ^ want) & care) == 0) return true;
    return differ(fmt::format("vcc: {:016x}, expected {:016x}", got, want));
  }
  const int number = register_number(name, 's');
  const bool high = number % 2 == 1 || name == "vcc_hi";
  const uint32_t care = is_mask ? static_cast<uint32_t>(high ? exec_ >> 32 : exec_) : ~0u;
  const uint32_t got = get(rig, name);
  if (((got ^ static_cast<uint32_t>(want)) & care) == 0) return true;
  return differ(fmt::format("{}: {:08x}, expected {:08x}", name, got, want));
}

Case::Outcome Case::run_wave(WaveRig& rig) {
  if (record_.contains("exec")) exec_ = hex_value(record_["exec"]);
  for (const auto& [name, value] : in_.items()) set(rig, name, value);
  rig.wave().exec() = exec_;
  Outcome outcome = Outcome::failed;
  if (!finished(rig, outcome)) return outcome;
  for (const auto& [name, value] : out_.items()) {
    const int v = register_number(name, 'v');
    if (v >= 0 ? !compare_vector(rig, v, value) : !compare_scalar(rig, name, hex_value(value)))
      return Outcome::failed;
  }
  for (const auto& [name, value] : in_.items()) {
    const int v = register_number(name, 'v');
    if (v >= 0 && !out_.contains(name) && !compare_vector(rig, v, value)) return Outcome::failed;
  }
  return Outcome::passed;
}

Case::Outcome Case::run_scalar_cases(WaveRig& rig) {
  const size_t cases = record_["cases"].get<size_t>();
  for (size_t i = 0; i < cases && i < out_.size(); i++) {
    for (const auto& [name, values] : in_.items())
      if (i < values.size()) set(rig, name, values[i]);
    Outcome outcome = Outcome::failed;
    if (!finished(rig, outcome)) return outcome;
    for (const auto& [name, value] : out_[i].items())
      if (!compare_scalar(rig, name, hex_value(value))) return Outcome::failed;
  }
  return Outcome::passed;
}

Case::Outcome Case::run() {
  const std::vector<uint32_t> code = dwords_of_hex(record_.value("hex", ""));
  Result<isa::Inst> inst = isa::decode(target_, Bytes(code.data(), code.size() * 4));
  if (!inst.ok()) {
    differ(inst.error().message);
    return Outcome::failed;
  }
  inst_ = *inst;
  RigOptions options;
  options.vgprs = info(target_).unified_vgprs ? 512 : 256;
  options.accum_offset = 256;
  const Json mode = record_.value("mode", Json::object());
  options.float_mode = mode.value("fp_round", 0u) | mode.value("fp_denorm", 15u) << 4;
  options.ieee = mode.value("ieee", 1) != 0;
  options.dx10_clamp = mode.value("dx10_clamp", 1) != 0;
  WaveRig rig(target_, code, options);
  return record_.contains("cases") ? run_scalar_cases(rig) : run_wave(rig);
}

}  // namespace

Result<VectorReport> run_vectors(const std::string& path, Target target, const VectorOptions& options) {
  MORGANA_TRY(const std::string text, read_text(path));
  VectorReport report;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    number++;
    if (line.empty()) continue;
    const Json record = Json::parse(line, nullptr, false);
    if (!record.is_object() || !record.contains("in") || !record.contains("out") || !record["in"].is_object())
      return make_error(ErrorCode::malformed, "{}:{}: no record", path, number);
    if (!options.doubtful && record.value("chk", "") == "oracle") {
      report.doubtful++;
      continue;
    }
    Case one(record, target);
    VectorReport::Count& count = report.by_mnemonic[record.value("m", "?")];
    switch (one.run()) {
      case Case::Outcome::passed: count.passed++, report.total.passed++; break;
      case Case::Outcome::unimplemented: count.unimplemented++, report.total.unimplemented++; break;
      case Case::Outcome::failed:
        count.failed++, report.total.failed++;
        if (report.messages.size() < options.max_messages)
          report.messages.push_back(fmt::format("{}:{}: {}", path, number, one.message()));
        break;
    }
  }
  return report;
}

}  // namespace morgana::device
