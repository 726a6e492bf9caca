#include "device/testing/memory_model.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <sstream>

#include "device/apertures.h"
#include "device/state/wave.h"

namespace morgana::device {
namespace {

using Bytes16 = std::array<uint8_t, 16>;

bool starts(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }
bool ends(const std::string& text, const std::string& with) {
  return text.size() >= with.size() && text.compare(text.size() - with.size(), with.size(), with) == 0;
}

// "v[10:11]", "a3", "s12", "off", "0".
struct Register {
  char file = 0;
  int number = 0, count = 0;
};
Register register_of(const std::string& text) {
  if (text.empty() || (text[0] != 'v' && text[0] != 's' && text[0] != 'a') || text == "scc") return {};
  if (text[1] != '[') return {text[0], std::stoi(text.substr(1)), 1};
  const size_t colon = text.find(':');
  const int first = std::stoi(text.substr(2)), last = std::stoi(text.substr(colon + 1));
  return {text[0], first, last - first + 1};
}

// What one lane moves.
struct Shape {
  int bytes = 4;
  bool is_signed = false, load = false, store = false, d16 = false, high = false;
};

bool shape_of(const std::string& name, Shape& shape) {
  std::string rest = name;
  if (starts(rest, "load_lds_")) rest = "load_" + rest.substr(9);
  if (starts(rest, "load_"))
    shape.load = true, rest = rest.substr(5);
  else if (starts(rest, "store_"))
    shape.store = true, rest = rest.substr(6);
  else if (starts(rest, "read_"))
    shape.load = true, rest = rest.substr(5);
  else if (starts(rest, "write_"))
    shape.store = true, rest = rest.substr(6);
  else
    return false;
  if (ends(rest, "_d16_hi"))
    shape.d16 = shape.high = true, rest.resize(rest.size() - 7);
  else if (ends(rest, "_d16"))
    shape.d16 = true, rest.resize(rest.size() - 4);
  if (rest == "dword" || rest == "b32")
    shape.bytes = 4;
  else if (rest == "dwordx2" || rest == "b64")
    shape.bytes = 8;
  else if (rest == "dwordx3" || rest == "b96")
    shape.bytes = 12;
  else if (rest == "dwordx4" || rest == "b128")
    shape.bytes = 16;
  else if (rest == "ubyte" || rest == "byte" || rest == "u8" || rest == "b8")
    shape.bytes = 1;
  else if (rest == "sbyte" || rest == "i8")
    shape.bytes = 1, shape.is_signed = true;
  else if (rest == "ushort" || rest == "short" || rest == "u16" || rest == "b16")
    shape.bytes = 2;
  else if (rest == "sshort" || rest == "i16")
    shape.bytes = 2, shape.is_signed = true;
  else
    return false;
  return true;
}

// --- Atomics ---

struct Rules {
  bool flush32_in = false, flush32_out = false, flush64_in = false, flush16_in = false, flush16_out = false;
};

bool nan32(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }
bool nan64(uint64_t x) { return (x & ~(1ull << 63)) > 0x7ff0000000000000ull; }
uint32_t flush32(uint32_t x, bool on) { return on && (x & 0x7f800000) == 0 ? x & 0x80000000 : x; }
uint64_t flush64(uint64_t x, bool on) { return on && (x & 0x7ff0000000000000) == 0 ? x & (1ull << 63) : x; }

uint32_t add32(uint32_t a, uint32_t b, bool in, bool out) {
  a = flush32(a, in), b = flush32(b, in);
  if (nan32(a)) return a | 0x400000;
  if (nan32(b)) return b | 0x400000;
  const auto sum = std::bit_cast<uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
  return nan32(sum) ? 0x7fc00000 : flush32(sum, out);
}
uint64_t add64(uint64_t a, uint64_t b) {
  if (nan64(a)) return a | 1ull << 51;
  if (nan64(b)) return b | 1ull << 51;
  const auto sum = std::bit_cast<uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  return nan64(sum) ? 0x7ff8000000000000 : sum;
}
// Halves by way of doubles, in which their sums are exact.
double half_value(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 0x3ff;
  const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                           : exponent == 31 ? (fraction ? NAN : INFINITY)
                                            : std::ldexp(1024 + fraction, exponent - 25);
  return h >> 15 ? -magnitude : magnitude;
}
uint16_t half_bits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude) || magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < std::ldexp(1, -14))
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  int exponent;
  const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
  const auto rounded = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));
  return static_cast<uint16_t>(sign | (((exponent + 14) << 10) + rounded - 1024));
}
uint16_t add16(uint16_t a, uint16_t b, const Rules& rules) {
  const auto flush = [](uint16_t x, bool on) -> uint16_t { return on && !(x & 0x7c00) ? x & 0x8000 : x; };
  a = flush(a, rules.flush16_in), b = flush(b, rules.flush16_in);
  if ((a & 0x7fff) > 0x7c00) return a | 0x200;
  if ((b & 0x7fff) > 0x7c00) return b | 0x200;
  const double sum = half_value(a) + half_value(b);
  return std::isnan(sum) ? 0x7e00 : flush(half_bits(sum), rules.flush16_out);
}
uint16_t add_bf16(uint16_t a, uint16_t b, const Rules& rules) {
  const uint32_t sum = add32(uint32_t{a} << 16, uint32_t{b} << 16, rules.flush16_in, rules.flush16_out);
  if (nan32(sum)) return static_cast<uint16_t>(sum >> 16);
  const uint32_t rest = sum & 0xffff;
  return static_cast<uint16_t>((sum >> 16) + (rest > 0x8000 || (rest == 0x8000 && (sum >> 16 & 1))));
}

