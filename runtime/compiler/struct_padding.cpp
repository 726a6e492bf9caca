#include "runtime/compiler/struct_padding.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <optional>
#include <vector>

#include "device/checks.h"

namespace morgana::runtime {
namespace {

constexpr uint64_t kDword = 4;          // what the check knows apart
constexpr uint64_t kMostBytes = 65536;  // larger structs are left as they are
constexpr uint64_t kMostStored = 64;    // dwords of one private variable
constexpr uint64_t kMostFiller = 128;   // the greatest alignment of a type; a struct may have a greater one

bool is_private(const llvm::Value* pointer) {
  return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer));
}

class Padding {
 public:
  explicit Padding(llvm::Module& module) : layout_(module.getDataLayout()) {
    for (llvm::Function& function : module)
      for (llvm::Instruction& one : llvm::instructions(function))
        if (const auto* const place = llvm::dyn_cast<llvm::GEPOperator>(&one)) note_members(*place);
  }

  void store_behind_member(llvm::StoreInst& store) {
    llvm::Type* const value = store.getValueOperand()->getType();
    const uint64_t size = layout_.getTypeStoreSize(value);
    // The struct may be a member itself.
    uint64_t behind = 0, end = size;
    // vstore3's are not aligned.
    if (store.getAlign().value() >= layout_.getTypeAllocSize(value)) behind = padding_from(value, end);
    bool is_packed = false;
    const llvm::Value* at = store.getPointerOperand();
    while (const auto* const place = llvm::dyn_cast<llvm::GEPOperator>(at)) {
      const std::optional<uint64_t> offset = offset_in(*place);
      if (!offset) break;
      end += *offset;
      const auto* const record = llvm::dyn_cast<llvm::StructType>(place->getSourceElementType());
      is_packed |= record != nullptr && record->isPacked();
      behind = std::max(behind, padding_from(place->getSourceElementType(), end));
      if (!is_zero(place->idx_begin()->get())) break;
      at = place->getPointerOperand();
    }
    const uint64_t begin = llvm::alignTo(end, kDword) - end;
    if (begin >= behind) return;
    if (is_packed && store.getAlign() < llvm::Align(kDword)) return;  // no place for an atomic
    llvm::Instruction& next = *store.getNextNode();
    for (uint64_t dword = begin; dword + kDword <= behind; dword += kDword)
      store_if_unwritten(next, store.getDebugLoc(), store.getPointerOperand(), size + dword);
  }

  // Before anything else lies there.
  void store_in(llvm::AllocaInst& variable) {
    if (variable.isArrayAllocation()) return;
    const std::vector<uint64_t> dwords = padding_of(variable.getAllocatedType());
    if (dwords.size() > kMostStored) return;
    llvm::IRBuilder<> build(variable.getNextNode());
    for (const uint64_t at : dwords) {
      llvm::Value* const place = build.CreateConstGEP1_64(build.getInt8Ty(), &variable, at);
      build.CreateAlignedStore(build.getInt32(0), place, llvm::Align(kDword));
    }
  }

  void store_copied(llvm::MemCpyInst& copy) {
    const auto* const size = llvm::dyn_cast<llvm::ConstantInt>(copy.getLength());
    if (size == nullptr || copy.getDestAlign().valueOrOne() < llvm::Align(kDword)) return;
    for (const llvm::Value* const one : {copy.getRawDest(), copy.getRawSource()}) {
      llvm::Type* const type = type_at(*one);
      if (type == nullptr || !is_known(type) || layout_.getTypeAllocSize(type) != size->getZExtValue())
        continue;
      llvm::Instruction& next = *copy.getNextNode();
      for (const uint64_t at : padding_of(type))
        store_if_unwritten(next, copy.getDebugLoc(), copy.getRawDest(), at);
      return;
    }
  }

 private:
  static bool is_zero(const llvm::Value* index) {
    const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(index);
    return number != nullptr && number->isZero();
  }
  // What lies at a place, if its address says so.
  static llvm::Type* type_at(const llvm::Value& address) {
    if (const auto* const place = llvm::dyn_cast<llvm::GEPOperator>(&address))
      return place->getResultElementType();
    const auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(address.stripPointerCasts());
    return variable == nullptr ? nullptr : variable->getAllocatedType();
  }
  static bool is_of_three(const llvm::Type* type) {
    const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector != nullptr && vector->getNumElements() == 3;
  }
  bool is_known(llvm::Type* type) const {
    return (type->isStructTy() || type->isArrayTy() || is_of_three(type)) && type->isSized() &&
           layout_.getTypeAllocSize(type) <= kMostBytes;
  }

