// Vectors, structures and arrays as values.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

constexpr unsigned kMostElements = 4;  // that are looked through

// The type of a part, where `shape` is a vector, an array or a structure; 0: none.
uint32_t part_type(const Instruction& shape, uint32_t index) {
  if (shape.op() == spv::OpTypeStruct) return shape.word(index);
  const bool has_parts = shape.op() == spv::OpTypeVector || shape.op() == spv::OpTypeArray;
  return has_parts ? shape.word(0) : 0;
}

bool has_part(const llvm::Type* type, uint32_t index) {
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) return index < vector->getNumElements();
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) return index < array->getNumElements();
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) return index < structure->getNumElements();
  return false;
}

}  // namespace

// One of a vector's elements: what was put there where that is close, as with built-in variables.
llvm::Value* Reader::element(llvm::Value* vector, uint32_t index) {
  llvm::Value* from = vector;
  for (unsigned step = 0; step < kMostElements; step++) {
    const auto* const insert = llvm::dyn_cast<llvm::InsertElementInst>(from);
    const auto* const at =
        insert == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
    if (at == nullptr) break;
    if (at->getZExtValue() == index) return insert->getOperand(1);
    from = insert->getOperand(0);
  }
  return build_.CreateExtractElement(vector, index);
}

// The part of `from`, whose type has that id, that the literals of `in` from operand `first` on name.
Result<llvm::Value*> Reader::extract(llvm::Value* from, uint32_t id, const Instruction& in, size_t first) {
  for (size_t i = first; i < in.size(); ++i) {
    const uint32_t index = in.word(i);
    if (!has_part(from->getType(), index))
      return make_error(ErrorCode::unsupported, "a part that is not there");
    const uint32_t next = part_type(binary_.definition(id), index);
    if (!from->getType()->isVectorTy())
      from = build_.CreateExtractValue(from, index);
    else
      from = element(from, index);
    if (next == 0) return make_error(ErrorCode::unsupported, "a part of what has none");
    from = from_memory(from, next);
    id = next;
  }
  return from;
}

// OpCompositeInsert: the object is operand 0, the composite operand 1, the literals follow.
Result<llvm::Value*> Reader::insert(const Instruction& in, Values v) {
  if (in.size() == 2) return v[0];
  // The wholes on the way down, then put together on the way up.
  std::vector<llvm::Value*> wholes = {v[1]};
  std::vector<uint32_t> types = {in.type()};
  for (size_t i = 2; i < in.size(); ++i) {
    const uint32_t index = in.word(i);
    const uint32_t next = part_type(binary_.definition(types.back()), index);
    llvm::Value* const whole = wholes.back();
    if (next == 0 || !has_part(whole->getType(), index))
      return make_error(ErrorCode::unsupported, "a part that is not there");
    types.push_back(next);
    if (i + 1 == in.size()) break;
    if (whole->getType()->isVectorTy()) return make_error(ErrorCode::unsupported, "a part of what has none");
    wholes.push_back(build_.CreateExtractValue(whole, index));
  }
  llvm::Value* part = v[0];
  if (part->getType() != type(types.back()))
    return make_error(ErrorCode::unsupported, "a part of another type");
  part = to_memory(part, types.back());
  for (size_t i = wholes.size(); i-- > 0;) {
    const uint32_t index = in.word(2 + i);
    part = wholes[i]->getType()->isVectorTy() ? build_.CreateInsertElement(wholes[i], part, index)
                                              : build_.CreateInsertValue(wholes[i], part, index);
  }
  return part;
}

Result<llvm::Value*> Reader::construct(const Instruction& in, Values v) {
  llvm::Type* const result = type(in.type());
  llvm::Value* whole = llvm::PoisonValue::get(result);
  const auto mismatch = [] { return make_error(ErrorCode::unsupported, "a composite of such parts"); };
  auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(result);
  if (vector == nullptr) {
    for (uint32_t i = 0; i < v.size(); ++i) {
      const uint32_t part = part_type(binary_.definition(in.type()), i);
      if (!has_part(result, i) || type(part) != v[i]->getType()) return mismatch();
      whole = build_.CreateInsertValue(whole, to_memory(v[i], part), i);
    }
    return whole;
  }
  // A vector is also made of vectors, one after the other.
  uint32_t filled = 0;
  for (llvm::Value* part : v) {
    auto* const several = llvm::dyn_cast<llvm::FixedVectorType>(part->getType());
    const unsigned count = several == nullptr ? 1 : several->getNumElements();
    if (part->getType()->getScalarType() != vector->getElementType() ||
        filled + count > vector->getNumElements())
      return mismatch();
    for (unsigned i = 0; i < count; ++i)
      whole = build_.CreateInsertElement(
          whole, several == nullptr ? part : build_.CreateExtractElement(part, i), filled++);
  }
  return filled == vector->getNumElements() ? Result<llvm::Value*>(whole) : mismatch();
}

Reader::Handled Reader::composites(const Instruction& in, Values v) {
  switch (in.op()) {
    case spv::OpVectorExtractDynamic: return build_.CreateExtractElement(v[0], v[1]);
    case spv::OpVectorInsertDynamic: return build_.CreateInsertElement(v[0], v[1], v[2]);
    case spv::OpVectorShuffle: {
      auto* const a = llvm::dyn_cast<llvm::FixedVectorType>(v[0]->getType());
      auto* const b = llvm::dyn_cast<llvm::FixedVectorType>(v[1]->getType());
      if (a == nullptr || b == nullptr || a->getElementType() != b->getElementType())
        return make_error(ErrorCode::unsupported, "a shuffle of such types");
      const unsigned most = std::max(a->getNumElements(), b->getNumElements());
      // LLVM shuffles vectors of one length: the shorter one is extended.
      const auto extended = [&](llvm::Value* value, unsigned count) {
        std::vector<int> lanes(most, llvm::PoisonMaskElem);
        for (unsigned i = 0; i < count; ++i) lanes[i] = static_cast<int>(i);
        return count == most ? value : build_.CreateShuffleVector(value, lanes);
      };
      std::vector<int> lanes;
      for (size_t i = 2; i < in.size(); ++i) {
        const uint32_t lane = in.word(i);
        if (lane != ~0u && lane >= a->getNumElements() + b->getNumElements())
          return make_error(ErrorCode::unsupported, "a shuffle with a lane that is not there");
        lanes.push_back(lane == ~0u                  ? llvm::PoisonMaskElem
                        : lane < a->getNumElements() ? static_cast<int>(lane)
                                                     : static_cast<int>(lane - a->getNumElements() + most));
      }
      return build_.CreateShuffleVector(extended(v[0], a->getNumElements()),
                                        extended(v[1], b->getNumElements()), lanes);
    }
    case spv::OpCompositeConstruct: return construct(in, v);
    case spv::OpCompositeExtract: return extract(v[0], binary_.definition(in.word(0)).type(), in, 1);
    case spv::OpCompositeInsert: return insert(in, v);
    case spv::OpCopyObject:
    case spv::OpCopyLogical: return v[0];
    default: return std::nullopt;
  }
}

}  // namespace morgana::runtime::spirv
