// Control flow: branches, switches, calls, returns, loop hints.
#include <llvm/IR/CFG.h>
#include <llvm/IR/MDBuilder.h>

#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {

Result<llvm::Value*> Reader::call_function(const Instruction& in, Values v) {
  auto* const callee = llvm::dyn_cast<llvm::Function>(v[0]);
  if (callee == nullptr || callee->getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL ||
      callee->arg_size() != v.size() - 1)
    return make_error(ErrorCode::unsupported, "a call of what is no function");
  for (size_t i = 1; i < v.size(); ++i)
    if (v[i]->getType() != callee->getArg(static_cast<unsigned>(i - 1))->getType())
      return make_error(ErrorCode::unsupported, "a call with an argument of another type");
  llvm::CallInst* const call = build_.CreateCall(callee, std::vector(v.begin() + 1, v.end()));
  for (unsigned i = 0; i < callee->arg_size(); ++i) {
    if (llvm::Type* content = callee->getParamByValType(i))
      call->addParamAttr(i, llvm::Attribute::getWithByValType(context(), content));
    if (llvm::Type* content = callee->getParamStructRetType(i))
      call->addParamAttr(i, llvm::Attribute::getWithStructRetType(context(), content));
  }
  return call;
}

Result<llvm::Value*> Reader::make_switch(const Instruction& in, Values v) {
  auto* const width = llvm::dyn_cast<llvm::IntegerType>(v[0]->getType());
  auto* const otherwise = llvm::dyn_cast<llvm::BasicBlock>(v[1]);
  if (width == nullptr || otherwise == nullptr)
    return make_error(ErrorCode::unsupported, "a switch of that type");
  llvm::SwitchInst* const branch = build_.CreateSwitch(v[0], otherwise);
  std::vector<uint64_t> seen;
  for (size_t i = 2; i + 1 < in.size(); i += 2) {
    auto* const target = llvm::dyn_cast_or_null<llvm::BasicBlock>(v[i + 1]);
    if (target == nullptr) return make_error(ErrorCode::unsupported, "a switch to what is no block");
    auto* const label =
        llvm::ConstantInt::get(context(), llvm::APInt(64, in.literal(i)).zextOrTrunc(width->getBitWidth()));
    seen.push_back(label->getZExtValue());
    branch->addCase(label, target);
  }
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end())
    return make_error(ErrorCode::unsupported, "a switch with two equal labels");
  return nullptr;
}

Reader::Handled Reader::control(const Instruction& in, Values v) {
  const auto block = [&](size_t index) { return llvm::dyn_cast_or_null<llvm::BasicBlock>(v[index]); };
  switch (in.op()) {
    case spv::OpLoopMerge: loops_.push_back({build_.GetInsertBlock(), in.word(2)}); return nullptr;
    case spv::OpSelectionMerge: return nullptr;
    case spv::OpBranch:
      if (block(0) == nullptr) return make_error(ErrorCode::unsupported, "a branch to what is no block");
      build_.CreateBr(block(0));
      return nullptr;
    case spv::OpBranchConditional: {
      if (block(1) == nullptr || block(2) == nullptr || !v[0]->getType()->isIntegerTy(1))
        return make_error(ErrorCode::unsupported, "a branch to what is no block");
      llvm::MDNode* weights = nullptr;
      if (in.size() >= 5 && (in.word(3) != 0 || in.word(4) != 0))
        weights = llvm::MDBuilder(context()).createBranchWeights(in.word(3), in.word(4));
      build_.CreateCondBr(v[0], block(1), block(2), weights);
      return nullptr;
    }
    case spv::OpSwitch: return make_switch(in, v);
    case spv::OpReturn: build_.CreateRetVoid(); return nullptr;
    case spv::OpReturnValue:
      if (v[0]->getType() != function_->getReturnType())
        return make_error(ErrorCode::unsupported, "a return of another type");
      build_.CreateRet(v[0]);
      return nullptr;
    case spv::OpUnreachable: build_.CreateUnreachable(); return nullptr;
    case spv::OpLifetimeStart:
    case spv::OpLifetimeStop: return nullptr;
    case spv::OpFunctionCall: return call_function(in, v);
    case spv::OpExpectKHR:
      return build_.CreateIntrinsic(llvm::Intrinsic::expect, {v[0]->getType()}, {v[0], v[1]});
    case spv::OpAssumeTrueKHR: build_.CreateAssumption(v[0]); return nullptr;
    case spv::OpReadClockKHR: {
      const std::optional<uint64_t> scope = integer(in.word(0));
      const bool halves = type(in.type())->isVectorTy();
      const char* const name = scope == spv::ScopeSubgroup    ? "sub_group"
                               : scope == spv::ScopeWorkgroup ? "work_group"
                                                              : "device";
      return call(std::string(halves ? "clock_read_hilo_" : "clock_read_") + name, type(in.type()), {});
    }
    default: return std::nullopt;
  }
}

// Puts the wishes of OpLoopMerge on the branches back to a loop's header.
void Reader::mark_loops() {
  for (const Loop& loop : loops_) {
    const char* wish = (loop.control & spv::LoopControlUnrollMask) != 0       ? "llvm.loop.unroll.enable"
                       : (loop.control & spv::LoopControlDontUnrollMask) != 0 ? "llvm.loop.unroll.disable"
                                                                              : nullptr;
    if (wish == nullptr) continue;
    llvm::MDNode* const hint = llvm::MDNode::get(context(), llvm::MDString::get(context(), wish));
    llvm::MDNode* const id = llvm::MDNode::getDistinct(context(), {nullptr, hint});
    id->replaceOperandWith(0, id);
    bool after = false;
    for (llvm::BasicBlock& block : *function_) {
      after |= &block == loop.header;
      if (after && llvm::is_contained(llvm::successors(&block), loop.header))
        block.getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, id);
    }
  }
}

}  // namespace morgana::runtime::spirv