template <class T, class F>
T extreme(T a, T b, T quiet, T sign, T exponent, bool flush, bool want_max) {
  const auto is_nan = [&](T x) { return (x & ~sign) > exponent; };
  const auto key = [&](T x) {
    return flush && !(x & exponent) ? std::bit_cast<F>(x & sign) : std::bit_cast<F>(x);
  };
  if (is_nan(a) && !(a & quiet)) return a | quiet;
  if (is_nan(b) && !(b & quiet)) return b | quiet;
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  const F x = key(a), y = key(b);
  // Of equals, zeros differ by sign; otherwise the memory's value stays.
  if (x == y) return x == 0 && std::signbit(x) != std::signbit(y) && std::signbit(y) != want_max ? b : a;
  return (y > x) == want_max ? b : a;
}

// `two` is the second data operand. False: unknown.
bool atomic_next(const std::string& op, bool wide, uint64_t old, uint64_t data, uint64_t two,
                 const Rules& rules, uint64_t& next) {
  const auto s = [wide](uint64_t x) { return wide ? static_cast<int64_t>(x) : static_cast<int32_t>(x); };
  const auto f32 = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto equal = [&](uint64_t a, uint64_t b) {
    if (wide)
      return std::bit_cast<double>(flush64(a, rules.flush64_in)) ==
             std::bit_cast<double>(flush64(b, rules.flush64_in));
    return std::bit_cast<float>(flush32(f32(a), rules.flush32_in)) ==
           std::bit_cast<float>(flush32(f32(b), rules.flush32_in));
  };
  const auto stored = [&](uint64_t x) {
    return wide ? flush64(x, rules.flush64_in) : flush32(f32(x), rules.flush32_in);
  };
  const auto pick = [&](bool want_max) -> uint64_t {
    if (wide)
      return extreme<uint64_t, double>(old, data, 1ull << 51, 1ull << 63, 0x7ff0000000000000,
                                       rules.flush64_in, want_max);
    return extreme<uint32_t, float>(f32(old), f32(data), 1u << 22, 1u << 31, 0x7f800000, rules.flush32_in,
                                    want_max);
  };
  if (op == "swap" || op == "wrxchg" || op == "write")
    next = data;
  else if (op == "add")
    next = old + data;
  else if (op == "sub")
    next = old - data;
  else if (op == "rsub")
    next = data - old;
  else if (op == "smin")
    next = s(data) < s(old) ? data : old;
  else if (op == "smax")
    next = s(data) > s(old) ? data : old;
  else if (op == "umin")
    next = data < old ? data : old;
  else if (op == "umax")
    next = data > old ? data : old;
  else if (op == "and")
    next = old & data;
  else if (op == "or")
    next = old | data;
  else if (op == "xor")
    next = old ^ data;
  else if (op == "inc")
    next = old >= data ? 0 : old + 1;
  else if (op == "dec")
    next = old == 0 || old > data ? data : old - 1;
  else if (op == "mskor")
    next = (old & ~data) | two;
  else if (op == "cmpswap")
    next = old == two ? data : old;
  else if (op == "cmpst")
    next = old == data ? two : old;
  else if (op == "wrap")
    next = old >= data ? old - data : old + two;
  else if (op == "fcmpswap")
    next = equal(old, two) ? stored(data) : old;
  else if (op == "fcmpst")
    next = equal(old, data) ? stored(two) : old;
  else if (op == "fmin")
    next = pick(false);
  else if (op == "fmax")
    next = pick(true);
  else if (op == "fadd")
    next = wide ? add64(old, data) : add32(f32(old), f32(data), rules.flush32_in, rules.flush32_out);
  else if (op == "pk_add_f16" || op == "pk_add_bf16") {
    const auto add = op == "pk_add_f16" ? add16 : add_bf16;
    next = add(static_cast<uint16_t>(old), static_cast<uint16_t>(data), rules) |
           uint64_t{add(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(data >> 16), rules)} << 16;
  } else
    return false;
  return true;
}

