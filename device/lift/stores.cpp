#include "device/lift/stores.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace morgana::device::lift {
namespace {

using isa::Direction;
using isa::Fn;
using isa::Space;

// Whether an access, or what a handler executes, changes memory that all waves share.
bool stores_to_global(Space space, Direction direction) {
  return (direction == Direction::store || direction == Direction::atomic) && space != Space::none &&
         space != Space::scratch && space != Space::lds && space != Space::gds;
}

// Goes from each store's address to what it is made of.
class StoreFinder {
 public:
  StoreFinder(const Function& function, const ArgumentRegisters& registers)
      : function_(function),
        registers_(registers),
        incoming_(function.values.size()),
        visited_(function.values.size()) {}

  Stores find() {
    Stores stores;
    for (const Block& block : function_.blocks) {
      if (block.ending == Ending::call) return stores;  // what it does is not in the function
      for (const Edge& edge : block.edges)
        for (size_t n = 0; n < edge.arguments.size(); n++)
          incoming_[function_.blocks[edge.block].parameters[n]].push_back(edge.arguments[n]);
      for (const ValueId id : block.values) {
        const Value& value = function_[id];
        if (value.operation == Operation::access && value.access.space == Space::scratch &&
            value.access.direction != Direction::load)
          kept_.insert(kept_.end(), value.arguments.begin() + 3, value.arguments.end());
      }
    }
    for (const Block& block : function_.blocks)
      for (const ValueId id : block.values) {
        if (!begin(function_[id])) continue;
        const ArgumentSet followed = follow();
        if (is_open_ || visits_ > kMostVisits) return stores;
        if (std::ranges::find(stores.followed, followed) == stores.followed.end())
          stores.followed.push_back(followed);
      }
    stores.is_known = true;
    return stores;
  }

 private:
  static constexpr size_t kMostVisits = 1 << 23;  // of values, for all stores of a kernel

  // Whether the value is a store; then its address is what is to be followed.
  bool begin(const Value& value) {
    store_++;
    lanes_ = kNoValue;
    if (value.operation == Operation::access) {
      if (!stores_to_global(value.access.space, value.access.direction)) return false;
      if (is_by_lane(value.access.space)) lanes_ = value.arguments[1];
      visit(value.arguments[lanes_ != kNoValue ? 2 : 1]);
      return true;
    }
    if (value.operation != Operation::call) return false;
    const isa::MemoryAccess& access = isa::effects(value.op).access;
    if (!stores_to_global(access.space, access.direction)) return false;
    visit_all(value.arguments);
    return true;
  }

  ArgumentSet follow() {
    ArgumentSet found;
    while (!pending_.empty()) {
      const ValueId id = pending_.back();
      pending_.pop_back();
      look_at(id, found);
    }
    return found;
  }

  // Conditions say which value it is and not what it is made of.
  void visit(ValueId id) {
    const Kind kind = function_[id].kind;
    if (kind == Kind::bit || kind == Kind::mask || visited_[id] == store_) return;
    visited_[id] = store_, visits_++;
    pending_.push_back(id);
  }
  void visit_all(const std::vector<ValueId>& all) {
    for (const ValueId id : all)
      if (function_[id].kind != Kind::memory) visit(id);
  }

  void look_at(ValueId id, ArgumentSet& found) {
    const Value& value = function_[id];
    switch (value.operation) {
      case Operation::input: return look_at_input(value, found);
      case Operation::parameter: return visit_all(incoming_[id]);
      // Of lanes that do not store it does not matter what they hold.
      case Operation::merge:
        visit(value.arguments[1]);
        if (lanes_ == kNoValue || !has(value.arguments[0], lanes_)) visit(value.arguments[2]);
        return;
      case Operation::part: {
        const Value& whole = function_[value.arguments[0]];
        if (whole.operation == Operation::access) return look_at_loaded(value, whole, found);
        return visit_all(whole.arguments);
      }
      // The address of a variable of the program.
      case Operation::function:
        is_open_ = is_open_ || isa::effects(value.op).result.has(Fn::next_pc);
        return visit_all(value.arguments);
      default: return visit_all(value.arguments);
    }
  }

  void look_at_input(const Value& value, ArgumentSet& found) const {
    const int64_t first = value.number, last = first + (value.kind == Kind::s64 ? 1 : 0);
    for (int64_t code = first; code <= last; code++)
      if (code >= registers_.preloaded && code < int64_t{registers_.preloaded} + registers_.count)
        found.set(
            std::min(static_cast<size_t>(code - registers_.preloaded + registers_.at), kOtherArguments));
  }

