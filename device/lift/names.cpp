#include <array>

#include "device/lift/ir.h"

namespace morgana::device::lift {
namespace {

template <size_t N, class E>
const char* at(const std::array<const char*, N>& names, E value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : "?";
}

}  // namespace

const char* name(Kind kind) {
  static constexpr std::array kNames = {"none",    "bit",  "s32",    "s64", "lanes32",
                                        "lanes64", "mask", "memory", "exit"};
  return at(kNames, kind);
}

const char* name(Operation operation) {
  static constexpr std::array kNames = {"input", "parameter", "constant", "compute", "splat",
                                        "join",  "mask",      "bits",     "merge",   "function",
                                        "call",  "access",    "part",     "exit"};
  return at(kNames, operation);
}

const char* name(Ending ending) {
  static constexpr std::array kNames = {"jump", "branch", "barrier", "call", "end", "leave"};
  return at(kNames, ending);
}

const char* name(isa::Fn fn) {
  static constexpr std::array kNames = {"source",
                                        "constant",
                                        "signed_immediate",
                                        "unsigned_immediate",
                                        "scc",
                                        "vcc",
                                        "exec",
                                        "result",
                                        "old",
                                        "next_pc",
                                        "invert",
                                        "bit_count",
                                        "reverse",
                                        "leading_zeros",
                                        "trailing_zeros",
                                        "to_64",
                                        "sign_to_64",
                                        "to_32",
                                        "upper",
                                        "add",
                                        "subtract",
                                        "multiply",
                                        "multiply_high",
                                        "multiply_high_signed",
                                        "and",
                                        "or",
                                        "xor",
                                        "shift_left",
                                        "shift_right",
                                        "shift_right_signed",
                                        "least",
                                        "least_signed",
                                        "greatest",
                                        "greatest_signed",
                                        "equal",
                                        "less",
                                        "less_signed",
                                        "select"};
  static_assert(kNames.size() == static_cast<size_t>(isa::Fn::select) + 1);
  return at(kNames, fn);
}

const char* name(isa::Space space) {
  static constexpr std::array kNames = {"none", "constant", "flat",   "global", "scratch",
                                        "lds",  "gds",      "buffer", "image"};
  return at(kNames, space);
}

const char* name(isa::Direction direction) {
  static constexpr std::array kNames = {"none", "load", "store", "atomic"};
  return at(kNames, direction);
}

const char* name(isa::Type type) {
  static constexpr std::array kNames = {
      "none", "b8",     "b16",    "b32",    "b64",    "b96",     "b128",   "b160",   "b192",
      "b256", "b320",   "b384",   "b512",   "b1024",  "i8",      "u8",     "i16",    "u16",
      "i24",  "u24",    "i32",    "u32",    "i64",    "u64",     "f16",    "bf16",   "f32",
      "f64",  "pk_b16", "pk_i16", "pk_u16", "pk_f16", "pk_bf16", "pk_f32", "pk_b32", "mask"};
  static_assert(kNames.size() == static_cast<size_t>(isa::Type::mask) + 1);
  return at(kNames, type);
}

std::string name_of(Register code) {
  switch (code) {
    case isa::kVccLo: return "vcc";
    case isa::kM0: return "m0";
    case isa::kExecLo: return "exec";
    case kScc: return "scc";
    case kMemory: return "memory";
    case kCallee: return "callee";
    default: return (code >= kVector ? "v" : "s") + std::to_string(code >= kVector ? code - kVector : code);
  }
}

}  // namespace morgana::device::lift
