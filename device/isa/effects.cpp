#include "device/isa/effects.h"

#include <string_view>

#include "device/isa/decode.h"

namespace morgana::isa {
namespace {

using Table = std::array<Effects, static_cast<size_t>(Op::count)>;

constexpr bool is_memory(Format format) {
  return is_scalar_memory(format) || (format >= Format::DS && format <= Format::VSAMPLE);
}
constexpr bool is_scalar(Format format) { return format <= Format::SMEM; }

Space space_of(const Row& row) {
  switch (row.format) {
    case Format::SMRD:
    case Format::SMEM:
      if (row.src[0] == Type::b128) return Space::buffer;
      return std::string_view(row.mnemonic).starts_with("s_scratch_") ? Space::scratch : Space::constant;
    case Format::DS: return Space::lds;
    case Format::FLAT: return Space::flat;
    case Format::GLOBAL: return Space::global;
    case Format::SCRATCH: return Space::scratch;
    case Format::MUBUF:
    case Format::MTBUF:
    case Format::VBUFFER: return Space::buffer;
    case Format::MIMG:
    case Format::VIMAGE:
    case Format::VSAMPLE: return Space::image;
    default: return Space::none;
  }
}

MemoryAccess access_of(const Row& row) {
  MemoryAccess a;
  a.space = space_of(row);
  const uint32_t flags = row.flags;
  a.direction = flags & kAtomic ? Direction::atomic : flags & kStore ? Direction::store : Direction::load;
  const bool loads = a.direction == Direction::load;
  // What a store or an atomic takes stands behind the address, in scalar memory behind the offset too. What
  // is loaded to LDS, or comes from there, has no operand.
  Type data = loads ? row.dst[0] : row.src[is_scalar(row.format) ? 2 : 1];
  if (flags & kCmpswap) data = row.dst[0];
  a.addresses = flags & kTwoOffsets ? 2 : 1;
  if (data == Type::none) {
    a.count = 0;
  } else if (bytes(data) < 4 || a.direction == Direction::atomic) {
    a.element = data;
    a.count = 1;
  } else {
    a.element = Type::b32;
    a.count = static_cast<uint8_t>(dwords(data) / (loads ? a.addresses : 1));
  }
  a.returns = (flags & kReturns) != 0;
  a.half = (flags & kD16) != 0;
  a.converts = (flags & kFormat) != 0 || a.space == Space::image;
  const bool by_address = !is_scalar(row.format) && (a.space == Space::flat || a.space == Space::global ||
                                                     a.space == Space::scratch || a.space == Space::lds);
  a.is_plain = by_address && a.direction != Direction::atomic && !a.half && !a.converts &&
               !transposes(row.op) && !moves_block(row.op) && data != Type::none &&
               row.src[0] != Type::none && !(flags & (kLdsDst | kLdsSrc | kGws));
  return a;
}

// What a row says by its format, types and flags.
void derive(const Row& row, Effects& e) {
  const std::string_view mnemonic = row.mnemonic;
  if (is_memory(row.format)) {
    e.kind = Class::access;
    e.access = access_of(row);
    if (transposes(row.op)) e.kind = Class::cross;
    e.reads |= kStateM0;  // how far LDS reaches, or an offset
  } else if (!is_scalar(row.format)) {
    e.kind = row.flags & (kMfma | kSmfmac) ? Class::cross : Class::lanes;
  }
  if (!is_scalar(row.format)) e.reads |= kStateExec;
  for (const Type type : {row.dst[0], row.src[0], row.src[1], row.src[2]})
    if (is_float(type) && !is_memory(row.format)) e.reads |= kStateFloat;
  if (mnemonic.starts_with("v_cvt_scalef32_") || mnemonic.starts_with("v_cvt_sr_")) e.floats = Float::small;
  if (row.flags & kWritesExec) e.writes |= kStateExec;
  if (row.format == Format::VOPC && (row.flags & kWritesExec)) e.exec = rule::result;
}

// What a rule's expressions read and write beyond the operands.
void note_state(Effects& e) {
  for (const Expression* value : {&e.result, &e.second, &e.scc, &e.exec, &e.condition}) {
    if (value->has(Fn::scc)) e.reads |= kStateScc;
    if (value->has(Fn::vcc)) e.reads |= kStateVcc;
    if (value->has(Fn::exec)) e.reads |= kStateExec;
  }
  if (!e.scc.empty()) e.writes |= kStateScc;
  if (!e.exec.empty()) e.writes |= kStateExec;
}

// What one row of rules.def gives.
struct Values {
  Expression result{}, second{}, scc{}, exec{};
};

struct Maker {
  Table table{};

