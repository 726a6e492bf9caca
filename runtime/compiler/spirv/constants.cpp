// Constants, specialization constants, variables of the module, and the values of ids.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

// Null pointers to local and private memory are -1; LLVM's null is address 0 there.
llvm::Constant* null_pointer(llvm::PointerType* type) {
  auto* const generic = llvm::ConstantPointerNull::get(llvm::PointerType::get(type->getContext(), kGeneric));
  if (type->getAddressSpace() != kLocal && type->getAddressSpace() != kPrivate)
    return llvm::ConstantPointerNull::get(type);
  return llvm::ConstantExpr::getAddrSpaceCast(generic, type);
}

constexpr uint64_t kNarrowNull = 0xffffffff;

// A constant may have another many times: a few lines tell more than there is memory for.
constexpr uint64_t kMostParts = uint64_t{1} << 22;
// Of one that is not all null: its nulls, too, lie in the code object.
constexpr uint64_t kMostBytes = uint64_t{1} << 26;

}  // namespace

std::optional<uint64_t> Reader::specialized(uint32_t id) const {
  const Decoration* decoration = binary_.find(id, spv::DecorationSpecId);
  if (decoration == nullptr) return std::nullopt;
  const auto found = specialization_.find(decoration->word(0));
  return found == specialization_.end() ? std::nullopt : std::optional<uint64_t>(found->second);
}

std::optional<uint64_t> Reader::integer(uint32_t id) const {
  auto* constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(id < values_.size() ? values_[id] : nullptr);
  return constant == nullptr ? std::nullopt : std::optional<uint64_t>(constant->getZExtValue());
}

Result<llvm::Constant*> Reader::make_scalar(const Instruction& in) {
  llvm::Type* const result = type(in.type());
  const uint64_t bits = specialized(in.result()).value_or(in.literal(0));
  if (result == nullptr || !(result->isIntegerTy() || result->isFloatingPointTy()))
    return make_error(ErrorCode::unsupported, "a constant of that type");
  const llvm::APInt value =
      llvm::APInt(64, bits).zextOrTrunc(static_cast<unsigned>(result->getScalarSizeInBits()));
  if (result->isIntegerTy()) return llvm::ConstantInt::get(context(), value);
  return llvm::ConstantFP::get(context(), llvm::APFloat(result->getFltSemantics(), value));
}

Result<llvm::Constant*> Reader::make_null(uint32_t id) {
  llvm::Type* const result = type(id);
  const Instruction& in = binary_.definition(id);
  if (result == nullptr) return make_error(ErrorCode::unsupported, "a null of that type");
  if (auto* pointer = llvm::dyn_cast<llvm::PointerType>(result)) return null_pointer(pointer);
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(result)) {
    // Only elements that are not all zero need to be told one by one.
    MORGANA_TRY(llvm::Constant * element, make_null(in.word(0)));
    if (memory_type(in.word(0)) != type(in.word(0))) element = llvm::ConstantInt::get(i64(), kNarrowNull);
    constexpr uint64_t kMostPointers = 1 << 17;
    if (element->isNullValue()) return llvm::Constant::getNullValue(result);
    null_pointers_ += array->getNumElements();
    if (null_pointers_ > kMostPointers)
      return make_error(ErrorCode::build_failed, "nulls of more than {} pointers in all", kMostPointers);
    return llvm::ConstantArray::get(array, std::vector(array->getNumElements(), element));
  }
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(result); structure && in.op() == spv::OpTypeStruct) {
    std::vector<llvm::Constant*> members;
    for (size_t i = 0; i < in.size(); ++i) {
      MORGANA_TRY(llvm::Constant * member, make_null(in.word(i)));
      const bool narrow = memory_type(in.word(i)) != type(in.word(i));
      members.push_back(narrow ? llvm::ConstantInt::get(i64(), kNarrowNull) : member);
    }
    return llvm::ConstantStruct::get(structure, members);
  }
  return llvm::Constant::getNullValue(result);
}

