// Loads, stores, copies and addresses.
#include <llvm/ADT/SmallPtrSet.h>

#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

struct Access {
  bool is_volatile = false;
  bool is_nontemporal = false;
  std::optional<uint32_t> alignment;
};

// The operands of a memory access, which begin at `index`.
Access access_at(const Instruction& in, size_t index) {
  Access access;
  if (index >= in.size()) return access;
  const uint32_t mask = in.word(index++);
  access.is_volatile = (mask & spv::MemoryAccessVolatileMask) != 0;
  access.is_nontemporal = (mask & spv::MemoryAccessNontemporalMask) != 0;
  if ((mask & spv::MemoryAccessAlignedMask) != 0 && llvm::isPowerOf2_32(in.word(index)))
    access.alignment = std::min<uint32_t>(in.word(index), 4096);
  return access;
}

llvm::Align alignment_of(const Access& access, const llvm::DataLayout& layout, llvm::Type* type) {
  return access.alignment ? llvm::Align(*access.alignment) : layout.getABITypeAlign(type);
}

// Whether some part of it is more than a number.
bool has_address(const llvm::Constant& constant) {
  llvm::SmallPtrSet<const llvm::Constant*, 16> seen;
  llvm::SmallVector<const llvm::Constant*> ahead{&constant};
  while (!ahead.empty()) {
    const llvm::Constant* const one = ahead.pop_back_val();
    if (llvm::isa<llvm::ConstantData>(one) || !seen.insert(one).second) continue;
    if (!llvm::isa<llvm::ConstantAggregate>(one)) return true;
    for (const llvm::Use& part : one->operands()) ahead.push_back(llvm::cast<llvm::Constant>(part));
  }
  return false;
}

// LLVM knows no copies that pass the caches by.
void mark(llvm::Instruction* instruction, const Access& access) {
  if (!access.is_nontemporal || llvm::isa<llvm::CallInst>(instruction)) return;
  llvm::LLVMContext& context = instruction->getContext();
  instruction->setMetadata(llvm::LLVMContext::MD_nontemporal,
                           llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(
                                                          llvm::Type::getInt32Ty(context), 1))));
}

}  // namespace

// Of a value as it lies in memory. A constant of many elements is copied there, since LLVM would store each.
// One with addresses is stored: those of LDS are known when the kernel is laid out, and no variable can hold
// them.
Result<llvm::Instruction*> Reader::store(llvm::Value* value, llvm::Value* place, llvm::Align alignment,
                                         bool is_volatile) {
  constexpr uint64_t kFewElements = 16;
  auto* const constant = llvm::dyn_cast<llvm::Constant>(value);
  const bool is_copied =
      constant != nullptr && elements_of(value->getType()) > kFewElements && !has_address(*constant);
  if (!is_copied) {
    MORGANA_CHECK(check_value(value->getType(), is_volatile));
    return build_.CreateAlignedStore(value, place, alignment, is_volatile);
  }
  const uint64_t size = layout_.getTypeAllocSize(value->getType());
  if (constant->isNullValue())
    return build_.CreateMemSet(place, build_.getInt8(0), size, alignment, is_volatile);
  llvm::GlobalVariable*& source = stored_[constant];
  if (source == nullptr) {
    MORGANA_CHECK(check_written(constant));
    source = new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                      constant, "", nullptr, llvm::GlobalValue::NotThreadLocal, kConstant);
    source->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  }
  return build_.CreateMemCpy(place, alignment, source, source->getAlign(), size, is_volatile);
}

