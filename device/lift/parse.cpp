#include <charconv>
#include <map>
#include <optional>

#include "device/isa/decode.h"
#include "device/lift/text.h"

namespace morgana::device::lift {
namespace {

// Everything that has a name, by it.
template <class E>
std::optional<E> named(std::string_view word, int count) {
  for (int n = 0; n < count; n++)
    if (word == name(static_cast<E>(n))) return static_cast<E>(n);
  return std::nullopt;
}

std::optional<isa::Op> op_named(std::string_view word) {
  static const std::map<std::string_view, isa::Op> kOps = [] {
    std::map<std::string_view, isa::Op> ops;
    for (int n = 0; n < static_cast<int>(isa::Op::count); n++)
      ops.emplace(isa::name(static_cast<isa::Op>(n)), static_cast<isa::Op>(n));
    return ops;
  }();
  const auto found = kOps.find(word);
  return found == kOps.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Register> register_named(std::string_view word) {
  for (const Register code :
       {Register{isa::kVccLo}, Register{isa::kM0}, Register{isa::kExecLo}, kScc, kMemory, kCallee})
    if (word == name_of(code)) return code;
  if (word.size() < 2 || (word[0] != 's' && word[0] != 'v')) return std::nullopt;
  const unsigned first = word[0] == 'v' ? unsigned{kVector} : 0;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), number);
  const unsigned most = word[0] == 'v' ? kRegisters - kVector : isa::kRegisterEnd;
  if (error != std::errc() || end != word.data() + word.size() || number >= most) return std::nullopt;
  return static_cast<Register>(first + number);
}

// One line after another, word by word. The first error stays.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool next_line() {
    if (fails_ || text_.empty()) return false;
    line_++;
    const size_t end = std::min(text_.find('\n'), text_.size());
    rest_ = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    rest_ = rest_.substr(0, rest_.find(';'));
    return true;
  }
  void fail(const char* what) {
    if (!fails_) problem_ = what;
    fails_ = true;
  }
  bool fails() const { return fails_; }
  Error error() const { return make_error(ErrorCode::malformed, "line {}: {}", line_, problem_); }

  // 0 at the end of the line.
  char next() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == ',')) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool is_at(char what) const { return !rest_.empty() && rest_.front() == what; }
  bool accept(std::string_view what) {
    next();
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  void expect(std::string_view what) {
    if (!accept(what)) fail("something else is expected");
  }
  std::string_view word() {
    next();
    const size_t end = std::min(rest_.find_first_of(" ,()=.%@+"), rest_.size());
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return found;
  }
  template <class N>
  N number(int base = 10) {
    next();
    N value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc()) fail("no number");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

 private:
  std::string_view text_, rest_;
  size_t line_ = 0;
  bool fails_ = false;
  const char* problem_ = "";
};

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  Result<Function> run() {
    while (in_.next_line()) line();
    if (!in_.fails() && f_.blocks.empty()) in_.fail("no block");
    for (const bool made : made_)
      if (!made) in_.fail("a value that is nowhere made");
    for (const Block& block : f_.blocks)
      for (const Edge& edge : block.edges)
        if (edge.block >= f_.blocks.size()) in_.fail("an edge to nowhere");
    if (in_.fails()) return in_.error();
    return std::move(f_);
  }

 private:
  static constexpr unsigned kMostValues = 1'000'000;

  ValueId operand() {
    in_.expect("%");
    const auto id = in_.number<unsigned>();
    if (id >= kMostValues) in_.fail("too large a number");
    if (in_.fails()) return 0;
    if (id >= f_.values.size()) f_.values.resize(id + 1), made_.resize(id + 1, true);
    used(id);
    return id;
  }
  void used(ValueId id) {
    if (f_[id].kind == Kind::none) made_[id] = false;
  }
  std::vector<ValueId> operands() {
    std::vector<ValueId> found;
    while (!in_.fails() && in_.next() == '%') found.push_back(operand());
    return found;
  }
  Kind kind() {
    in_.expect(".");
    const auto found = named<Kind>(in_.word(), static_cast<int>(Kind::exit) + 1);
    if (!found || *found == Kind::none) in_.fail("no kind");
    return found.value_or(Kind::none);
  }
  Register register_code() {
    const auto found = register_named(in_.word());
    if (!found) in_.fail("no register");
    return found.value_or(0);
  }
  isa::Op op() {
    const auto found = op_named(in_.word());
    if (!found) in_.fail("no instruction");
    return found.value_or(isa::Op::invalid);
  }

  void line() {
    if (in_.next() == '\0') return;
    if (in_.accept("wave")) {
      f_.width = in_.number<int>();
    } else if (in_.accept("block")) {
      block();
    } else if (f_.blocks.empty()) {
      in_.fail("a value outside a block");
    } else if (in_.next() == '%') {
      value();
    } else {
      ending();
    }
    if (in_.next() != '\0') in_.fail("more than is expected");
  }

  void block() {
    if (in_.number<unsigned>() != f_.blocks.size()) in_.fail("blocks are numbered in order");
    f_.blocks.emplace_back();
    in_.expect("(");
    while (!in_.fails() && !in_.accept(")")) {
      const ValueId id = operand();
      Value v;
      v.operation = Operation::parameter;
      v.kind = kind();
      v.number = register_code();
      make(id, std::move(v));
      f_.blocks.back().parameters.push_back(id);
    }
    in_.expect("@");
    f_.blocks.back().pc = in_.number<uint32_t>(16);
    for (const ValueId id : f_.blocks.back().parameters)
      if (!in_.fails()) f_[id].pc = f_.blocks.back().pc;
  }

  void make(ValueId id, Value&& v) {
    if (in_.fails()) return;
    if (f_[id].kind != Kind::none) in_.fail("a value is made twice");
    f_[id] = std::move(v);
    made_[id] = true;
  }

  void value() {
    const ValueId id = operand();
    in_.expect("=");
    Value v = body();
    in_.expect("@");
    v.pc = in_.number<uint32_t>(16);
    make(id, std::move(v));
    if (!in_.fails()) f_.blocks.back().values.push_back(id);
  }

  Value body() {
    Value v;
    const std::string_view what = in_.word();
    const auto operation = named<Operation>(what, static_cast<int>(Operation::exit) + 1);
    if (!operation || *operation == Operation::compute) {
      const auto fn = named<isa::Fn>(what, static_cast<int>(isa::Fn::select) + 1);
      if (!fn) in_.fail("no operation");
      v.operation = Operation::compute, v.fn = fn.value_or(isa::Fn::source);
      v.kind = kind();
      v.arguments = operands();
      return v;
    }
    v.operation = *operation;
    switch (v.operation) {
      case Operation::access: access(v); return v;
      case Operation::exit:
      case Operation::call: call(v); return v;
      default: break;
    }
    v.kind = kind();
    if (v.operation == Operation::input) v.number = register_code();
    if (v.operation == Operation::constant || v.operation == Operation::part)
      v.number = in_.number<int64_t>();
    if (v.operation == Operation::function) v.op = op();
    v.arguments = operands();
    return v;
  }

  void access(Value& v) {
    v.kind = Kind::memory;
    v.op = op();
    AccessForm& a = v.access;
    const auto space = named<isa::Space>(in_.word(), static_cast<int>(isa::Space::image) + 1);
    const auto direction = named<isa::Direction>(in_.word(), static_cast<int>(isa::Direction::atomic) + 1);
    // "b32x4": the count follows the last x.
    const std::string_view elements = in_.word();
    const size_t times = elements.rfind('x');
    const auto element = named<isa::Type>(elements.substr(0, times), static_cast<int>(isa::Type::mask) + 1);
    unsigned count = 0;
    if (times != std::string_view::npos)
      std::from_chars(elements.data() + times + 1, elements.data() + elements.size(), count);
    if (!space || !direction || !element || count == 0 || count > 255) return in_.fail("no access");
    a.space = *space, a.direction = *direction, a.element = *element, a.count = static_cast<uint8_t>(count);
    if (in_.accept("+")) a.offset = in_.number<int32_t>();
    if (in_.accept("+")) a.two = true, a.second = in_.number<int32_t>();
    a.returns = in_.accept("returns");
    in_.expect("(");
    v.arguments = operands();
    in_.expect(")");
  }

  void call(Value& v) {
    const bool is_call = v.operation == Operation::call;
    v.kind = is_call ? Kind::memory : Kind::exit;
    if (is_call) v.op = op();
    in_.expect("(");
    if (is_call) v.arguments.push_back(operand());
    while (!in_.fails() && !in_.accept(")")) {
      v.registers.push_back(register_code());
      in_.expect("=");
      v.arguments.push_back(operand());
    }
    if (!in_.accept("->")) return;
    while (!in_.fails() && in_.next() != '\0' && in_.next() != '@') {
      const Register code = register_code();
      const bool pair = in_.is_at('+') && in_.accept("+");
      v.writes.push_back(static_cast<Register>(code | (pair ? kPair : 0)));
    }
  }

  void ending() {
    Block& block = f_.blocks.back();
    const auto found = named<Ending>(in_.word(), static_cast<int>(Ending::leave) + 1);
    if (!found) return in_.fail("no ending");
    block.ending = *found;
    if (in_.next() == '%') block.value = operand();
    while (!in_.fails() && in_.accept("block")) {
      Edge edge;
      edge.block = in_.number<uint32_t>();
      in_.expect("(");
      edge.arguments = operands();
      in_.expect(")");
      f_.blocks.back().edges.push_back(std::move(edge));
    }
    in_.expect("@");
    f_.blocks.back().end_pc = in_.number<uint32_t>(16);
  }

  Scanner in_;
  Function f_;
  std::vector<bool> made_;  // values that are used and not made yet: false
};

}  // namespace

Result<Function> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace morgana::device::lift