Result<llvm::Constant*> Reader::make_composite(const Instruction& in) {
  llvm::Type* const result = type(in.type());
  const Instruction& shape = binary_.definition(in.type());
  std::vector<llvm::Constant*> parts;
  for (size_t i = 0; i < in.size(); ++i) {
    auto* part = llvm::dyn_cast_or_null<llvm::Constant>(values_[in.word(i)]);
    const uint32_t part_type = shape.op() == spv::OpTypeStruct ? shape.word(i) : shape.word(0);
    if (part == nullptr || type(part_type) != part->getType())
      return make_error(ErrorCode::unsupported, "a composite constant of such parts");
    if (memory_type(part_type) != part->getType()) {
      part = part == null_pointer(llvm::cast<llvm::PointerType>(part->getType()))
                 ? llvm::ConstantInt::get(i64(), kNarrowNull)
                 : llvm::ConstantExpr::getPtrToInt(part, i64());
    }
    parts.push_back(part);
  }
  if (auto* vector = llvm::dyn_cast_or_null<llvm::FixedVectorType>(result);
      vector != nullptr && vector->getNumElements() == parts.size())
    return llvm::ConstantVector::get(parts);
  if (auto* array = llvm::dyn_cast_or_null<llvm::ArrayType>(result);
      array != nullptr && array->getNumElements() == parts.size())
    return llvm::ConstantArray::get(array, parts);
  if (auto* structure = llvm::dyn_cast_or_null<llvm::StructType>(result);
      structure != nullptr && structure->getNumElements() == parts.size())
    return llvm::ConstantStruct::get(structure, parts);
  return make_error(ErrorCode::unsupported, "a composite constant of that type");
}

// What of it is written one by one, up to kMostParts and a little; of numbers in a row sixteen count as one.
uint64_t Reader::parts_of(const llvm::Constant* constant) {
  if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(constant))
    return data->getNumElements() / 16 + 1;
  if (!llvm::isa<llvm::ConstantAggregate>(constant)) return 1;
  if (const auto known = parts_.find(constant); known != parts_.end()) return known->second;
  uint64_t sum = 0;
  for (size_t i = 0; i < constant->getNumOperands() && sum <= kMostParts; ++i)
    sum += parts_of(llvm::cast<llvm::Constant>(constant->getOperand(i)));
  return parts_[constant] = sum;
}

Status Reader::check_parts(const llvm::Constant* constant) {
  if (parts_of(constant) <= kMostParts) return {};
  return make_error(ErrorCode::build_failed, "a constant of more than {} parts", kMostParts);
}

// The same of all that are written to the code object.
Status Reader::check_written(const llvm::Constant* constant) {
  if (constant->isNullValue() || llvm::isa<llvm::UndefValue>(constant)) return {};
  if (layout_.getTypeAllocSize(constant->getType()).getFixedValue() > kMostBytes)
    return make_error(ErrorCode::build_failed, "a constant of more than {} bytes", kMostBytes);
  written_parts_ += parts_of(constant);
  if (written_parts_ <= kMostParts) return {};
  return make_error(ErrorCode::build_failed, "constants of more than {} parts", kMostParts);
}

// The instruction's own translation; all of its operands are constants, so that LLVM folds it.
Result<llvm::Constant*> Reader::make_operation(const Instruction& in) {
  const Instruction operation = in.tail(static_cast<spv::Op>(in.word(0)), 1);
  build_.ClearInsertionPoint();
  MORGANA_TRY(llvm::Value * result, translate(operation));
  if (auto* constant = llvm::dyn_cast_or_null<llvm::Constant>(result)) return constant;
  // Left where nothing holds it.
  if (auto* instruction = llvm::dyn_cast_or_null<llvm::Instruction>(result);
      instruction != nullptr && instruction->getParent() == nullptr)
    instruction->deleteValue();
  return make_error(ErrorCode::unsupported, "OpSpecConstantOp of instruction {}", in.word(0));
}

Result<llvm::Constant*> Reader::make_variable(const Instruction& in) {
  const uint32_t pointee = binary_.definition(in.type()).word(1);
  llvm::Type* const content = memory_type(pointee);
  if (content == nullptr || !content->isSized())
    return make_error(ErrorCode::unsupported, "a variable of that type");
  const unsigned space = type(in.type())->getPointerAddressSpace();
  const Decoration* linkage = binary_.find(in.result(), spv::DecorationLinkageAttributes);
  const std::string_view name = linkage != nullptr ? linkage->text(0) : binary_.name(in.result());
  const auto kind =
      linkage != nullptr ? static_cast<spv::LinkageType>(linkage->word(1)) : spv::LinkageTypeMax;
  llvm::Constant* initial = nullptr;
  if (in.size() > 1) initial = llvm::dyn_cast_or_null<llvm::Constant>(values_[in.word(1)]);
  // Local memory begins with no value in OpenCL; producers from LLVM, which wants one of each variable, name
  // null.
  if (initial != nullptr && space == kLocal && binary_.definition(in.word(1)).op() == spv::OpConstantNull)
    initial = nullptr;
  if (initial != nullptr && (initial->getType() != content || space == kLocal))
    return make_error(ErrorCode::unsupported, "a variable with such an initial value");
  if (initial == nullptr && kind != spv::LinkageTypeImport) {
    MORGANA_TRY(llvm::Constant * zero, make_null(pointee));
    initial = space == kLocal ? static_cast<llvm::Constant*>(llvm::UndefValue::get(content)) : zero;
    if (initial->getType() != content) initial = llvm::Constant::getNullValue(content);
  }
  if (initial != nullptr) MORGANA_CHECK(check_written(initial));
  auto* variable = new llvm::GlobalVariable(
      module_, content, space == kConstant || has(in, spv::DecorationConstant),
      linkage == nullptr                    ? llvm::GlobalValue::InternalLinkage
      : kind == spv::LinkageTypeLinkOnceODR ? llvm::GlobalValue::WeakODRLinkage
                                            : llvm::GlobalValue::ExternalLinkage,
      initial, llvm::StringRef(name.data(), name.size()), nullptr, llvm::GlobalValue::NotThreadLocal, space);
  if (linkage != nullptr) variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
  if (const Decoration* alignment = binary_.find(in.result(), spv::DecorationAlignment))
    variable->setAlignment(
        llvm::MaybeAlign(llvm::isPowerOf2_32(alignment->word(0)) ? alignment->word(0) : 0));
  return variable;
}