Result<llvm::Value*> Reader::access_chain(const Instruction& in, Values v, bool has_element, bool in_bounds) {
  const uint32_t pointee = pointee_of(in.word(0));
  llvm::Type* const base = memory_type(pointee);
  if (base == nullptr || !base->isSized())
    return make_error(ErrorCode::unsupported, "an address in what has no size");
  std::vector<llvm::Value*> indices;
  if (!has_element) indices.push_back(build_.getInt32(0));
  llvm::Type* at = nullptr;
  for (size_t i = 1; i < v.size(); ++i) {
    llvm::Value* index = v[i];
    if (has_element && i == 1) {
      at = base;
    } else {
      if (at == nullptr) at = base;
      if (auto* structure = llvm::dyn_cast<llvm::StructType>(at)) {
        // The one index that must be a constant, and of 32 bits.
        auto* const member = llvm::dyn_cast<llvm::ConstantInt>(index);
        if (member == nullptr || member->getValue().uge(structure->getNumElements()))
          return make_error(ErrorCode::unsupported, "an index of no member");
        index = build_.getInt32(static_cast<uint32_t>(member->getZExtValue()));
        at = structure->getElementType(static_cast<unsigned>(member->getZExtValue()));
      } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(at)) {
        at = array->getElementType();
      } else if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(at)) {
        at = vector->getElementType();
      } else {
        return make_error(ErrorCode::unsupported, "an index into what has no parts");
      }
    }
    if (!index->getType()->isIntegerTy()) return make_error(ErrorCode::unsupported, "an index of that type");
    indices.push_back(index);
  }
  // LLVM 22 writes an offset in bytes from the start of an array in this form, with a pointer to a byte as
  // the result, where it is a constant.
  llvm::Type* const told = memory_type(binary_.definition(in.type()).word(1));
  if (has_element && indices.size() == 2 && base->isArrayTy() && at != told && told == build_.getInt8Ty() &&
      llvm::isa<llvm::Constant>(indices[0]) && llvm::cast<llvm::Constant>(indices[0])->isNullValue())
    return build_.CreateInBoundsGEP(told, v[0], indices[1]);
  return in_bounds ? build_.CreateInBoundsGEP(base, v[0], indices) : build_.CreateGEP(base, v[0], indices);
}

Reader::Handled Reader::memory(const Instruction& in, Values v) {
  switch (in.op()) {
    case spv::OpLoad: {
      llvm::Type* const content = memory_type(in.type());
      if (content == nullptr || !content->isSized() || !v[0]->getType()->isPointerTy())
        return make_error(ErrorCode::unsupported, "a load of that type");
      const Access access = access_at(in, 1);
      if (access.is_volatile) MORGANA_CHECK(check_value(content, true));
      auto* const load =
          build_.CreateAlignedLoad(content, v[0], alignment_of(access, layout_, content), access.is_volatile);
      mark(load, access);
      return from_memory(load, in.type());
    }
    case spv::OpStore: {
      if (!v[0]->getType()->isPointerTy() || !v[1]->getType()->isSized())
        return make_error(ErrorCode::unsupported, "a store of that type");
      llvm::Value* const stored = to_memory(v[1], binary_.definition(in.word(1)).type());
      const Access access = access_at(in, 2);
      MORGANA_TRY(
          llvm::Instruction * store,
          this->store(stored, v[0], alignment_of(access, layout_, stored->getType()), access.is_volatile));
      mark(store, access);
      return nullptr;
    }
    case spv::OpCopyMemory:
    case spv::OpCopyMemorySized: {
      const bool sized = in.op() == spv::OpCopyMemorySized;
      llvm::Type* const content = memory_type(pointee_of(in.word(0)));
      if (!sized && (content == nullptr || !content->isSized()))
        return make_error(ErrorCode::unsupported, "a copy of that type");
      const size_t first = sized ? 3 : 2;
      const Access to = access_at(in, first);
      // From 1.4 on the source may have operands of its own.
      const size_t second = first + 1 + (to.alignment ? 1 : 0);
      const Access from = second < in.size() ? access_at(in, second) : to;
      const llvm::Align natural = sized ? llvm::Align(1) : layout_.getABITypeAlign(content);
      const auto aligned = [&](const Access& access) {
        return access.alignment ? llvm::Align(*access.alignment) : natural;
      };
      llvm::Value* const size = sized ? v[2] : build_.getInt64(layout_.getTypeAllocSize(content));
      build_.CreateMemCpy(v[0], aligned(to), v[1], aligned(from), size, to.is_volatile || from.is_volatile);
      return nullptr;
    }
    case spv::OpAccessChain: return access_chain(in, v, false, false);
    case spv::OpInBoundsAccessChain: return access_chain(in, v, false, true);
    case spv::OpPtrAccessChain: return access_chain(in, v, true, false);
    case spv::OpInBoundsPtrAccessChain: return access_chain(in, v, true, true);
    case spv::OpPtrDiff: {
      llvm::Type* const content = memory_type(pointee_of(in.word(0)));
      if (content == nullptr || !content->isSized())
        return make_error(ErrorCode::unsupported, "a difference of that type");
      return build_.CreateSExtOrTrunc(build_.CreatePtrDiff(content, v[0], v[1]), type(in.type()));
    }
    case spv::OpSizeOf: {
      llvm::Type* const content = memory_type(pointee_of(in.word(0)));
      if (content == nullptr || !content->isSized())
        return make_error(ErrorCode::unsupported, "a size of that type");
      return llvm::ConstantInt::get(type(in.type()), layout_.getTypeAllocSize(content).getFixedValue());
    }
    default: return std::nullopt;
  }
}

}  // namespace morgana::runtime::spirv