  void note_members(const llvm::GEPOperator& place) {
    for (auto at = llvm::gep_type_begin(&place); at != llvm::gep_type_end(&place); ++at)
      if (llvm::StructType* const record = at.getStructTypeOrNull())
        named_.insert({record, llvm::cast<llvm::ConstantInt>(at.getOperand())->getZExtValue()});
  }
  // Clang's own, where LLVM would leave less room: bytes that nobody names.
  bool is_filler(llvm::StructType* record, unsigned member) const {
    const auto* const bytes = llvm::dyn_cast<llvm::ArrayType>(record->getElementType(member));
    return bytes != nullptr && bytes->getElementType()->isIntegerTy(8) &&
           bytes->getNumElements() < kMostFiller && !named_.contains({record, member});
  }

  // Where in the element of its source's type a place lies, if that is known.
  std::optional<uint64_t> offset_in(const llvm::GEPOperator& place) const {
    llvm::SmallVector<llvm::Value*> indices(place.indices());
    for (const llvm::Value* const index : llvm::drop_begin(indices))
      if (!llvm::isa<llvm::ConstantInt>(index)) return std::nullopt;
    indices[0] = llvm::ConstantInt::get(indices[0]->getType(), 0);
    const int64_t bytes = layout_.getIndexedOffsetInType(place.getSourceElementType(), indices);
    return bytes < 0 ? std::nullopt : std::optional<uint64_t>(bytes);
  }

  // How many bytes from `at` on belong to no member.
  uint64_t padding_from(llvm::Type* type, uint64_t at) {
    if (!is_known(type)) return 0;
    std::vector<bool>& members = members_[type];
    if (members.empty()) {
      members.resize(layout_.getTypeAllocSize(type));
      mark_members(type, 0, members);
    }
    uint64_t end = at;
    while (end < members.size() && !members[end]) end++;
    return end - at;
  }
  void mark_members(llvm::Type* type, uint64_t at, std::vector<bool>& members) const {
    if (auto* const record = llvm::dyn_cast<llvm::StructType>(type)) {
      for (unsigned i = 0; i < record->getNumElements(); i++)
        if (!is_filler(record, i))
          mark_members(record->getElementType(i), at + layout_.getStructLayout(record)->getElementOffset(i),
                       members);
    } else if (type->isArrayTy()) {
      llvm::Type* const element = type->getArrayElementType();
      for (uint64_t i = 0; i < type->getArrayNumElements(); i++)
        mark_members(element, at + i * layout_.getTypeAllocSize(element), members);
    } else {
      // A vector of three has room for a fourth.
      const uint64_t size =
          is_of_three(type) ? layout_.getTypeStoreSize(type) : layout_.getTypeAllocSize(type);
      std::fill_n(members.begin() + static_cast<ptrdiff_t>(at), size, true);
    }
  }

  std::vector<uint64_t> padding_of(llvm::Type* type) {
    std::vector<uint64_t> dwords;
    if (is_known(type))
      for (uint64_t at = 0; at + kDword <= layout_.getTypeAllocSize(type); at += kDword)
        if (padding_from(type, at) >= kDword) dwords.push_back(at);
    return dwords;
  }

  // What is padding to one may be another's: of a union, of a float4 that is written as a float3. By an
  // atomic, whose old value nobody gets: it is no use of what nobody has written.
  static void store_if_unwritten(llvm::Instruction& before, const llvm::DebugLoc& line, llvm::Value* base,
                                 uint64_t offset) {
    llvm::IRBuilder<> build(&before);
    build.SetCurrentDebugLocation(line);
    llvm::Value* const place = build.CreateConstGEP1_64(build.getInt8Ty(), base, offset);
    constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
    build
        .CreateAtomicCmpXchg(place, build.getInt32(device::kUnwritten), build.getInt32(0),
                             llvm::Align(kDword), kOrder, kOrder, llvm::SyncScope::SingleThread)
        ->setVolatile(true);
  }

  const llvm::DataLayout& layout_;
  llvm::DenseSet<std::pair<llvm::StructType*, uint64_t>> named_;  // members
  llvm::DenseMap<llvm::Type*, std::vector<bool>> members_;        // their bytes
};

}  // namespace

void store_padding(llvm::Module& module) {
  Padding padding(module);
  for (llvm::Function& function : module) {
    std::vector<llvm::Instruction*> all;
    for (llvm::Instruction& one : llvm::instructions(function)) all.push_back(&one);
    for (llvm::Instruction* const one : all)
      if (auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(one)) {
        padding.store_in(*variable);
      } else if (auto* const store = llvm::dyn_cast<llvm::StoreInst>(one)) {
        if (!is_private(store->getPointerOperand())) padding.store_behind_member(*store);
      } else if (auto* const copy = llvm::dyn_cast<llvm::MemCpyInst>(one)) {
        if (!is_private(copy->getRawDest())) padding.store_copied(*copy);
      }
  }
}

}  // namespace morgana::runtime