  // What was loaded from memory is followed where that are the arguments, or the wave's own. Elsewhere one
  // dword is an index; two may be a pointer.
  void look_at_loaded(const Value& part, const Value& access, ArgumentSet& found) {
    if (access.access.space == Space::scratch) return visit_all(kept_);
    const ValueId address = access.arguments[is_by_lane(access.access.space) ? 2 : 1];
    if (const auto at = behind_pointer(address)) {
      const int64_t byte = *at + access.access.offset + 4 * part.number;
      found.set(byte >= 0 ? std::min(static_cast<size_t>(byte / 4), kOtherArguments) : kOtherArguments);
    } else if (comes_from_pointer(address)) {
      found.set(kOtherArguments);
    } else if (access.access.space != Space::lds && isa::effects(access.op).access.count >= 2) {
      is_open_ = true;
    }
  }

  bool is_pointer(const Value& value) const {
    const int64_t first = value.number, last = first + (value.kind == Kind::s64 ? 1 : 0);
    return value.operation == Operation::input && registers_.pointer >= 0 &&
           (value.kind == Kind::s64 || value.kind == Kind::s32) && first <= registers_.pointer + 1 &&
           last >= registers_.pointer;
  }

  // Bytes behind the pointer to the arguments.
  std::optional<int64_t> behind_pointer(ValueId id) const {
    int64_t bytes = 0;
    for (int depth = 0; depth < 16; depth++) {
      const Value& value = function_[id];
      if (is_pointer(value) && value.kind == Kind::s64 && value.number == registers_.pointer) return bytes;
      if (value.operation != Operation::compute || value.fn != Fn::add) return std::nullopt;
      const Value &left = function_[value.arguments[0]], &right = function_[value.arguments[1]];
      const bool is_right = right.operation == Operation::constant;
      if (!is_right && left.operation != Operation::constant) return std::nullopt;
      bytes += is_right ? right.number : left.number;
      id = value.arguments[is_right ? 0 : 1];
    }
    return std::nullopt;
  }

  bool comes_from_pointer(ValueId id, int depth = 0) const {
    const Value& value = function_[id];
    if (is_pointer(value)) return true;
    if (depth == 8 || value.operation == Operation::part) return false;
    const auto& from = value.operation == Operation::parameter ? incoming_[id] : value.arguments;
    return std::ranges::any_of(from, [&](ValueId each) { return comes_from_pointer(each, depth + 1); });
  }

  // Whether mask `all` has every lane of mask `some`, as far as its making tells. Of a loop's earlier turns
  // it is taken for what it is now.
  bool has(ValueId all, ValueId some) {
    const std::pair key{number_of(all), number_of(some)};
    if (key.first == key.second) return true;
    const auto [known, is_new] = has_.try_emplace(key, true);
    if (is_new && has_.size() < kMostVisits) {
      const bool answer = finds_all(key.first, key.second);
      return has_[key] = answer;
    }
    return known->second;
  }
  bool finds_all(ValueId all, ValueId some) {
    const Value &whole = function_[all], &part = function_[some];
    const auto is = [](const Value& value, Fn fn) {
      return value.operation == Operation::compute && value.fn == fn;
    };
    if (is(part, Fn::bit_and) && (has(all, part.arguments[0]) || has(all, part.arguments[1]))) return true;
    if (is(part, Fn::bit_or)) return has(all, part.arguments[0]) && has(all, part.arguments[1]);
    if (is(whole, Fn::bit_or) && (has(whole.arguments[0], some) || has(whole.arguments[1], some)))
      return true;
    return part.operation == Operation::parameter &&
           std::ranges::all_of(incoming_[some], [&](ValueId each) { return has(all, each); });
  }
  // Of a mask, or of the number that it was made of.
  ValueId number_of(ValueId id) const {
    while (function_[id].operation == Operation::mask || function_[id].operation == Operation::bits)
      id = function_[id].arguments[0];
    return id;
  }

  const Function& function_;
  const ArgumentRegisters registers_;
  std::vector<std::vector<ValueId>> incoming_;  // of parameters
  std::vector<ValueId> kept_;                   // what is stored to scratch
  std::vector<uint32_t> visited_;               // by which store
  std::vector<ValueId> pending_;
  std::map<std::pair<ValueId, ValueId>, bool> has_;
  uint32_t store_ = 0;
  ValueId lanes_ = kNoValue;  // that it stores
  size_t visits_ = 0;
  bool is_open_ = false;  // an address may be a pointer that is no argument
};

}  // namespace

ArgumentRegisters argument_registers(const codeobj::KernelDescriptor& descriptor) {
  ArgumentRegisters registers;
  for (const codeobj::UserSgprRange& range : descriptor.user_sgprs()) {
    if (range.what == codeobj::UserSgpr::kernarg_segment_ptr)
      registers.pointer = static_cast<int>(range.first);
    else if (range.what == codeobj::UserSgpr::kernarg_preload)
      registers.preloaded = range.first, registers.count = range.count,
      registers.at = descriptor.kernarg_preload_offset;
  }
  return registers;
}

Stores find_stores(const Function& function, const ArgumentRegisters& registers) {
  return StoreFinder(function, registers).find();
}

}  // namespace morgana::device::lift
