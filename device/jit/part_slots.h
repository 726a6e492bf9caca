// Places in a kernel's frame that hold all parts of a wave's value, one behind the other: what goes into and
// out of loops over the parts.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <map>
#include <vector>

#include "device/jit/split_values.h"

namespace morgana::device::jit {

struct Slot {
  llvm::Value* address = nullptr;
  llvm::Type* type = nullptr;   // of a part there
  llvm::Type* value = nullptr;  // of a part in code
  uint64_t bytes = 0;           // of a part
};

class PartSlots {
 public:
  // What a loop over parts counts up by.
  static constexpr uint64_t kStep = 64;

  PartSlots(llvm::Function& function, unsigned parts)
      : function_(function), b_(function.getContext()), parts_(parts) {}

  // Whether parts of the type can lie in the frame.
  static bool holds(const llvm::Type* type);
  // What a value takes there.
  static uint64_t bytes_of(const Parts& value);

  // `is_local`: it is read only until release().
  Slot make(llvm::Type* type, bool is_local);
  // A local one with values that no loop makes, stored before an instruction.
  Slot filled(const Parts& tuple, llvm::Instruction& before);
  // A constant table.
  Slot table(const Parts& constants);
  void release();
  // Of all slots that are not free.
  uint64_t bytes() const { return bytes_; }

  // Before an instruction: the part that a loop's counter, or a number, says; scalars for all lanes.
  llvm::Value* load(const Slot& slot, llvm::Value* at, llvm::Instruction& before);
  llvm::Value* load(const Slot& slot, unsigned part, llvm::Instruction& before);
  llvm::Value* load_whole(const Slot& slot, llvm::Type* type, llvm::Instruction& before);
  void store(const Slot& slot, llvm::Value* value, llvm::Value* at, llvm::Instruction& before);
  llvm::Value* make_scalar(llvm::Value* scalar, llvm::Instruction& before);

 private:
  llvm::Value* load(const Slot& slot, llvm::Value* address);
  void store(const Slot& slot, llvm::Value* value, llvm::Value* address);
  llvm::Value* address(const Slot& slot, unsigned part);
  llvm::Value* address_in_loop(const Slot& slot, llvm::Value* at);
  llvm::AllocaInst* in_frame(llvm::Type* type, uint64_t count, llvm::Align align);
  llvm::Value* taken_from(const Parts& tuple) const;

  llvm::Function& function_;
  llvm::IRBuilder<> b_;
  const unsigned parts_;
  std::vector<Slot> local_;
  std::map<uint64_t, std::vector<llvm::Value*>> free_;  // by the bytes of a part
  uint64_t bytes_ = 0;
};

}  // namespace morgana::device::jit