// --- The machine ---

class Model {
 public:
  Model(const MemoryText& text, MemoryState& state) : text_(text), state_(state) {
    offset_ = text.value("offset");
  }

  bool run() {
    const std::string& m = text_.mnemonic;
    if (starts(m, "ds_")) return ds(m.substr(3));
    if (starts(m, "buffer_")) return vector(m.substr(7), 'b');
    if (starts(m, "flat_")) return vector(m.substr(5), 'f');
    if (starts(m, "global_")) return vector(m.substr(7), 'g');
    if (starts(m, "scratch_")) return vector(m.substr(8), 's');
    return false;
  }

 private:
  using Place = std::function<uint8_t*(int)>;  // byte i of the lane's data, nullptr: out of range

  uint32_t& reg(const Register& r, int d, int lane) {
    auto& file = r.file == 'a' ? state_.a : state_.v;
    return file[static_cast<size_t>(r.number + d) * kLanes + static_cast<size_t>(lane)];
  }
  uint32_t scalar(const std::string& text) const {
    const Register r = register_of(text);
    return r.file == 's'   ? state_.s[static_cast<size_t>(r.number)]
           : text == "off" ? 0
                           : static_cast<uint32_t>(std::stoul(text));
  }
  uint64_t scalar64(const std::string& text) const {
    const auto n = static_cast<size_t>(register_of(text).number);
    return state_.s[n] | uint64_t{state_.s[n + 1]} << 32;
  }
  uint8_t* memory(uint64_t address) {
    return address - state_.memory_base < state_.memory.size() ? &state_.memory[address - state_.memory_base]
                                                               : nullptr;
  }
  uint8_t* lds(uint64_t offset, uint64_t limit) { return offset < limit ? &state_.lds[offset] : nullptr; }
  uint8_t* scratch(int lane, uint64_t offset) {
    return offset < state_.scratch_lane_bytes
               ? &state_.scratch[static_cast<size_t>(lane) * state_.scratch_lane_bytes + offset]
               : nullptr;
  }
  bool active(int lane) const { return state_.exec >> lane & 1; }

