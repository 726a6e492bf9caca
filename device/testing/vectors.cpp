#include "device/testing/vectors.h"

#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "device/isa/decode.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {

Result<std::string> read_text(const std::string& path) {
  constexpr uint64_t kMaxFile = uint64_t{256} << 20;
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

namespace {

using Json = nlohmann::json;

uint64_t hex_value(const Json& value) {
  uint64_t number = 0;
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

// A vector register: an array of lanes, or one value for all of them.
int lanes_of(const Json& value) {
  return value.is_array() ? std::min(kLanes, static_cast<int>(value.size())) : kLanes;
}
uint32_t lane_value(const Json& value, int lane) {
  return static_cast<uint32_t>(hex_value(value.is_array() ? value[static_cast<size_t>(lane)] : value));
}

// The number behind a one-letter prefix ("v20"), or -1.
int register_number(const std::string& name, char prefix) {
  int number = -1;
  if (name.size() < 2 || name[0] != prefix) return -1;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return -1;
  return number >= 0 && number < 256 ? number : -1;
}

uint32_t scalar_register(WaveRig& rig, const std::string& name) {
  Wave& wave = rig.wave();
  if (name == "scc") return wave.scc;
  if (name == "m0") return wave.m0();
  if (name == "exec_lo" || name == "exec") return wave.s[isa::kExecLo];
  if (name == "exec_hi") return wave.s[isa::kExecHi];
  if (name == "vcc_lo" || name == "vcc") return wave.s[isa::kVccLo];
  if (name == "vcc_hi") return wave.s[isa::kVccHi];
  const int s = register_number(name, 's');
  return s >= 0 ? wave.s[s] : 0;
}

// The number of a VGPR or AccVGPR, or -1.
int vector_number(const std::string& name) {
  return std::max(register_number(name, 'v'), register_number(name, 'a'));
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

// The results of matrices have their element's type in the name only.
Kind kind_of_result(const isa::Inst& inst) {
  const std::string_view name = inst.row->mnemonic;
  if (!(inst.row->flags & isa::kMfma)) return kind_of(inst.dst[0].type);
  if (name.starts_with("v_mfma_f64")) return Kind::wide;
  return name.find("c_i32") == name.npos && name.find("a_i32") == name.npos ? Kind::single : Kind::bits;
}

// --- One record ---

// What has executed the rig's code.
std::string describe(const WaveRig& rig) {
  if (rig.kernel() == nullptr) return "interpreter: " + rig.why_interpreted();
  const jit::Kernel::Shares& shares = rig.kernel()->shares();
  if (shares.leaves) return "compiled code, from some instruction on the interpreter";
  return shares.by_handlers ? "compiled code, some instructions by handlers" : "compiled code";
}

// The encoding, with what lengthens it; matrices apart.
std::string encoding_name(const isa::Inst& inst) {
  if (inst.row == nullptr) return "?";
  std::string text = isa::name(inst.format);
  if (inst.row->flags & (isa::kMfma | isa::kSmfmac)) text += " matrix";
  if (inst.sdwa) text += " SDWA";
  if (inst.dpp) text += " DPP";
  return text;
}

std::string mnemonic_of(const Json& record) {
  if (record.contains("m")) return record.value("m", "");
  const std::string text = record.value("asm", "?");
  return text.substr(0, text.find(' '));
}

class Case {
 public:
  Case(const Json& record, Target target, const VectorOptions& options)
      : record_(record),
        in_(record["in"]),
        out_(record["out"]),
        target_(target),
        options_(options),
        mnemonic_(mnemonic_of(record)) {}

  enum class Outcome { passed, failed, unimplemented };
  Outcome run();
  const std::string& message() const { return message_; }
  const std::string& executed_by() const { return executed_by_; }
  const isa::Row* row() const { return inst_.row; }
  const isa::Inst& inst() const { return inst_; }

 private:
  Outcome run_scalar_cases(WaveRig& rig);
  Outcome run_wave(WaveRig& rig);
  void set_memory(WaveRig& rig);
  bool compare_memory(WaveRig& rig);
  uint32_t* memory() {
    return reinterpret_cast<uint32_t*>((reinterpret_cast<uint64_t>(memory_.data()) + kPage - 1) &
                                       ~(kPage - 1));
  }
  void set(WaveRig& rig, const std::string& name, const Json& value);
  bool compare_vector(WaveRig& rig, const std::string& name, const Json& want);
  bool compare_scalar(WaveRig& rig, const std::string& name, uint64_t want);
  bool finished(WaveRig& rig, Outcome& outcome);
  // Lanes, or cases of a scalar record, whose value nobody vouches for.
  std::vector<int> skipped() const { return record_.value("skip", std::vector<int>{}); }
  Result<std::vector<uint32_t>> code() const;
  bool differ(std::string what) {
    if (message_.empty()) message_ = fmt::format("{}: {}", record_.value("asm", mnemonic_), what);
    return false;
  }

  const Json& record_;
  const Json& in_;
  const Json& out_;
  Target target_;
  const VectorOptions& options_;
  std::string mnemonic_, message_, executed_by_;
  isa::Inst inst_;
  uint64_t exec_ = ~uint64_t{0};
  // Guest memory, which begins at a page: what the base of an image counts in.
  static constexpr uint64_t kPage = 256;
  std::vector<uint32_t> memory_;
};

// Memory, LDS and the registers that point into memory ("pointers": byte offsets, a pair of registers each;
// "pages": the bases of image resources). What the upper register holds besides is in `in`.
void Case::set_memory(WaveRig& rig) {
  const Json none = Json::object(), pointers = record_.value("pointers", none),
             pages = record_.value("pages", none);
  const Json &words = record_.contains("memory") ? record_["memory"] : none,
             &lds = record_.contains("lds") ? record_["lds"] : none;
  memory_.assign(words.size() + 2 * kPage / 4, 0xdeadbeef);
  for (size_t i = 0; i < words.size(); i++) memory()[i] = lane_value(words, static_cast<int>(i));
  for (size_t i = 0; i < lds.size(); i++)
    reinterpret_cast<uint32_t*>(rig.group().lds)[i] = lane_value(lds, static_cast<int>(i));
  const auto address = reinterpret_cast<uint64_t>(memory());
  for (const auto& [name, offset] : pointers.items()) {
    if (const int s = register_number(name, 's'); s >= 0) {
      rig.s(s) = static_cast<uint32_t>(address + hex_value(offset));
      rig.s(s + 1) |= static_cast<uint32_t>((address + hex_value(offset)) >> 32);
    } else if (const int v = register_number(name, 'v'); v >= 0) {
      for (int lane = 0; lane < lanes_of(offset); lane++) {
        rig.v(v, lane) = static_cast<uint32_t>(address + lane_value(offset, lane));
        rig.v(v + 1, lane) = static_cast<uint32_t>((address + lane_value(offset, lane)) >> 32);
      }
    }
  }
  for (const auto& [name, offset] : pages.items()) {
    const int s = register_number(name, 's');
    if (s < 0) continue;
    rig.s(s) = static_cast<uint32_t>((address + hex_value(offset)) / kPage);
    rig.s(s + 1) |= static_cast<uint32_t>((address + hex_value(offset)) / kPage >> 32);
  }
}

// Memory and LDS afterwards: as `memory_out` and `lds_out` say, or unchanged.
bool Case::compare_memory(WaveRig& rig) {
  const auto compare = [&](const char* name, const uint32_t* got) {
    const std::string after = std::string(name) + "_out";
    if (!record_.contains(name)) return true;
    const Json& want = record_[record_.contains(after) ? after : std::string(name)];
    for (size_t i = 0; i < record_[name].size(); i++) {
      const uint32_t expected = lane_value(want, static_cast<int>(i));
      if (got[i] != expected)
        return differ(fmt::format("{} dword {}: {:08x}, expected {:08x}", name, i, got[i], expected));
    }
    return true;
  };
  return compare("memory", memory()) && compare("lds", reinterpret_cast<uint32_t*>(rig.group().lds));
}

void Case::set(WaveRig& rig, const std::string& name, const Json& value) {
  Wave& wave = rig.wave();
  // Both halves, also where a wave of 32 uses one.
  const auto set_pair = [&](uint32_t code) {
    wave.s[code] = static_cast<uint32_t>(hex_value(value));
    wave.s[code + 1] = static_cast<uint32_t>(hex_value(value) >> 32);
  };
  if (name == "vcc") {
    set_pair(isa::kVccLo);
  } else if (name == "exec") {
    set_pair(isa::kExecLo);
  } else if (name == "scc") {
    wave.scc = static_cast<uint32_t>(hex_value(value));
  } else if (name == "m0") {
    wave.m0() = static_cast<uint32_t>(hex_value(value));
  } else if (const int s = register_number(name, 's'); s >= 0) {
    wave.s[s] = static_cast<uint32_t>(hex_value(value));
  } else if (const int v = vector_number(name); v >= 0) {
    for (int lane = 0; lane < lanes_of(value); lane++)
      (name[0] == 'v' ? rig.v(v, lane) : rig.a(v, lane)) = lane_value(value, lane);
  }
}

bool Case::finished(WaveRig& rig, Outcome& outcome) {
  const Exit exit = options_.execute(rig);
  executed_by_ = describe(rig);
  if (exit == Exit::ended) return true;
  outcome = rig.group().fault.kind == FaultKind::unimplemented ? Outcome::unimplemented : Outcome::failed;
  return differ(
      fmt::format("stopped by a fault: {} {}", name(rig.group().fault.kind), rig.group().fault.detail));
}

bool Case::compare_vector(WaveRig& rig, const std::string& name, const Json& want) {
  const int number = vector_number(name);
  const bool acc = name[0] == 'a';
  const auto word = [&](int r, int lane) { return acc ? rig.a(r, lane) : rig.v(r, lane); };
  const int base = acc ? isa::kAgprBase : isa::kVgprBase;
  const std::vector<int> skip = skipped();
  const bool low_half_only = record_.value("hi16", "") == "unverified";
  const isa::Operand& dst = inst_.dst[0];
  const auto is_of = [&](const isa::Operand& operand) {
    return (acc ? operand.is_agpr() : operand.is_vgpr()) && number >= operand.code - base &&
           number < operand.code - base + operand.dwords;
  };
  Kind kind = is_of(dst) ? kind_of_result(inst_) : Kind::bits;
  if (inst_.second != nullptr && is_of(inst_.dst[1])) kind = kind_of(inst_.dst[1].type);
  const Tolerance tolerance = tolerance_of(mnemonic_);
  // One value stands for the one active lane.
  for (int lane = 0; lane < (want.is_array() ? lanes_of(want) : 1); lane++) {
    if (std::find(skip.begin(), skip.end(), lane) != skip.end()) continue;
    const uint32_t got = word(number, lane), expected = lane_value(want, lane);
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
          const int low = number - (number - (dst.code - base)) % 2;
          const auto pair = [&](auto of) { return of(low) | uint64_t{of(low + 1)} << 32; };
          const uint64_t got64 = pair([&](int r) { return word(r, lane); });
          const uint64_t want64 = pair([&](int r) {
            const std::string key = fmt::format("{}{}", name[0], r);
            return out_.contains(key) ? lane_value(out_[key], lane) : word(r, lane);
          });
          same = same_double(got64, want64, tolerance);
          break;
        }
      }
    }
    if (!same) return differ(fmt::format("{} lane {}: {:08x}, expected {:08x}", name, lane, got, expected));
  }
  return true;
}

bool Case::compare_scalar(WaveRig& rig, const std::string& name, uint64_t want) {
  const std::vector<std::string> undefined = record_.value("undef", std::vector<std::string>{});
  if (std::find(undefined.begin(), undefined.end(), name) != undefined.end()) return true;
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
  const uint32_t got = scalar_register(rig, name);
  if (((got ^ static_cast<uint32_t>(want)) & care) == 0) return true;
  if (inst_.n_dst > 0 && number == inst_.dst[0].code) {
    const auto expected = static_cast<uint32_t>(want);
    const Tolerance tolerance = tolerance_of(mnemonic_);
    if (inst_.dst[0].type == isa::Type::f32 && same_float(got, expected, tolerance)) return true;
    if (isa::is_f16(inst_.dst[0].type) && same_half(got, expected, tolerance) &&
        same_half(got >> 16, expected >> 16, tolerance))
      return true;
  }
  return differ(fmt::format("{}: {:08x}, expected {:08x}", name, got, want));
}

Case::Outcome Case::run_wave(WaveRig& rig) {
  // Without EXEC the record is of one work-item.
  exec_ = record_.contains("exec") ? hex_value(record_["exec"]) : 1;
  for (const auto& [name, value] : in_.items()) set(rig, name, value);
  set_memory(rig);
  rig.wave().set_exec(exec_);
  Outcome outcome = Outcome::failed;
  if (!finished(rig, outcome)) return outcome;
  for (const auto& [name, value] : out_.items()) {
    if (vector_number(name) >= 0 ? !compare_vector(rig, name, value)
                                 : !compare_scalar(rig, name, hex_value(value)))
      return Outcome::failed;
  }
  for (const auto& [name, value] : in_.items()) {
    if (vector_number(name) >= 0 && !out_.contains(name) && !compare_vector(rig, name, value))
      return Outcome::failed;
  }
  return compare_memory(rig) ? Outcome::passed : Outcome::failed;
}

Case::Outcome Case::run_scalar_cases(WaveRig& rig) {
  const size_t cases = record_["cases"].get<size_t>();
  const std::vector<int> skip = skipped();
  for (size_t i = 0; i < cases && i < out_.size(); i++) {
    for (const auto& [name, values] : in_.items())
      if (i < values.size()) set(rig, name, values[i]);
    Outcome outcome = Outcome::failed;
    if (!finished(rig, outcome)) return outcome;
    if (std::find(skip.begin(), skip.end(), static_cast<int>(i)) != skip.end()) continue;
    for (const auto& [name, value] : out_[i].items())
      if (!compare_scalar(rig, name, hex_value(value))) return Outcome::failed;
  }
  return Outcome::passed;
}

Result<std::vector<uint32_t>> Case::code() const {
  if (record_.contains("hex")) return dwords_of_hex(record_.value("hex", ""));
  if (!options_.assemble) return make_error(ErrorCode::unsupported, "no machine code and no assembler");
  return options_.assemble(target_, record_.value("asm", ""));
}

Case::Outcome Case::run() {
  const Result<std::vector<uint32_t>> code = this->code();
  if (!code.ok()) {
    differ(code.error().message);
    return Outcome::failed;
  }
  RigOptions options;
  if (record_.contains("wave"))
    options.wave_size = record_["wave"] == 32 ? WaveSize::wave32 : WaveSize::wave64;
  Result<isa::Inst> inst = isa::decode(target_, Bytes(code->data(), code->size() * 4),
                                       options.wave_size.value_or(default_wave(target_)));
  if (!inst.ok()) {
    differ(inst.error().message);
    return Outcome::failed;
  }
  inst_ = *inst;
  options.vgprs = info(target_).unified_vgprs ? 512 : 256;
  options.accum_offset = 256;
  const Json mode = record_.value("mode", Json::object());
  options.float_mode = mode.value("fp_round", 0u) | mode.value("fp_denorm", 15u) << 4;
  options.ieee = mode.value("ieee", 1) != 0;
  options.dx10_clamp = mode.value("dx10_clamp", 1) != 0;
  if (record_.contains("lds")) options.group_bytes = static_cast<uint32_t>(record_["lds"].size() * 4);
  WaveRig rig(target_, *code, options);
  return record_.contains("cases") ? run_scalar_cases(rig) : run_wave(rig);
}

// --- A program whose authors observed registers on hardware (hw_facts) ---

// Their float mode: round to even, f32 denormals flushed, f16 and f64 kept.
constexpr uint32_t kObservedMode = 0xc0;
constexpr uint32_t kObservedMemory = 65536;

class ObservedProgram {
 public:
  ObservedProgram(const Json& record, Target target, const VectorOptions& options)
      : record_(record), target_(target), options_(options) {}
  // Empty: the program has no translation to the target.
  std::vector<uint32_t> code() const;
  bool run();
  const std::string& message() const { return message_; }
  const std::string& executed_by() const { return executed_by_; }

 private:
  bool differ(std::string what) {
    message_ = fmt::format("{}: {}", record_.value("test", "?"), what);
    return false;
  }
  bool compare(WaveRig& rig, const std::string& name, const Json& want);

  const Json& record_;
  Target target_;
  const VectorOptions& options_;
  std::string message_, executed_by_;
};

bool ObservedProgram::compare(WaveRig& rig, const std::string& name, const Json& want) {
  if (const int v = register_number(name, 'v'); v >= 0) {
    for (const auto& [lane_text, value] : want.items()) {
      int lane = -1;
      std::from_chars(lane_text.data(), lane_text.data() + lane_text.size(), lane);
      if (lane < 0 || lane >= kLanes) return differ("no lane " + lane_text);
      const auto width = static_cast<int>(rig.wave().lane_count());
      const Wave& wave = rig.wave(static_cast<uint32_t>(lane / width));
      const uint32_t got = wave.v[v * kLanes + lane % width],
                     expected = static_cast<uint32_t>(hex_value(value));
      if (got != expected && !(is_nan32(got) && is_nan32(expected)))
        return differ(fmt::format("v{} lane {}: {:08x}, expected {:08x}", v, lane, got, expected));
    }
    return true;
  }
  const uint32_t got = scalar_register(rig, name), expected = static_cast<uint32_t>(hex_value(want));
  return got == expected || differ(fmt::format("{}: {:08x}, expected {:08x}", name, got, expected));
}

std::vector<uint32_t> ObservedProgram::code() const {
  const bool is_rdna = info(target_).generation >= Generation::gfx10;
  const auto found = record_.find(is_rdna ? fmt::format("{}_hex", info(target_).name) : "gfx950_hex");
  return found != record_.end() && found->is_string() ? dwords_of_hex(found->get<std::string>())
                                                      : std::vector<uint32_t>();
}

bool ObservedProgram::run() {
  RigOptions options;
  options.vgprs = info(target_).unified_vgprs ? 512 : 256;
  options.accum_offset = 256;
  options.float_mode = kObservedMode;
  options.group_bytes = kObservedMemory;
  options.private_bytes = 4096;
  const int lanes = std::clamp(record_.value("n_lanes", 1), 1, kLanes);
  options.items = static_cast<uint32_t>(lanes);
  WaveRig rig(target_, code(), options);  // of two waves if need be
  // Their harness leaves the lane number in v255, and in s[80:81] a pointer to the address of some memory.
  std::vector<uint64_t> memory(kObservedMemory / 8);
  const auto argument = reinterpret_cast<uint64_t>(memory.data() + memory.size() / 2);
  const uint32_t waves = rig.group().wave_count, width = rig.wave().lane_count();
  for (uint32_t w = 0; w < waves; w++) {
    Wave& wave = rig.wave(w);
    wave.s[80] = static_cast<uint32_t>(reinterpret_cast<uint64_t>(&argument));
    wave.s[81] = static_cast<uint32_t>(reinterpret_cast<uint64_t>(&argument) >> 32);
    for (uint32_t lane = 0; lane < kLanes; lane++) wave.v[255 * kLanes + lane] = w * width + lane;
  }
  const Exit exit = waves > 1 ? rig.run_group(false) : options_.execute(rig);
  executed_by_ = describe(rig);
  if (exit != Exit::ended)
    return differ(
        fmt::format("stopped by a fault: {} {}", name(rig.group().fault.kind), rig.group().fault.detail));
  for (const auto& [name, want] : record_["observed"].items())
    if (!compare(rig, name, want)) return false;
  return true;
}

// --- A file ---

class FileRun {
 public:
  FileRun(std::string path, Target target, VectorOptions options)
      : path_(std::move(path)), target_(target), options_(std::move(options)) {
    if (!options_.execute) options_.execute = [](WaveRig& rig) { return rig.run(); };
  }
  Status run(const Json& record, int number);
  VectorReport report;

 private:
  void run_case(const Json& record, int number, bool doubtful);
  bool judge_announced(int number, bool passed);
  void note(std::vector<std::string>& messages, int number, const std::string& what) {
    if (messages.size() < options_.max_messages)
      messages.push_back(fmt::format("{}:{}: {}", path_, number, what));
  }

  std::string path_;
  Target target_;
  VectorOptions options_;
};

// A record that fails as announced counts for nothing; one that passes all the same is a failure.
bool FileRun::judge_announced(int number, bool passed) {
  const std::string path = std::filesystem::absolute(path_).string();
  const auto found = std::find_if(
      options_.expected_failures.begin(), options_.expected_failures.end(), [&](const auto& announced) {
        return announced.first.second == number && path.ends_with("/" + announced.first.first);
      });
  if (found == options_.expected_failures.end()) return false;
  if (!passed) {
    report.expected_failures++;
    return true;
  }
  report.total.failed++;
  report.by_mnemonic["(announced failures)"].failed++;
  note(report.messages, number, fmt::format("passes, though announced to fail: {}", found->second));
  return true;
}

void FileRun::run_case(const Json& record, int number, bool doubtful) {
  Case one(record, target_, options_);
  VectorReport::Count& count = report.by_mnemonic[mnemonic_of(record)];
  const Case::Outcome outcome = one.run();
  if (!one.executed_by().empty()) report.executed_by[{encoding_name(one.inst()), one.executed_by()}]++;
  if (judge_announced(number, outcome == Case::Outcome::passed)) return;
  switch (outcome) {
    case Case::Outcome::passed:
      report.rows.insert(one.row());
      (doubtful ? count.doubtful_passed : count.passed)++;
      (doubtful ? report.total.doubtful_passed : report.total.passed)++;
      break;
    case Case::Outcome::unimplemented:
      count.unimplemented++, report.total.unimplemented++;
      note(report.messages, number, one.message());
      break;
    case Case::Outcome::failed:
      (doubtful ? count.doubtful_failed : count.failed)++;
      (doubtful ? report.total.doubtful_failed : report.total.failed)++;
      note(doubtful ? report.doubtful_messages : report.messages, number, one.message());
      break;
  }
}

Status FileRun::run(const Json& record, int number) {
  if (record.is_object() && record.contains("observed")) {
    ObservedProgram program(record, target_, options_);
    if (program.code().empty()) {
      report.not_on_target++;
      return {};
    }
    const bool passed = program.run();
    report.executed_by[{"program", program.executed_by()}]++;
    if (judge_announced(number, passed)) return {};
    const std::string test = record.value("test", "?");
    VectorReport::Count& count = report.by_mnemonic[test.substr(0, test.rfind('.'))];
    (passed ? count.passed : count.failed)++;
    (passed ? report.total.passed : report.total.failed)++;
    if (!passed) note(report.messages, number, program.message());
    return {};
  }
  if (!record.is_object() || !record.contains("in") || !record.contains("out") || !record["in"].is_object())
    return make_error(ErrorCode::malformed, "{}:{}: no record", path_, number);
  const bool doubtful = record.value("chk", "") == "oracle";
  if (doubtful && !options_.doubtful)
    report.doubtful++;
  else
    run_case(record, number, doubtful);
  return {};
}

}  // namespace

