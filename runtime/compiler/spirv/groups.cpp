// Operations of work-groups and sub-groups: functions of the device library.
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

// The function of a reduction or scan: what it does, the sign that its integers have, whether its values are
// booleans.
struct Operation {
  spv::Op op;
  const char* name;
  char sign;
  bool is_logical;
};

constexpr Operation kUniform[] = {{spv::OpGroupIAdd, "add", 's', false},
                                  {spv::OpGroupFAdd, "add", 's', false},
                                  {spv::OpGroupFMin, "min", 's', false},
                                  {spv::OpGroupUMin, "min", 'u', false},
                                  {spv::OpGroupSMin, "min", 's', false},
                                  {spv::OpGroupFMax, "max", 's', false},
                                  {spv::OpGroupUMax, "max", 'u', false},
                                  {spv::OpGroupSMax, "max", 's', false},
                                  {spv::OpGroupIMulKHR, "mul", 's', false},
                                  {spv::OpGroupFMulKHR, "mul", 's', false},
                                  {spv::OpGroupBitwiseAndKHR, "and", 's', false},
                                  {spv::OpGroupBitwiseOrKHR, "or", 's', false},
                                  {spv::OpGroupBitwiseXorKHR, "xor", 's', false},
                                  {spv::OpGroupLogicalAndKHR, "logical_and", 's', true},
                                  {spv::OpGroupLogicalOrKHR, "logical_or", 's', true},
                                  {spv::OpGroupLogicalXorKHR, "logical_xor", 's', true}};

constexpr Operation kNonUniform[] = {{spv::OpGroupNonUniformIAdd, "add", 's', false},
                                     {spv::OpGroupNonUniformFAdd, "add", 's', false},
                                     {spv::OpGroupNonUniformIMul, "mul", 's', false},
                                     {spv::OpGroupNonUniformFMul, "mul", 's', false},
                                     {spv::OpGroupNonUniformSMin, "min", 's', false},
                                     {spv::OpGroupNonUniformUMin, "min", 'u', false},
                                     {spv::OpGroupNonUniformFMin, "min", 's', false},
                                     {spv::OpGroupNonUniformSMax, "max", 's', false},
                                     {spv::OpGroupNonUniformUMax, "max", 'u', false},
                                     {spv::OpGroupNonUniformFMax, "max", 's', false},
                                     {spv::OpGroupNonUniformBitwiseAnd, "and", 's', false},
                                     {spv::OpGroupNonUniformBitwiseOr, "or", 's', false},
                                     {spv::OpGroupNonUniformBitwiseXor, "xor", 's', false},
                                     {spv::OpGroupNonUniformLogicalAnd, "logical_and", 's', true},
                                     {spv::OpGroupNonUniformLogicalOr, "logical_or", 's', true},
                                     {spv::OpGroupNonUniformLogicalXor, "logical_xor", 's', true}};

template <size_t N>
const Operation* find_operation(const Operation (&rows)[N], spv::Op op) {
  for (const Operation& row : rows)
    if (row.op == op) return &row;
  return nullptr;
}

}  // namespace

Result<std::string> Reader::group_prefix(uint32_t scope) const {
  switch (integer(scope).value_or(spv::ScopeMax)) {
    case spv::ScopeWorkgroup: return std::string("work_group_");
    case spv::ScopeSubgroup: return std::string("sub_group_");
    default: return make_error(ErrorCode::unsupported, "a group operation of another scope");
  }
}

