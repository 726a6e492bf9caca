#include "device/jit/part_slots.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace morgana::device::jit {
namespace {

llvm::Align align_of(const Slot& slot) { return llvm::Align(std::min<uint64_t>(slot.bytes, 64)); }
constexpr uint64_t kScalar = 8;
uint64_t part_bytes(const llvm::Type* type) { return type->getPrimitiveSizeInBits().getFixedValue() / 8; }

}  // namespace

bool PartSlots::holds(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const unsigned bits = vector ? vector->getScalarSizeInBits() : 0;
  return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

// Of masks what they take at most.
uint64_t PartSlots::bytes_of(const Parts& value) {
  const llvm::Type* const type = value[0]->getType();
  const uint64_t bits = type->getPrimitiveSizeInBits().getFixedValue();
  return value.size() * (is_mask(type) ? bits * 4 : bits / 8);
}

llvm::AllocaInst* PartSlots::in_frame(llvm::Type* type, uint64_t count, llvm::Align align) {
  llvm::BasicBlock& entry = function_.getEntryBlock();
  llvm::IRBuilder<> b(&entry, entry.getFirstInsertionPt());
  llvm::AllocaInst* const place = b.CreateAlloca(type, b.getInt64(count));
  place->setAlignment(align);
  return place;
}

// Masks lie there as numbers with a bit a lane, those of few lanes as numbers a lane: their sign.
Slot PartSlots::make(llvm::Type* type, bool is_local) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
  Slot slot;
  slot.value = slot.type = type;
  if (is_mask(type))
    slot.type = lanes % 16 == 0 ? static_cast<llvm::Type*>(b_.getIntNTy(lanes))
                                : llvm::FixedVectorType::get(b_.getInt32Ty(), lanes);
  slot.bytes = part_bytes(slot.type);
  if (auto& free = free_[slot.bytes]; is_local && !free.empty()) {
    slot.address = free.back();
    free.pop_back();
  } else {
    slot.address = in_frame(b_.getInt8Ty(), slot.bytes * parts_, llvm::Align(64));
  }
  bytes_ += slot.bytes * parts_;
  if (is_local) local_.push_back(slot);
  return slot;
}

void PartSlots::release() {
  for (const Slot& slot : local_) {
    free_[slot.bytes].push_back(slot.address);
    bytes_ -= slot.bytes * parts_;
  }
  local_.clear();
}

Slot PartSlots::filled(const Parts& tuple, llvm::Instruction& before) {
  llvm::Value* const whole = taken_from(tuple);
  const unsigned lanes = vector_type(tuple[0])->getNumElements();
  if (whole && is_mask(whole->getType()) && lanes % 8 == 0) {
    Slot slot = make(llvm::FixedVectorType::get(b_.getInt8Ty(), lanes / 8), true);
    slot.value = tuple[0]->getType();
    slot.type = b_.getIntNTy(lanes);
    b_.SetInsertPoint(&before);
    b_.CreateAlignedStore(b_.CreateBitCast(whole, b_.getIntNTy(lanes * parts_)), slot.address,
                          llvm::Align(8));
    return slot;
  }
  const Slot slot = make(tuple[0]->getType(), true);
  b_.SetInsertPoint(&before);
  if (whole && !is_mask(whole->getType()))
    b_.CreateAlignedStore(whole, slot.address, llvm::Align(64));
  else
    for (unsigned p = 0; p < parts_; p++) store(slot, tuple[p], address(slot, p));
  return slot;
}

// The value that parts were taken out of, which has nothing else.
llvm::Value* PartSlots::taken_from(const Parts& tuple) const {
  llvm::Value* whole = nullptr;
  for (unsigned p = 0; p < parts_; p++) {
    const auto* part = llvm::dyn_cast<llvm::ShuffleVectorInst>(tuple[p]);
    if (!part || (whole && part->getOperand(0) != whole)) return nullptr;
    whole = part->getOperand(0);
    const unsigned lanes = vector_type(part)->getNumElements();
    int at = 0;
    if (vector_type(whole)->getNumElements() != parts_ * lanes || !part->isExtractSubvectorMask(at) ||
        at != static_cast<int>(p * lanes))
      return nullptr;
  }
  return whole;
}

Slot PartSlots::table(const Parts& constants) {
  llvm::SmallVector<llvm::Constant*, 8> parts;
  for (llvm::Value* part : constants) parts.push_back(llvm::cast<llvm::Constant>(part));
  llvm::Type* const type = constants[0]->getType();
  auto* const array = llvm::ArrayType::get(type, parts_);
  auto* const made =
      new llvm::GlobalVariable(*function_.getParent(), array, true, llvm::GlobalValue::PrivateLinkage,
                               llvm::ConstantArray::get(array, parts), "parts");
  made->setAlignment(llvm::Align(64));
  return {made, type, type, part_bytes(type)};
}

llvm::Value* PartSlots::address(const Slot& slot, unsigned part) {
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), slot.address, part * slot.bytes);
}
llvm::Value* PartSlots::address_in_loop(const Slot& slot, llvm::Value* at) {
  if (slot.bytes > kStep) at = b_.CreateNUWMul(at, b_.getInt64(slot.bytes / kStep));
  if (slot.bytes < kStep) at = b_.CreateLShr(at, llvm::Log2_64(kStep / slot.bytes), "", true);
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), slot.address, at);
}

llvm::Value* PartSlots::load(const Slot& slot, llvm::Value* address) {
  llvm::Value* const value = b_.CreateAlignedLoad(slot.type, address, align_of(slot));
  if (slot.type == slot.value) return value;
  return slot.type->isVectorTy() ? b_.CreateICmpSLT(value, llvm::Constant::getNullValue(slot.type))
                                 : b_.CreateBitCast(value, slot.value);
}
void PartSlots::store(const Slot& slot, llvm::Value* value, llvm::Value* address) {
  if (slot.type != slot.value)
    value = slot.type->isVectorTy() ? b_.CreateSExt(value, slot.type) : b_.CreateBitCast(value, slot.type);
  b_.CreateAlignedStore(value, address, align_of(slot));
}

llvm::Value* PartSlots::load(const Slot& slot, llvm::Value* at, llvm::Instruction& before) {
  b_.SetInsertPoint(&before);
  return load(slot, address_in_loop(slot, at));
}
llvm::Value* PartSlots::load(const Slot& slot, unsigned part, llvm::Instruction& before) {
  b_.SetInsertPoint(&before);
  return load(slot, address(slot, part));
}
void PartSlots::store(const Slot& slot, llvm::Value* value, llvm::Value* at, llvm::Instruction& before) {
  b_.SetInsertPoint(&before);
  store(slot, value, address_in_loop(slot, at));
}

llvm::Value* PartSlots::load_whole(const Slot& slot, llvm::Type* type, llvm::Instruction& before) {
  b_.SetInsertPoint(&before);
  llvm::Type* const kept =
      is_mask(type) ? b_.getIntNTy(llvm::cast<llvm::FixedVectorType>(type)->getNumElements()) : type;
  return b_.CreateBitCast(b_.CreateAlignedLoad(kept, slot.address, llvm::Align(64)), type);
}

llvm::Value* PartSlots::make_scalar(llvm::Value* scalar, llvm::Instruction& before) {
  llvm::Type* const type = scalar->getType();
  llvm::AllocaInst* const place = in_frame(type, 1, function_.getDataLayout().getABITypeAlign(type));
  bytes_ += kScalar;
  b_.SetInsertPoint(&before);
  b_.CreateStore(scalar, place);
  return place;
}

}  // namespace morgana::device::jit