  Effects& at(Op op) { return table[static_cast<size_t>(op)]; }
  void rule(Op op, const Values& values) {
    Effects& e = at(op);
    if (e.kind == Class::unknown) e.kind = Class::scalar;
    e.result = values.result, e.second = values.second, e.scc = values.scc;
    if (!values.exec.empty()) e.exec = values.exec;
    if (!values.exec.empty() && values.scc.empty()) e.scc = rule::differ(values.exec, rule::number64(0));
  }
  void tests(std::initializer_list<Op> ops) {
    for (const Op op : ops) at(op).kind = Class::scalar, at(op).writes |= kStateScc;
  }
  void control(Op op, Control control, const Expression& condition = {}) {
    at(op).kind = Class::control;
    at(op).control = control;
    at(op).condition = condition;
    at(op).access = {};
  }
  void kinds(Class kind, std::initializer_list<Op> ops) {
    for (const Op op : ops) at(op).kind = kind, at(op).access = {};
  }
  void state(int reads, int writes, std::initializer_list<Op> ops) {
    kinds(Class::opaque, ops);
    for (const Op op : ops) {
      at(op).reads |= static_cast<uint8_t>(reads);
      at(op).writes |= static_cast<uint8_t>(writes);
    }
  }
  void rules();
};

// The words of rules.def.
namespace words {
using namespace rule;
const Expression nonzero = differ(to_64(result), number64(0));
Expression carry(const Expression& a, const Expression& b) { return less(a + b, a); }
Expression magnitude(const Expression& a) { return select(less_signed(a, number(0)), number(0) - a, a); }
// In 64 bits.
Expression scaled_sum(const Expression& a, int scale, const Expression& b) {
  return (to_64(a) << number(scale)) + to_64(b);
}
Expression more(const Expression& a, const Expression& b) { return less(b, a); }
Expression more_signed(const Expression& a, const Expression& b) { return less_signed(b, a); }
Expression more_equal(const Expression& a, const Expression& b) { return less_equal(b, a); }
Expression more_equal_signed(const Expression& a, const Expression& b) { return less_equal_signed(b, a); }
}  // namespace words

// Executed once. Optimized, its 2,000 expressions take ten seconds to compile.
[[clang::optnone]] void Maker::rules() {
  using namespace words;
#define RESULT(...) .result = __VA_ARGS__
#define SECOND(...) .second = __VA_ARGS__
#define SCC(...) .scc = __VA_ARGS__
#define EXEC(...) .exec = __VA_ARGS__
#define RULE(op, ...) rule(Op::op, Values{__VA_ARGS__});
#define FUNCTION RULE
#define TESTS(...) tests(OPS(__VA_ARGS__));
#define CONTROL(op, next) control(Op::op, Control::next);
#define BRANCH(op, ...) control(Op::op, Control::branch, __VA_ARGS__);
#define LEAVES(...) \
  for (const Op op : OPS(__VA_ARGS__)) control(op, Control::leave);
#define KINDS(kind, ...) kinds(Class::kind, OPS(__VA_ARGS__));
#define STATE(reads, writes, ...) state(reads, writes, OPS(__VA_ARGS__));
#define FLOATS(kind, ...) \
  for (const Op op : OPS(__VA_ARGS__)) at(op).floats = Float::kind;
#define OPS(...)                                                 \
  []() -> std::initializer_list<Op> {                            \
    using enum Op;                                               \
    static constexpr std::initializer_list<Op> ops{__VA_ARGS__}; \
    return ops;                                                  \
  }()
#include "device/isa/rules.def"
}

Table make_table() {
  Maker maker;
  for (const Row& row : all_rows()) derive(row, maker.at(row.op));
  maker.rules();
  for (Effects& e : maker.table) note_state(e);
  return maker.table;
}

}  // namespace

bool is_vector_memory(Format format) {
  switch (format) {
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH:
    case Format::MUBUF:
    case Format::MTBUF:
    case Format::VBUFFER:
    case Format::MIMG:
    case Format::VIMAGE:
    case Format::VSAMPLE: return true;
    default: return false;
  }
}

bool transposes(Op op) {
  switch (op) {
    case Op::ds_read_b64_tr_b4:
    case Op::ds_read_b96_tr_b6:
    case Op::ds_read_b64_tr_b8:
    case Op::ds_read_b64_tr_b16:
    case Op::global_load_tr_b64:
    case Op::global_load_tr_b128: return true;
    default: return false;
  }
}

bool moves_block(Op op) {
  switch (op) {
    case Op::global_load_block:
    case Op::global_store_block:
    case Op::scratch_load_block:
    case Op::scratch_store_block: return true;
    default: return false;
  }
}

Op of_whole_mask(Op op) {
  switch (op) {
#define WHOLE(name) \
  case Op::s_##name##_b32: return Op::s_##name##_b64;
    WHOLE(and_saveexec)
    WHOLE(or_saveexec)
    WHOLE(xor_saveexec)
    WHOLE(andn2_saveexec)
    WHOLE(orn2_saveexec)
    WHOLE(nand_saveexec)
    WHOLE(nor_saveexec)
    WHOLE(xnor_saveexec)
    WHOLE(andn1_saveexec)
    WHOLE(orn1_saveexec)
    WHOLE(andn1_wrexec)
    WHOLE(andn2_wrexec)
#undef WHOLE
    default: return op;
  }
}

const Effects& effects(Op op) {
  static const Table table = make_table();
  return table[static_cast<size_t>(op < Op::count ? op : Op::invalid)];
}

}  // namespace morgana::isa