// Operand `operation` is the group operation, the value follows, and of a clustered one the size of the
// cluster.
Result<llvm::Value*> Reader::group_operation(const Instruction& in, Values v, std::string prefix,
                                             size_t operation, std::string_view name, char sign,
                                             bool is_logical) {
  std::vector<Argument> more;
  switch (in.word(operation)) {
    case spv::GroupOperationReduce: prefix += "reduce_"; break;
    case spv::GroupOperationInclusiveScan: prefix += "scan_inclusive_"; break;
    case spv::GroupOperationExclusiveScan: prefix += "scan_exclusive_"; break;
    case spv::GroupOperationClusteredReduce:
      if (in.size() < operation + 3) return make_error(ErrorCode::unsupported, "a cluster without a size");
      prefix = "sub_group_clustered_reduce_";
      more.push_back({build_.CreateZExtOrTrunc(v[operation + 2], i32()), "j"});
      break;
    default: return make_error(ErrorCode::unsupported, "group operation {}", in.word(operation));
  }
  prefix += name;
  if (is_logical) {
    std::vector<Argument> arguments = {{build_.CreateZExt(v[operation + 1], i32()), "i"}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return build_.CreateICmpNE(call(prefix, i32(), arguments), build_.getInt32(0));
  }
  const Instruction value = in.tail(in.op(), operation + 1);
  const std::string own = code(binary_.definition(value.word(0)).type(), sign);
  // The library's functions are of scalars.
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(v[operation + 1]->getType());
  if (vector == nullptr) {
    std::vector<Argument> arguments = {{v[operation + 1], own}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call(prefix, type(in.type()), arguments);
  }
  llvm::Value* result = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    std::vector<Argument> arguments = {
        {build_.CreateExtractElement(v[operation + 1], i), own.substr(own.find('_') + 1)}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    result = build_.CreateInsertElement(result, call(prefix, vector->getElementType(), arguments), i);
  }
  return result;
}

// A function of one value of any scalar type, with more arguments: of a vector for each component, of
// booleans as integers.
Result<llvm::Value*> Reader::lanewise(const Instruction& in, Values v, std::string_view name, size_t index,
                                      std::vector<Argument> more) {
  std::string own = code(binary_.definition(in.word(index)).type(), 's');
  llvm::Value* const given = v[index];
  const auto one = [&](llvm::Value* value, const std::string& as) {
    std::vector<Argument> arguments = {{value, as}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call(name, value->getType(), arguments);
  };
  if (given->getType()->isIntegerTy(1))
    return build_.CreateICmpNE(one(build_.CreateZExt(given, i32()), "i"), build_.getInt32(0));
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(given->getType());
  if (vector == nullptr) return one(given, own);
  own = own.substr(own.find('_') + 1);
  llvm::Value* result = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    result = build_.CreateInsertElement(result, one(build_.CreateExtractElement(given, i), own), i);
  return result;
}

Reader::Handled Reader::groups(const Instruction& in, Values v) {
  if (const Operation* operation = find_operation(kUniform, in.op())) {
    auto prefix = group_prefix(in.word(0));
    if (!prefix.ok()) return prefix.error();
    // Products and bits of sub-groups: OpenCL C has them for sub-groups that are not uniform alone.
    if (in.op() >= spv::OpGroupIMulKHR && prefix->starts_with("sub")) *prefix += "non_uniform_";
    return group_operation(in, v, *prefix, 1, operation->name, operation->sign, operation->is_logical);
  }
  llvm::Type* const none = llvm::Type::getVoidTy(context());
  switch (in.op()) {
    case spv::OpGroupAll:
    case spv::OpGroupAny: {
      auto prefix = group_prefix(in.word(0));
      if (!prefix.ok()) return prefix.error();
      const std::string name = *prefix + (in.op() == spv::OpGroupAll ? "all" : "any");
      return build_.CreateICmpNE(call(name, i32(), {{build_.CreateZExt(v[1], i32()), "i"}}),
                                 build_.getInt32(0));
    }
    case spv::OpGroupBroadcast: {
      auto prefix = group_prefix(in.word(0));
      if (!prefix.ok()) return prefix.error();
      const bool by_sub_group = prefix->starts_with("sub");
      llvm::Type* const width = by_sub_group ? i32() : i64();
      const char* const width_code = by_sub_group ? "j" : "m";
      std::vector<Argument> place;
      if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v[2]->getType())) {
        for (unsigned i = 0; i < vector->getNumElements(); ++i)
          place.push_back(
              {build_.CreateZExtOrTrunc(build_.CreateExtractElement(v[2], i), width), width_code});
      } else {
        place.push_back({build_.CreateZExtOrTrunc(v[2], width), width_code});
      }
      return lanewise(in, v, *prefix + "broadcast", 1, place);
    }
    case spv::OpGroupAsyncCopy: {
      const uint32_t to = binary_.definition(in.word(1)).type(), from = binary_.definition(in.word(2)).type();
      const Argument count{build_.CreateZExtOrTrunc(v[3], i64()), "m"};
      const Argument stride{build_.CreateZExtOrTrunc(v[4], i64()), "m"};
      return call(
          "async_work_group_strided_copy", pointer(kGeneric),
          {{v[1], code(to, 's')}, {v[2], code(from, 's', true)}, count, stride, {v[5], "9ocl_event"}});
    }
    case spv::OpGroupWaitEvents: {
      const unsigned space = v[2]->getType()->getPointerAddressSpace();
      llvm::Value* const list =
          space == kPrivate ? v[2] : build_.CreateAddrSpaceCast(v[2], pointer(kGeneric));
      call("wait_group_events", none,
           {{v[1], "i"}, {list, space == kPrivate ? "PU3AS59ocl_event" : "P9ocl_event"}});
      return nullptr;
    }
    default: return std::nullopt;
  }
}

// As if the two operands lay one behind the other, and each lane read so many lanes further on, in the first
// one and beyond, or further back, in the second one and before.
Result<llvm::Value*> Reader::shuffle_across(const Instruction& in, Values v, bool down) {
  llvm::Value* const delta = build_.CreateZExtOrTrunc(v[2], i32());
  llvm::Value* const lane = call("get_sub_group_local_id", i32(), {});
  llvm::Value* const place = down ? build_.CreateAdd(lane, delta) : build_.CreateSub(lane, delta);
  llvm::Value* const lanes = build_.CreateIntrinsic(i32(), llvm::Intrinsic::amdgcn_wavefrontsize, {});
  const Argument from{build_.CreateAnd(place, build_.CreateSub(lanes, build_.getInt32(1))), "j"};
  MORGANA_TRY(llvm::Value * first, lanewise(in, v, "sub_group_shuffle", 0, {from}));
  MORGANA_TRY(llvm::Value * second, lanewise(in, v, "sub_group_shuffle", 1, {from}));
  llvm::Value* const is_first = down ? build_.CreateICmpULT(place, lanes) : build_.CreateICmpULT(lane, delta);
  return build_.CreateSelect(is_first, first, second);
}

Reader::Handled Reader::non_uniform_groups(const Instruction& in, Values v) {
  if (const Operation* operation = find_operation(kNonUniform, in.op())) {
    auto prefix = group_prefix(in.word(0));
    if (!prefix.ok() || !prefix->starts_with("sub"))
      return make_error(ErrorCode::unsupported,
                        "a non-uniform operation of another scope than the sub-group");
    return group_operation(in, v, "sub_group_non_uniform_", 1, operation->name, operation->sign,
                           operation->is_logical);
  }
  const auto truth = [&](llvm::Value* number) { return build_.CreateICmpNE(number, build_.getInt32(0)); };
  const auto number = [&](size_t index) -> Argument { return {build_.CreateZExt(v[index], i32()), "i"}; };
  const auto uint = [&](size_t index) -> Argument {
    return {build_.CreateZExtOrTrunc(v[index], i32()), "j"};
  };
  auto* const mask_type = llvm::FixedVectorType::get(i32(), 4);
  const auto mask = [&](size_t index) -> Argument { return {v[index], "Dv4_j"}; };
  switch (in.op()) {
    case spv::OpGroupNonUniformElect: return truth(call("sub_group_elect", i32(), {}));
    case spv::OpGroupNonUniformAll: return truth(call("sub_group_non_uniform_all", i32(), {number(1)}));
    case spv::OpGroupNonUniformAny: return truth(call("sub_group_non_uniform_any", i32(), {number(1)}));
    case spv::OpGroupNonUniformAllEqual: {
      const std::string own = code(binary_.definition(in.word(1)).type(), 's');
      if (own == "b") return truth(call("sub_group_non_uniform_all_equal", i32(), {number(1)}));
      auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(v[1]->getType());
      if (vector == nullptr) return truth(call("sub_group_non_uniform_all_equal", i32(), {{v[1], own}}));
      llvm::Value* all = build_.getTrue();
      for (unsigned i = 0; i < vector->getNumElements(); ++i)
        all = build_.CreateAnd(
            all, truth(call("sub_group_non_uniform_all_equal", i32(),
                            {{build_.CreateExtractElement(v[1], i), own.substr(own.find('_') + 1)}})));
      return all;
    }
    case spv::OpGroupNonUniformBroadcast:
      return lanewise(in, v, "sub_group_non_uniform_broadcast", 1, {uint(2)});
    case spv::OpGroupNonUniformBroadcastFirst: return lanewise(in, v, "sub_group_broadcast_first", 1, {});
    case spv::OpGroupNonUniformBallot: return call("sub_group_ballot", mask_type, {number(1)});
    case spv::OpGroupNonUniformInverseBallot:
      return truth(call("sub_group_inverse_ballot", i32(), {mask(1)}));
    case spv::OpGroupNonUniformBallotBitExtract:
      return truth(call("sub_group_ballot_bit_extract", i32(), {mask(1), uint(2)}));
    case spv::OpGroupNonUniformBallotBitCount: {
      const char* const name = in.word(1) == spv::GroupOperationReduce ? "sub_group_ballot_bit_count"
                               : in.word(1) == spv::GroupOperationInclusiveScan
                                   ? "sub_group_ballot_inclusive_scan"
                                   : "sub_group_ballot_exclusive_scan";
      return build_.CreateZExtOrTrunc(call(name, i32(), {mask(2)}), type(in.type()));
    }
    case spv::OpGroupNonUniformBallotFindLSB:
      return build_.CreateZExtOrTrunc(call("sub_group_ballot_find_lsb", i32(), {mask(1)}), type(in.type()));
    case spv::OpGroupNonUniformBallotFindMSB:
      return build_.CreateZExtOrTrunc(call("sub_group_ballot_find_msb", i32(), {mask(1)}), type(in.type()));
    case spv::OpGroupNonUniformShuffle: return lanewise(in, v, "sub_group_shuffle", 1, {uint(2)});
    case spv::OpGroupNonUniformShuffleXor: return lanewise(in, v, "sub_group_shuffle_xor", 1, {uint(2)});
    case spv::OpGroupNonUniformShuffleUp: return lanewise(in, v, "sub_group_shuffle_up", 1, {uint(2)});
    case spv::OpGroupNonUniformShuffleDown: return lanewise(in, v, "sub_group_shuffle_down", 1, {uint(2)});
    case spv::OpSubgroupShuffleINTEL: return lanewise(in, v, "sub_group_shuffle", 0, {uint(1)});
    case spv::OpSubgroupShuffleXorINTEL: return lanewise(in, v, "sub_group_shuffle_xor", 0, {uint(1)});
    case spv::OpSubgroupShuffleDownINTEL: return shuffle_across(in, v, true);
    case spv::OpSubgroupShuffleUpINTEL: return shuffle_across(in, v, false);
    case spv::OpGroupNonUniformRotateKHR: {
      const Argument delta{build_.CreateZExtOrTrunc(v[2], i32()), "i"};
      if (in.size() < 4) return lanewise(in, v, "sub_group_rotate", 1, {delta});
      return lanewise(in, v, "sub_group_clustered_rotate", 1, {delta, uint(3)});
    }
    default: return std::nullopt;
  }
}

}  // namespace morgana::runtime::spirv