Result<llvm::Constant*> Reader::make_constant(const Instruction& in) {
  switch (in.op()) {
    case spv::OpConstantTrue:
    case spv::OpConstantFalse: return llvm::ConstantInt::getBool(context(), in.op() == spv::OpConstantTrue);
    case spv::OpSpecConstantTrue:
    case spv::OpSpecConstantFalse:
      return llvm::ConstantInt::getBool(
          context(), specialized(in.result()).value_or(in.op() == spv::OpSpecConstantTrue) != 0);
    case spv::OpConstant:
    case spv::OpSpecConstant: return make_scalar(in);
    case spv::OpConstantComposite:
    case spv::OpSpecConstantComposite: return make_composite(in);
    case spv::OpConstantNull: return make_null(in.type());
    case spv::OpSpecConstantOp: return make_operation(in);
    case spv::OpUndef: {
      llvm::Type* const result = type(in.type());
      if (result == nullptr || result->isVoidTy())
        return make_error(ErrorCode::unsupported, "an undefined value of that type");
      return llvm::UndefValue::get(result);
    }
    case spv::OpVariable: return make_variable(in);
    default: return make_error(ErrorCode::unsupported, "constant instruction {}", static_cast<int>(in.op()));
  }
}

Status Reader::read_constant(const Instruction& in) {
  if (in.op() == spv::OpConstantSampler) {
    constexpr uint32_t kNearest = 0x10, kLinear = 0x20;  // of OpenCL C's sampler_t
    samplers_[in.result()] =
        in.word(0) << 1 | in.word(1) | (in.word(2) == spv::SamplerFilterModeLinear ? kLinear : kNearest);
    return {};
  }
  // Built-in variables exist in the functions that use them. Khronos's translator for LLVM 8 and before has
  // them in another storage class, imported.
  if (in.op() == spv::OpVariable &&
      (in.word(0) == spv::StorageClassInput || binary_.find(in.result(), spv::DecorationBuiltIn) != nullptr))
    return {};
  MORGANA_TRY(llvm::Constant * made, make_constant(in));
  if (made->getType() != type(in.type()))
    return make_error(ErrorCode::unsupported, "a constant of another type than its own");
  MORGANA_CHECK(check_parts(made));
  values_[in.result()] = made;
  return {};
}

llvm::Value* Reader::make_sampler(uint32_t bits) {
  return call_plain("__translate_sampler_initializer", pointer(kConstant), {build_.getInt32(bits)});
}

Result<llvm::Value*> Reader::value(uint32_t id) {
  if (id < values_.size() && values_[id] != nullptr) return values_[id];
  if (function_ != nullptr) {
    if (const auto known = materialized_.find(id); known != materialized_.end()) return known->second;
    const llvm::IRBuilderBase::InsertPointGuard guard(build_);
    build_.SetInsertPoint(prologue_->getTerminator());
    build_.SetCurrentDebugLocation(llvm::DebugLoc());
    if (const auto sampler = samplers_.find(id); sampler != samplers_.end())
      return materialized_[id] = make_sampler(sampler->second);
    if (binary_.definition(id).op() == spv::OpVariable) {
      MORGANA_TRY(llvm::Value * copy, built_in(id));
      llvm::Value* const place = build_.CreateAlloca(copy->getType(), kPrivate);
      build_.CreateStore(copy, place);
      return materialized_[id] = place;
    }
  }
  return make_error(ErrorCode::unsupported, "%{} is not a value that can be used here", id);
}

bool Reader::is_built_in(uint32_t id) const {
  return (id >= values_.size() || values_[id] == nullptr) && binary_.definition(id).op() == spv::OpVariable;
}