  static uint64_t read(const Place& place, int bytes, bool& inside) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) {
      const uint8_t* at = place(i);
      if (at == nullptr)
        inside = false;
      else
        value |= uint64_t{*at} << (8 * i);
    }
    return inside ? value : 0;
  }

  void move(const Shape& shape, const Register& r, int lane, const Place& place, bool per_dword) {
    if (shape.store) {
      bool whole = true;
      for (int i = 0; i < shape.bytes; i++) whole = whole && place(i) != nullptr;
      for (int i = 0; i < shape.bytes; i++) {
        if (!whole && !(per_dword && place(i / 4 * 4) != nullptr)) continue;
        const uint32_t word = reg(r, i / 4, lane) >> (shape.high ? 16 : 0);
        *place(i) = static_cast<uint8_t>(word >> (8 * (i % 4)));
      }
      return;
    }
    if (shape.bytes < 4) {
      bool inside = true;
      auto value = static_cast<uint32_t>(read(place, shape.bytes, inside));
      const int unused = 32 - 8 * shape.bytes;
      if (shape.is_signed) value = static_cast<uint32_t>(static_cast<int32_t>(value << unused) >> unused);
      uint32_t& to = reg(r, 0, lane);
      // With ECC a register is written whole.
      if (info(state_.target).generation == Generation::gfx9 && state_.target != Target::gfx900) to = 0;
      to = !shape.d16   ? value
           : shape.high ? (to & 0xffff) | value << 16
                        : (to & 0xffff0000) | (value & 0xffff);
      return;
    }
    uint32_t loaded[4] = {};
    bool all = true;
    for (int i = 0; i < shape.bytes; i++) all = all && place(i) != nullptr;
    for (int d = 0; d < shape.bytes / 4; d++) {
      bool inside = all || per_dword;
      loaded[d] =
          static_cast<uint32_t>(read([&](int i) { return inside ? place(4 * d + i) : nullptr; }, 4, inside));
    }
    for (int d = 0; d < shape.bytes / 4; d++) reg(r, d, lane) = loaded[d];
  }

  bool atomic(const std::string& op, bool wide, const Register* to, const Register& data,
              const Register* second, int lane, const Place& place, const Rules& rules) {
    const int bytes = wide ? 8 : 4;
    bool inside = true;
    const uint64_t old = read(place, bytes, inside);
    const auto value = [&](const Register& r, int d) {
      return wide ? reg(r, d, lane) | uint64_t{reg(r, d + 1, lane)} << 32 : reg(r, d, lane);
    };
    if (inside) {
      uint64_t next = 0;
      const uint64_t two = second                        ? value(*second, 0)
                           : data.count > (wide ? 2 : 1) ? value(data, wide ? 2 : 1)
                                                         : 0;
      if (!atomic_next(op, wide, old, value(data, 0), two, rules, next)) return false;
      for (int i = 0; i < bytes; i++) *place(i) = static_cast<uint8_t>(next >> (8 * i));
    }
    if (to != nullptr) {
      reg(*to, 0, lane) = static_cast<uint32_t>(old);
      if (wide) reg(*to, 1, lane) = static_cast<uint32_t>(old >> 32);
    }
    return true;
  }

  // --- FLAT, GLOBAL, SCRATCH, MUBUF ---

  Place flat_place(int lane, const Register& vaddr, const std::string& saddr, bool flat) {
    uint64_t address = reg(vaddr, 0, lane);
    if (vaddr.count == 2) address |= uint64_t{reg(vaddr, 1, lane)} << 32;
    if (!saddr.empty() && saddr != "off") address += scalar64(saddr);
    address += static_cast<uint64_t>(offset_);
    return [this, lane, address, flat](int i) {
      if (flat && address >> 32 == kSharedBase >> 32)
        return lds(static_cast<uint32_t>(address) + static_cast<uint64_t>(i), state_.lds.size());
      if (flat && address >> 32 == kPrivateBase >> 32)
        return scratch(lane, static_cast<uint32_t>(address) + static_cast<uint64_t>(i));
      return memory(address + static_cast<uint64_t>(i));
    };
  }

  Place buffer_place(int lane, const Register& vaddr, const std::string& resource,
                     const std::string& soffset) {
    const uint32_t* w = &state_.s[static_cast<size_t>(register_of(resource).number)];
    const Generation generation = info(state_.target).generation;
    const uint64_t scalar_offset = scalar(soffset);
    const uint64_t base = (w[0] | uint64_t{w[1] & 0xffff} << 32) + scalar_offset;
    uint64_t stride = w[1] >> 16 & 0x3fff;
    const bool swizzle = w[1] >> 31, add_tid = w[3] >> 23 & 1;
    const bool old = generation <= Generation::gfx8;
    if (add_tid && generation >= Generation::gfx8) stride |= (w[3] >> 15 & 15) << 14;
    const uint64_t element = old ? 2u << (w[3] >> 19 & 3) : 4, index_stride = 8u << (w[3] >> 21 & 3);
    const uint32_t records = w[2];
    const bool idxen = text_.has("idxen"), offen = text_.has("offen");
    const auto imm = static_cast<uint32_t>(offset_);
    const bool unbound = !add_tid && (w[3] >> 15 & 15) == 0;
    if (unbound) return [](int) { return nullptr; };
    if (text_.has("addr64")) {
      const uint64_t address = base + imm + (reg(vaddr, 0, lane) | uint64_t{reg(vaddr, 1, lane)} << 32);
      return [this, address](int i) { return memory(address + static_cast<uint64_t>(i)); };
    }
    uint32_t index = idxen ? reg(vaddr, 0, lane) : 0;
    const uint32_t start = imm + (offen ? reg(vaddr, idxen ? 1 : 0, lane) : 0);
    if (add_tid) index += static_cast<uint32_t>(lane);
    return [=, this](int i) -> uint8_t* {
      const uint64_t offset = uint64_t{start} + static_cast<uint32_t>(i),
                     dword = uint64_t{start} + static_cast<uint32_t>(i) / 4 * 4;
      if (!(add_tid && !idxen)) {
        if (idxen && stride != 0) {
          if (generation == Generation::gfx8 && !swizzle ? index * stride + dword >= records
                                                         : index >= records)
            return nullptr;
        } else if (dword + scalar_offset >= records) {
          return nullptr;
        }
      }
      if (!swizzle) return memory(base + index * stride + offset);
      return memory(base + (index / index_stride * stride + offset / element * element) * index_stride +
                    index % index_stride * element + offset % element);
    };
  }

  void to_lds(const Shape& shape, int lane, const Place& place) {
    uint32_t loaded[4] = {};
    bool inside = true;
    if (shape.bytes < 4) {
      loaded[0] = static_cast<uint32_t>(read(place, shape.bytes, inside));
      const int unused = 32 - 8 * shape.bytes;
      if (shape.is_signed)
        loaded[0] = static_cast<uint32_t>(static_cast<int32_t>(loaded[0] << unused) >> unused);
    }
    for (int d = 0; d < shape.bytes / 4; d++) {
      bool in = true;
      loaded[d] = static_cast<uint32_t>(read([&](int i) { return place(4 * d + i); }, 4, in));
    }
    const uint32_t size = shape.bytes < 4 ? 4 : static_cast<uint32_t>(shape.bytes);
    const uint64_t at = (state_.s[isa::kM0] & 0x3fffc) + static_cast<uint64_t>(offset_) +
                        static_cast<uint64_t>(lane) * (size > 4 ? 16 : 4);
    if (at + size > state_.lds.size()) return;
    std::memcpy(&state_.lds[at], loaded, size);
  }

  bool vector(const std::string& name, char kind) {
    const auto& ops = text_.operands;
    Shape shape;
    const bool is_atomic = starts(name, "atomic_");
    if (!is_atomic && !shape_of(name, shape)) return false;
    const bool lds = starts(name, "load_lds_") || text_.has("lds");
    const bool returns = text_.has("glc") || text_.has("sc0");
    std::string op = is_atomic ? name.substr(7) : "";
    bool wide = false;
    if (ends(op, "_x2")) wide = true, op.resize(op.size() - 3);
    if (ends(op, "_f64")) wide = true, op = "f" + op.substr(0, op.size() - 4);
    if (op == "add_f32") op = "fadd";
    Rules rules;
    rules.flush32_in = rules.flush32_out = op == "fadd" && !info(state_.target).adds_f32_denormals();

    // Operand positions by kind.
    size_t data_at = 0, addr_at = 1, scalar_at = 2;
    if (kind != 'b') {
      if (is_atomic && returns)
        addr_at = 1, data_at = 2, scalar_at = 3;
      else if (is_atomic || shape.store)
        addr_at = 0, data_at = 1, scalar_at = 2;
      else if (lds)
        addr_at = 0, scalar_at = 1;
    } else if (lds) {
      addr_at = 0, scalar_at = 1;
    }
    const Register vaddr = register_of(ops[addr_at]);
    const Register data = lds ? Register{} : register_of(ops[data_at]);
    const std::string saddr = ops.size() > scalar_at ? ops[scalar_at] : "";
    for (int lane = 0; lane < kLanes; lane++) {
      if (!active(lane)) continue;
      Place place;
      if (kind == 'b') {
        place = buffer_place(lane, vaddr, saddr, ops[scalar_at + 1]);
      } else if (kind == 's') {
        const uint32_t at =
            (vaddr.file ? reg(vaddr, 0, lane) : 0) + scalar(saddr) + static_cast<uint32_t>(offset_);
        place = [this, lane, at](int i) { return scratch(lane, at + static_cast<uint64_t>(i)); };
      } else {
        place = flat_place(lane, vaddr, saddr, kind == 'f');
      }
      if (is_atomic) {
        const Register to = register_of(ops[0]);
        if (!atomic(op, wide, returns ? &to : nullptr, data, nullptr, lane, place, rules)) return false;
      } else if (lds) {
        to_lds(shape, lane, place);
      } else {
        move(shape, data, lane, place, kind == 'b');
      }
    }
    return true;
  }

  // --- DS ---

  uint64_t lds_limit() const {
    const uint64_t size = state_.lds.size();
    if (info(state_.target).generation >= Generation::gfx9) return size;
    return std::min<uint64_t>(size, state_.s[isa::kM0] & 0x1ffff);
  }

  bool ds(const std::string& name) {
    const auto& ops = text_.operands;
    const uint64_t limit = lds_limit();
    const auto place_at = [&](uint32_t at, int bytes) -> Place {
      const bool inside = uint64_t{at} + static_cast<uint64_t>(bytes) <= limit;
      return [this, at, inside, limit](int i) {
        return inside ? lds(at + static_cast<uint64_t>(i), limit) : nullptr;
      };
    };
    if (name == "permute_b32" || name == "bpermute_b32" || name == "swizzle_b32") return exchange(name);
    if (name == "append" || name == "consume") return count(name == "append" ? 1 : -1);
    if (starts(name, "read2") || starts(name, "write2") || starts(name, "wrxchg2"))
      return ds2(name, place_at);
    if (name == "write_addtid_b32" || name == "read_addtid_b32") {
      const bool store = name[0] == 'w';
      for (int lane = 0; lane < kLanes; lane++)
        if (active(lane))
          move({4, false, !store, store}, register_of(ops[0]), lane,
               place_at((state_.s[isa::kM0] & 0xffff) + static_cast<uint32_t>(offset_) +
                            4u * static_cast<uint32_t>(lane),
                        4),
               false);
      return true;
    }
    Shape shape;
    if (shape_of(name, shape)) {
      const Register addr = register_of(ops[shape.load ? 1 : 0]), data = register_of(ops[shape.load ? 0 : 1]);
      for (int lane = 0; lane < kLanes; lane++)
        if (active(lane))
          move(shape, data, lane, place_at(reg(addr, 0, lane) + static_cast<uint32_t>(offset_), shape.bytes),
               false);
      return true;
    }
    if (name == "condxchg32_rtn_b64") return condxchg(limit);
    return ds_atomic(name, place_at);
  }

  template <class PlaceAt>
  bool ds_atomic(std::string name, const PlaceAt& place_at) {
    const auto& ops = text_.operands;
    const bool src2 = name.find("_src2_") != std::string::npos,
               returns = name.find("_rtn_") != std::string::npos;
    if (src2) name.erase(name.find("_src2"), 5);
    if (returns) name.erase(name.find("_rtn"), 4);
    const size_t bar = name.rfind('_');
    std::string op = name.substr(0, bar), type = name.substr(bar + 1);
    const bool wide = ends(type, "64");
    if (starts(name, "pk_add"))
      op = name;
    else if (type[0] == 'f')
      op = "f" + op;
    else if ((op == "min" || op == "max"))
      op = (type[0] == 'i' ? "s" : "u") + op;
    Rules rules;
    rules.flush32_in = !(state_.mode >> 4 & 1), rules.flush32_out = !(state_.mode >> 5 & 1);
    rules.flush16_in = rules.flush64_in = !(state_.mode >> 6 & 1),
    rules.flush16_out = !(state_.mode >> 7 & 1);
    const size_t first = returns ? 1 : 0;
    const Register addr = register_of(ops[first]);
    const Register data = src2 ? Register{} : register_of(ops[first + 1]);
    const Register second = ops.size() > first + 2 ? register_of(ops[first + 2]) : Register{};
    const Register to = register_of(ops[0]);
    for (int lane = 0; lane < kLanes; lane++) {
      if (!active(lane)) continue;
      const int bytes = wide ? 8 : 4;
      if (!src2) {
        const Place place = place_at(reg(addr, 0, lane) + static_cast<uint32_t>(offset_), bytes);
        if (!atomic(op, wide, returns ? &to : nullptr, data, second.file ? &second : nullptr, lane, place,
                    rules))
          return false;
        continue;
      }
      const uint32_t a = reg(addr, 0, lane), field = static_cast<uint32_t>(offset_);
      // 15 bits of dwords from the offset, or the address's upper bits.
      const bool own = field & 0x8000;
      const int32_t dwords = own ? static_cast<int32_t>(a) >> 17 : static_cast<int32_t>(field << 17) >> 17;
      const uint32_t at = own ? a & 0x1ffff : a;
      const Place place = place_at(at, bytes), from = place_at(at + static_cast<uint32_t>(dwords * 4), bytes);
      bool inside = true, other = true;
      const uint64_t old = read(place, bytes, inside), value = read(from, bytes, other);
      uint64_t next = 0;
      if (!atomic_next(op, wide, old, value, 0, rules, next)) return false;
      for (int i = 0; inside && i < bytes; i++) *place(i) = static_cast<uint8_t>(next >> (8 * i));
    }
    return true;
  }

  template <class PlaceAt>
  bool ds2(const std::string& name, const PlaceAt& place_at) {
    const auto& ops = text_.operands;
    const int dwords = ends(name, "b64") ? 2 : 1;
    const uint32_t unit =
        4u * static_cast<uint32_t>(dwords) * (name.find("st64") != std::string::npos ? 64 : 1);
    const auto off0 = static_cast<uint32_t>(text_.value("offset0")),
               off1 = static_cast<uint32_t>(text_.value("offset1"));
    const bool load = name[0] == 'r', exchange = starts(name, "wrxchg2");
    if (!load && !exchange) {
      // Every lane's first address before any lane's second.
      for (int k = 0; k < (off0 == off1 ? 1 : 2); k++)
        for (int lane = 0; lane < kLanes; lane++)
          if (active(lane))
            move({4 * dwords, false, false, true}, register_of(ops[static_cast<size_t>(k) + 1]), lane,
                 place_at(reg(register_of(ops[0]), 0, lane) + (k ? off1 : off0) * unit, 4 * dwords), false);
      return true;
    }
    for (int lane = 0; lane < kLanes; lane++) {
      if (!active(lane)) continue;
      const Register to = register_of(ops[0]);
      const uint32_t base = reg(register_of(ops[1]), 0, lane);
      uint32_t old[4] = {};
      for (int k = 0; k < 2; k++) {
        const Place place = place_at(base + (k ? off1 : off0) * unit, 4 * dwords);
        if (k == 1 && off0 == off1 && exchange) {
          for (int d = 0; d < dwords; d++) old[dwords + d] = old[d];
          break;
        }
        bool inside = true;
        const uint64_t value = read(place, 4 * dwords, inside);
        old[dwords * k] = static_cast<uint32_t>(value);
        if (dwords == 2) old[2 * k + 1] = static_cast<uint32_t>(value >> 32);
        if (load || !inside) continue;
        const Register data = register_of(ops[static_cast<size_t>(k) + 2]);
        for (int i = 0; i < 4 * dwords; i++)
          *place(i) = static_cast<uint8_t>(reg(data, i / 4, lane) >> (8 * (i % 4)));
      }
      for (int d = 0; d < 2 * dwords; d++) reg(to, d, lane) = old[d];
    }
    return true;
  }

  bool condxchg(uint64_t limit) {
    const auto& ops = text_.operands;
    const Register to = register_of(ops[0]), addr = register_of(ops[1]), data = register_of(ops[2]);
    for (int lane = 0; lane < kLanes; lane++) {
      if (!active(lane)) continue;
      const uint32_t at = (reg(addr, 0, lane) + static_cast<uint32_t>(offset_)) & 0xfff8;
      for (int k = 0; k < 2; k++) {
        const uint64_t word = at + 4u * static_cast<uint32_t>(k);
        uint32_t old = 0;
        if (word + 4 <= limit) {
          std::memcpy(&old, &state_.lds[word], 4);
          const uint32_t value = reg(data, k, lane) & 0x7fffffff;
          if (reg(data, k, lane) >> 31) std::memcpy(&state_.lds[word], &value, 4);
        }
        reg(to, k, lane) = old;
      }
    }
    return true;
  }

  bool count(int sign) {
    const Register to = register_of(text_.operands[0]);
    const uint32_t m0 = state_.s[isa::kM0], base = m0 >> 16 != 0 ? m0 >> 16 : m0;
    const uint64_t at = (base + static_cast<uint32_t>(offset_)) & ~3u;
    uint32_t old = 0;
    if (at + 4 <= state_.lds.size() && state_.exec != 0) {
      std::memcpy(&old, &state_.lds[at], 4);
      const uint32_t next = old + static_cast<uint32_t>(sign * std::popcount(state_.exec));
      std::memcpy(&state_.lds[at], &next, 4);
    }
    for (int lane = 0; lane < kLanes; lane++)
      if (active(lane)) reg(to, 0, lane) = old;
    return true;
  }

  bool exchange(const std::string& name) {
    const auto& ops = text_.operands;
    const auto offset = static_cast<uint32_t>(offset_);
    const bool swizzle = name == "swizzle_b32";
    const Register to = register_of(ops[0]), addr = register_of(ops[1]),
                   data = swizzle ? addr : register_of(ops[2]);
    std::array<uint32_t, kLanes> out{};
    for (uint32_t i = 0; i < kLanes; i++) {
      const auto lane = static_cast<int>(i);
      uint32_t j = 0;
      if (!swizzle) {
        j = (reg(addr, 0, lane) + offset) / 4 % 64;
        if (name == "permute_b32") {
          if (active(lane)) out[j] = reg(data, 0, lane);
          continue;
        }
      } else if (offset >= 0xe000) {
        const uint32_t mask = offset & 31;
        for (uint32_t bit = 0; bit < 5; bit++) j |= (i >> bit & 1) << (4 - bit);
        j = j >> std::popcount(mask) | (i & mask) | (i & 32);
      } else if (offset >= 0xc000) {
        const uint32_t turn = offset >> 10 & 1 ? 32 - (offset >> 5 & 31) : offset >> 5 & 31,
                       mask = offset & 31;
        j = (i & mask) | ((i + turn) & ~mask & 31) | (i & 32);
      } else if (offset & 0x8000) {
        j = i / 4 * 4 + (offset >> (2 * (i % 4)) & 3);
      } else {
        j = (((i & 31 & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) | (i & 32);
      }
      out[i] = active(static_cast<int>(j)) ? reg(data, 0, static_cast<int>(j)) : 0;
    }
    for (int lane = 0; lane < kLanes; lane++)
      if (active(lane)) reg(to, 0, lane) = out[static_cast<size_t>(lane)];
    return true;
  }

  const MemoryText& text_;
  MemoryState& state_;
  int64_t offset_ = 0;
};

}  // namespace

MemoryText parse_memory_text(const std::string& text) {
  MemoryText out;
  std::string words = text;
  for (char& c : words)
    if (c == ',') c = ' ';
  std::istringstream stream(words);
  stream >> out.mnemonic;
  static const char* const kFlags[] = {"offen", "idxen", "addr64", "glc", "sc0", "lds"};
  for (std::string word; stream >> word;) {
    bool flag = false;
    for (const char* name : kFlags) flag = flag || word == name;
    const size_t colon = word.find(':');
    if (flag)
      out.modifiers[word] = 1;
    else if (starts(word, "offset"))
      out.modifiers[word.substr(0, colon)] = std::stoll(word.substr(colon + 1));
    else
      out.operands.push_back(word);
  }
  return out;
}

void model_memory(const MemoryText& text, MemoryState& state) {
  state.unsupported = !Model(text, state).run();
}

}  // namespace morgana::device