Result<Executor> executor_of(std::string_view tier) {
  if (tier == "interp") return Executor([](WaveRig& rig) { return rig.run_interpreted(); });
  if (tier == "jit") return Executor([](WaveRig& rig) { return rig.run_compiled(); });
  return make_error(ErrorCode::invalid_argument, "no tier '{}' (interp, jit)", tier);
}

Status read_expected_failures(const std::string& path, VectorOptions& options) {
  MORGANA_TRY(const std::string text, read_text(path));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    int number = 0;
    if (second != line.npos) std::from_chars(line.data() + first + 1, line.data() + second, number);
    if (number == 0)
      return make_error(ErrorCode::malformed, "{}: '{}' is not FILE, LINE, REASON", path, line);
    options.expected_failures[{line.substr(0, first), number}] = line.substr(second + 1);
  }
  return {};
}

Result<std::set<isa::Op>> ops_of_records(const std::string& path, Target target) {
  MORGANA_TRY(const std::string text, read_text(path));
  std::set<isa::Op> ops;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json record = Json::parse(line, nullptr, false);
    if (!record.is_object()) return make_error(ErrorCode::malformed, "{}: no record", path);
    if (record.value("chk", "") == "oracle") continue;
    const std::string hex = record.contains("observed") ? fmt::format("{}_hex", info(target).name) : "hex";
    if (!record.contains(hex)) continue;
    const std::vector<uint32_t> code = dwords_of_hex(record.value(hex, ""));
    const WaveSize wave = record.value("wave", 64) == 32 ? WaveSize::wave32 : WaveSize::wave64;
    for (size_t at = 0; at < code.size();) {
      const Result<isa::Inst> inst =
          isa::decode(target, Bytes(code.data() + at, (code.size() - at) * 4), wave);
      if (!inst.ok()) return make_error(ErrorCode::malformed, "{}: {}", path, inst.error().message);
      ops.insert(inst->row->op);
      if (inst->second != nullptr) ops.insert(inst->second->op);
      at += inst->size / 4;
    }
  }
  return ops;
}

Result<VectorReport> run_vectors(const std::string& path, Target target, const VectorOptions& options) {
  MORGANA_TRY(const std::string text, read_text(path));
  FileRun file(path, target, options);
  int number = 0;
  if (path.ends_with(".json")) {
    const Json records = Json::parse(text, nullptr, false);
    if (!records.is_array()) return make_error(ErrorCode::malformed, "{}: no array of records", path);
    for (const Json& record : records) {
      MORGANA_CHECK(file.run(record, ++number));
    }
    return std::move(file.report);
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    number++;
    if (line.empty()) continue;
    MORGANA_CHECK(file.run(Json::parse(line, nullptr, false), number));
  }
  return std::move(file.report);
}

}  // namespace morgana::device