// What a built-in variable holds in the function at hand.
Result<llvm::Value*> Reader::built_in(uint32_t variable) {
  if (const auto known = built_ins_.find(variable); known != built_ins_.end())
    return static_cast<llvm::Value*>(known->second);
  const Decoration* decoration = binary_.find(variable, spv::DecorationBuiltIn);
  llvm::Type* const content = type(binary_.definition(binary_.definition(variable).type()).word(1));
  if (decoration == nullptr || content == nullptr)
    return make_error(ErrorCode::unsupported, "an input variable that is not built in");
  const llvm::IRBuilderBase::InsertPointGuard guard(build_);
  build_.SetInsertPoint(prologue_->getTerminator());
  build_.SetCurrentDebugLocation(llvm::DebugLoc());
  MORGANA_TRY(llvm::Value * held, built_in_value(static_cast<spv::BuiltIn>(decoration->word(0)), content));
  built_ins_[variable] = held;
  return held;
}

Result<llvm::Value*> Reader::built_in_value(spv::BuiltIn which, llvm::Type* result) {
  struct Row {
    spv::BuiltIn which;
    const char* name;
    char form;  // '3': a function of the dimension; 'z': of none, a size_t; 'u': of none, a uint; '4': a mask
  };
  static constexpr Row kRows[] = {{spv::BuiltInGlobalInvocationId, "get_global_id", '3'},
                                  {spv::BuiltInLocalInvocationId, "get_local_id", '3'},
                                  {spv::BuiltInWorkgroupId, "get_group_id", '3'},
                                  {spv::BuiltInNumWorkgroups, "get_num_groups", '3'},
                                  {spv::BuiltInWorkgroupSize, "get_local_size", '3'},
                                  {spv::BuiltInEnqueuedWorkgroupSize, "get_enqueued_local_size", '3'},
                                  {spv::BuiltInGlobalSize, "get_global_size", '3'},
                                  {spv::BuiltInGlobalOffset, "get_global_offset", '3'},
                                  {spv::BuiltInGlobalLinearId, "get_global_linear_id", 'z'},
                                  {spv::BuiltInLocalInvocationIndex, "get_local_linear_id", 'z'},
                                  {spv::BuiltInWorkDim, "get_work_dim", 'u'},
                                  {spv::BuiltInSubgroupSize, "get_sub_group_size", 'u'},
                                  {spv::BuiltInSubgroupMaxSize, "get_max_sub_group_size", 'u'},
                                  {spv::BuiltInNumSubgroups, "get_num_sub_groups", 'u'},
                                  {spv::BuiltInNumEnqueuedSubgroups, "get_enqueued_num_sub_groups", 'u'},
                                  {spv::BuiltInSubgroupId, "get_sub_group_id", 'u'},
                                  {spv::BuiltInSubgroupLocalInvocationId, "get_sub_group_local_id", 'u'},
                                  {spv::BuiltInSubgroupEqMask, "get_sub_group_eq_mask", '4'},
                                  {spv::BuiltInSubgroupGeMask, "get_sub_group_ge_mask", '4'},
                                  {spv::BuiltInSubgroupGtMask, "get_sub_group_gt_mask", '4'},
                                  {spv::BuiltInSubgroupLeMask, "get_sub_group_le_mask", '4'},
                                  {spv::BuiltInSubgroupLtMask, "get_sub_group_lt_mask", '4'}};
  for (const Row& row : kRows) {
    if (row.which != which) continue;
    if (row.form == '4') {
      auto* const mask = llvm::FixedVectorType::get(i32(), 4);
      if (result != mask) break;
      return call(row.name, mask, {});
    }
    llvm::Type* const own = row.form == 'u' ? i32() : i64();
    auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(result);
    if ((row.form == '3') != (vector != nullptr) || !result->isIntOrIntVectorTy()) break;
    if (vector == nullptr) return build_.CreateZExtOrTrunc(call(row.name, own, {}), result);
    llvm::Value* all = llvm::PoisonValue::get(vector);
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
      llvm::Value* const one = call(row.name, own, {{build_.getInt32(i), "j"}});
      // So that what is not used goes.
      llvm::cast<llvm::CallInst>(one)->setDoesNotAccessMemory();
      llvm::cast<llvm::CallInst>(one)->addFnAttr(llvm::Attribute::WillReturn);
      all = build_.CreateInsertElement(all, build_.CreateZExtOrTrunc(one, vector->getElementType()), i);
    }
    return all;
  }
  return make_error(ErrorCode::unsupported, "built-in variable {} of that type", static_cast<int>(which));
}

}  // namespace morgana::runtime::spirv
