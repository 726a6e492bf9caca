// The walk over a module; declarations of functions, and their bodies but for the instructions in them.
#include <llvm/IR/CFG.h>
#include <llvm/Transforms/Utils/Local.h>

#include "runtime/compiler/spirv/mangle.h"
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

constexpr const char* kKernelBody = "__clang_ocl_kern_imp_";  // Clang's, for a function that a kernel calls

bool is_type(spv::Op op) {
  return (op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer) || op == spv::OpTypePipeStorage ||
         op == spv::OpTypeNamedBarrier;
}

bool is_constant(spv::Op op) {
  return (op >= spv::OpConstantTrue && op <= spv::OpSpecConstantOp) || op == spv::OpUndef ||
         op == spv::OpVariable;
}

// Operands that name values, blocks or functions.
bool is_reference(spv_operand_type_t kind) {
  return kind == SPV_OPERAND_TYPE_ID || kind == SPV_OPERAND_TYPE_SCOPE_ID ||
         kind == SPV_OPERAND_TYPE_MEMORY_SEMANTICS_ID;
}

// Sets of instructions that describe the program and do nothing.
bool says_nothing(spv_ext_inst_type_t set) {
  switch (set) {
    case SPV_EXT_INST_TYPE_DEBUGINFO:
    case SPV_EXT_INST_TYPE_OPENCL_DEBUGINFO_100:
    case SPV_EXT_INST_TYPE_NONSEMANTIC_CLSPVREFLECTION:
    case SPV_EXT_INST_TYPE_NONSEMANTIC_SHADER_DEBUGINFO_100:
    case SPV_EXT_INST_TYPE_NONSEMANTIC_UNKNOWN: return true;
    default: return false;
  }
}

// "kernel_arg_type.NAME.float*,int," as producers write into an OpString, when `text` begins so.
bool take_argument_strings(std::string_view text, std::string_view prefix,
                           std::unordered_map<std::string_view, std::string_view>& by_kernel) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return false;
  by_kernel.emplace(text.substr(0, dot), text.substr(dot + 1));
  return true;
}

}  // namespace

Reader::Reader(const Binary& binary, std::span<const SpecValue> specialization, llvm::Module& module,
               Models models)
    : binary_(binary),
      module_(module),
      models_(models),
      layout_(module.getDataLayout()),
      build_(module.getContext()),
      types_(binary.bound()),
      values_(binary.bound()) {
  for (const SpecValue& one : specialization) specialization_[one.id] = one.bits;
}

Status Reader::read() {
  const std::span<const Instruction> all = binary_.instructions();
  for (const Instruction& in : all) {
    if (in.op() == spv::OpEntryPoint) entry_points_.emplace(in.word(1), in.text(2));
    if (in.op() == spv::OpExecutionMode && in.word(1) == spv::ExecutionModeContractionOff)
      may_contract_ = false;
    if (in.op() == spv::OpString &&
        !take_argument_strings(in.text(0), "kernel_arg_type_qual.", argument_qualifiers_))
      take_argument_strings(in.text(0), "kernel_arg_type.", argument_types_);
  }
  // What the device enqueues is none of the host's, although producers make entry points of it, or of a
  // function of the same name that calls it.
  for (uint32_t function : enqueued_functions()) {
    entry_points_.erase(function);
    const Decoration* linkage = binary_.find(function, spv::DecorationLinkageAttributes);
    if (linkage == nullptr) continue;
    std::erase_if(entry_points_, [&](const auto& entry) { return entry.second == linkage->text(0); });
  }
  // Types, constants, variables and declarations come in an order in which nothing is used before it is
  // there, but functions are called before their bodies.
  bool in_function = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const Instruction& in = all[i];
    if (in.op() == spv::OpFunction) {
      in_function = true;
      size_t end = i + 1;
      while (end < all.size() && all[end].op() == spv::OpFunctionParameter) ++end;
      MORGANA_CHECK(declare(in, all.subspan(i + 1, end - i - 1)));
    }
    if (in.op() == spv::OpFunctionEnd) in_function = false;
    if (in_function) continue;
    if (is_type(in.op())) MORGANA_CHECK(read_type(in));
    if (is_constant(in.op())) MORGANA_CHECK(read_constant(in));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const Instruction& in = all[i];
    read_debug(in);
    if (in.op() == spv::OpFunction) {
      MORGANA_CHECK(begin_function(in, all.subspan(i)));
    } else if (in.op() == spv::OpFunctionEnd) {
      MORGANA_CHECK(end_function());
    } else if (function_ != nullptr) {
      MORGANA_CHECK(read_instruction(in));
    }
  }
  if (debug_) debug_->finalize();
  return {};
}

void Reader::set_parameter_attributes(llvm::Function& function, std::span<const Instruction> parameters) {
  for (unsigned i = 0; i < parameters.size(); ++i) {
    const auto add = [&](llvm::Attribute attribute) { function.addParamAttr(i, attribute); };
    const auto simple = [&](llvm::Attribute::AttrKind kind) { add(llvm::Attribute::get(context(), kind)); };
    const bool is_pointer = function.getArg(i)->getType()->isPointerTy();
    const bool by_reference = function.getArg(i)->hasByRefAttr();
    llvm::Type* const pointee = memory_type(binary_.definition(parameters[i].type()).word(1));
    for (const Decoration& decoration : binary_.decorations(parameters[i].result())) {
      if (decoration.kind == spv::DecorationAlignment && is_pointer &&
          llvm::isPowerOf2_32(decoration.word(0)) && decoration.word(0) <= 4096)
        add(llvm::Attribute::getWithAlignment(context(), llvm::Align(decoration.word(0))));
      if (decoration.kind == spv::DecorationRestrict && is_pointer && !by_reference)
        simple(llvm::Attribute::NoAlias);
      if (decoration.kind != spv::DecorationFuncParamAttr) continue;
      switch (decoration.word(0)) {
        case spv::FunctionParameterAttributeZext:
          if (!is_pointer) simple(llvm::Attribute::ZExt);
          break;
        case spv::FunctionParameterAttributeSext:
          if (!is_pointer) simple(llvm::Attribute::SExt);
          break;
        case spv::FunctionParameterAttributeByVal:
          if (is_pointer && !by_reference && pointee != nullptr)
            add(llvm::Attribute::getWithByValType(context(), pointee));
          break;
        case spv::FunctionParameterAttributeSret:
          if (is_pointer && i == 0 && pointee != nullptr)
            add(llvm::Attribute::getWithStructRetType(context(), pointee));
          break;
        case spv::FunctionParameterAttributeNoAlias:
          if (is_pointer && !by_reference) simple(llvm::Attribute::NoAlias);
          break;
        case spv::FunctionParameterAttributeNoWrite:
          if (is_pointer && !by_reference) simple(llvm::Attribute::ReadOnly);
          break;
        default: break;
      }
    }
  }
}

Status Reader::declare(const Instruction& in, std::span<const Instruction> parameters) {
  const Instruction& signature = binary_.definition(in.word(1));
  auto* const plain = llvm::dyn_cast_or_null<llvm::FunctionType>(type(in.word(1)));
  if (plain == nullptr || parameters.size() != plain->getNumParams() || signature.size() == 0)
    return make_error(ErrorCode::unsupported, "a function of that type");
  MORGANA_CHECK(check_value(plain->getReturnType()));
  for (llvm::Type* parameter : plain->params()) MORGANA_CHECK(check_value(parameter));
  const auto entry = entry_points_.find(in.result());
  const bool is_kernel = entry != entry_points_.end();
  const Decoration* linkage = binary_.find(in.result(), spv::DecorationLinkageAttributes);
  // LLVM leaves functions of OpenCL C for which it knows no instruction as imports.
  const bool is_import = linkage != nullptr && linkage->word(1) == spv::LinkageTypeImport;
  std::string name = std::string(is_kernel            ? entry->second
                                 : is_import          ? for_amdgcn(linkage->text(0))
                                 : linkage != nullptr ? linkage->text(0)
                                                      : binary_.name(in.result()));
  // The translator of Khronos makes two functions of a kernel: one for the host, and one that it calls. The
  // name is the first one's; Clang calls the second one so.
  if (!is_kernel && std::any_of(entry_points_.begin(), entry_points_.end(),
                                [&](const auto& one) { return one.second == name; }))
    name = kKernelBody + name;
  if (name.starts_with("llvm."))
    return make_error(ErrorCode::unsupported, "a function with a name of LLVM's");

  // A kernel's structures are read where the launch has put them.
  std::vector<llvm::Type*> types(plain->param_begin(), plain->param_end());
  std::vector<unsigned> structures;
  for (unsigned i = 0; is_kernel && i < parameters.size(); ++i) {
    if (!types[i]->isPointerTy() || types[i]->getPointerAddressSpace() != kPrivate) continue;
    types[i] = pointer(kConstant);
    structures.push_back(i);
  }
  const bool is_once = linkage != nullptr && linkage->word(1) == spv::LinkageTypeLinkOnceODR;
  // Weak: LLVM's linker drops a function of kind "link once" that its own module does not use.
  auto* const function = llvm::Function::Create(llvm::FunctionType::get(plain->getReturnType(), types, false),
                                                is_kernel || (linkage != nullptr && !is_once)
                                                    ? llvm::GlobalValue::ExternalLinkage
                                                : is_once ? llvm::GlobalValue::WeakODRLinkage
                                                          : llvm::GlobalValue::InternalLinkage,
                                                name, module_);
  const llvm::Function& model = is_kernel ? *models_.kernel : *models_.function;
  function->setAttributes(llvm::AttributeList().addFnAttributes(
      context(), llvm::AttrBuilder(context(), model.getAttributes().getFnAttrs())));
  if (is_kernel) {
    if (!plain->getReturnType()->isVoidTy())
      return make_error(ErrorCode::unsupported, "a kernel with a result");
    function->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    function->setVisibility(llvm::GlobalValue::ProtectedVisibility);
    for (unsigned i : structures) {
      llvm::Type* const content = memory_type(binary_.definition(parameters[i].type()).word(1));
      if (content == nullptr || !content->isSized())
        return make_error(ErrorCode::unsupported, "a kernel's argument of that type");
      function->addParamAttr(i, llvm::Attribute::getWithByRefType(context(), content));
      function->addParamAttr(i,
                             llvm::Attribute::getWithAlignment(context(), layout_.getABITypeAlign(content)));
    }
  } else if (function->hasExternalLinkage()) {
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  const uint32_t control = in.word(0);
  // What Clang says of a kernel's body at -O0 keeps nobody from making it the kernel's.
  const bool is_body = !is_kernel && name.starts_with(kKernelBody);
  if (!is_kernel && (is_body || (control & spv::FunctionControlInlineMask) != 0) &&
      !function->hasFnAttribute(llvm::Attribute::OptimizeNone)) {
    function->removeFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::AlwaysInline);
  } else if ((control & spv::FunctionControlDontInlineMask) != 0) {
    function->addFnAttr(llvm::Attribute::NoInline);
  }
  set_parameter_attributes(*function, parameters);
  if (is_kernel) MORGANA_CHECK(describe_kernel(*function, in.result(), parameters));
  values_[in.result()] = function;
  return {};
}

// `body` begins with the OpFunction.
Status Reader::begin_function(const Instruction& in, std::span<const Instruction> body) {
  function_ = llvm::cast<llvm::Function>(values_[in.result()]);
  function_type_ = in.word(1);
  next_parameter_ = 0;
  prologue_ = nullptr;
  llvm::BasicBlock* first = nullptr;
  for (const Instruction& one : body) {
    if (one.op() == spv::OpFunctionEnd) break;
    if (one.op() != spv::OpLabel) continue;
    if (prologue_ == nullptr) prologue_ = llvm::BasicBlock::Create(context(), "", function_);
    auto* const block = llvm::BasicBlock::Create(context(), "", function_);
    if (first == nullptr) first = block;
    values_[one.result()] = block;
  }
  if (prologue_ != nullptr) llvm::BranchInst::Create(first, prologue_);
  return {};
}

Status Reader::read_instruction(const Instruction& in) {
  switch (in.op()) {
    case spv::OpFunctionParameter: {
      if (next_parameter_ >= function_->arg_size())
        return make_error(ErrorCode::unsupported, "a function with more parameters than its type");
      llvm::Argument* const argument = function_->getArg(static_cast<unsigned>(next_parameter_++));
      values_[in.result()] = argument;
      if (!argument->hasByRefAttr() || prologue_ == nullptr) return {};
      llvm::Type* const content = argument->getParamByRefType();
      build_.SetInsertPoint(prologue_->getTerminator());
      auto* const copy = build_.CreateAlloca(content, kPrivate);
      const llvm::Align alignment = layout_.getABITypeAlign(content);
      copy->setAlignment(alignment);
      build_.CreateMemCpy(copy, alignment, argument, alignment, layout_.getTypeAllocSize(content));
      values_[in.result()] = copy;
      return {};
    }
    case spv::OpLabel:
      build_.SetInsertPoint(llvm::cast<llvm::BasicBlock>(values_[in.result()]));
      set_location();
      return {};
    case spv::OpVariable: {
      const uint32_t pointee = binary_.definition(in.type()).word(1);
      llvm::Type* const content = memory_type(pointee);
      if (content == nullptr || !content->isSized() ||
          layout_.getTypeAllocSize(content).getFixedValue() > UINT32_MAX / 2)
        return make_error(ErrorCode::unsupported, "a variable of that type");
      llvm::IRBuilder<> entry(prologue_->getTerminator());
      auto* const place = entry.CreateAlloca(content, kPrivate);
      if (const Decoration* alignment = binary_.find(in.result(), spv::DecorationAlignment);
          alignment != nullptr && llvm::isPowerOf2_32(alignment->word(0)) && alignment->word(0) <= 4096)
        place->setAlignment(std::max(place->getAlign(), llvm::Align(alignment->word(0))));
      values_[in.result()] = place;
      if (in.size() < 2) return {};
      MORGANA_TRY(llvm::Value * initial, value(in.word(1)));
      MORGANA_CHECK(store(to_memory(initial, pointee), place, place->getAlign(), false));
      return {};
    }
    case spv::OpPhi: {
      llvm::Type* const result = type(in.type());
      if (result == nullptr || result->isVoidTy())
        return make_error(ErrorCode::unsupported, "a phi of that type");
      MORGANA_CHECK(check_value(result));
      llvm::PHINode* const phi = build_.CreatePHI(result, static_cast<unsigned>(in.size() / 2));
      phis_.emplace_back(phi, &in);
      values_[in.result()] = phi;
      return {};
    }
    case spv::OpUndef: {
      MORGANA_TRY(llvm::Constant * undefined, make_constant(in));
      values_[in.result()] = undefined;
      return {};
    }
    case spv::OpLine:
    case spv::OpNoLine:
    case spv::OpNop: return {};
    default: break;
  }
  if (in.op() == spv::OpExtInst && in.set() != SPV_EXT_INST_TYPE_OPENCL_STD) {
    if (says_nothing(in.set())) return {};
    return make_error(ErrorCode::unsupported, "an instruction of another set than OpenCL.std");
  }
  MORGANA_TRY(llvm::Value * result, translate(in));
  if (in.result() == 0) return {};
  if (result == nullptr || result->getType() != type(in.type())) {
    if (result != nullptr && result->getType()->isVoidTy()) return {};
    return make_error(ErrorCode::unsupported, "instruction {} with operands of such types",
                      static_cast<int>(in.op()));
  }
  values_[in.result()] = result;
  return {};
}

Result<llvm::Value*> Reader::translate(const Instruction& in) {
  if (in.op() == spv::OpLoad && is_built_in(in.word(0))) {
    MORGANA_TRY(llvm::Value * held, built_in(in.word(0)));
    if (held->getType() == type(in.type())) return held;
  }
  if (llvm::Type* const result = type(in.type())) MORGANA_CHECK(check_value(result));
  std::vector<llvm::Value*> operands(in.size());
  for (size_t i = in.op() == spv::OpExtInst ? 2 : 0; i < in.size(); ++i) {
    if (!is_reference(in.operand(i).kind)) continue;
    MORGANA_TRY(operands[i], value(in.word(i)));
  }
  build_.clearFastMathFlags();
  using Group = Handled (Reader::*)(const Instruction&, Values);
  static constexpr Group kGroups[] = {&Reader::memory,
                                      &Reader::arithmetic,
                                      &Reader::bits,
                                      &Reader::comparisons,
                                      &Reader::composites,
                                      &Reader::conversions,
                                      &Reader::control,
                                      &Reader::extended,
                                      &Reader::atomics,
                                      &Reader::groups,
                                      &Reader::non_uniform_groups,
                                      &Reader::dot_products,
                                      &Reader::images,
                                      &Reader::pipes,
                                      &Reader::named_barriers,
                                      &Reader::enqueues};
  for (Group group : kGroups)
    if (Handled handled = (this->*group)(in, operands)) return std::move(*handled);
  return make_error(ErrorCode::unsupported, "instruction {} is not supported", static_cast<int>(in.op()));
}

Status Reader::finish_phi(llvm::PHINode* phi, const Instruction& in) {
  std::unordered_map<const llvm::BasicBlock*, uint32_t> incoming;
  for (size_t i = 0; i + 1 < in.size(); i += 2)
    incoming[llvm::dyn_cast_or_null<llvm::BasicBlock>(values_[in.word(i + 1)])] = in.word(i);
  // As many entries as edges: a switch may have several to one block.
  for (llvm::BasicBlock* from : llvm::predecessors(phi->getParent())) {
    const auto found = incoming.find(from);
    if (found == incoming.end()) return make_error(ErrorCode::unsupported, "a phi that lacks a predecessor");
    MORGANA_TRY(llvm::Value * given, value(found->second));
    if (given->getType() != phi->getType())
      return make_error(ErrorCode::unsupported, "a phi of several types");
    phi->addIncoming(given, from);
  }
  return {};
}

Status Reader::end_function() {
  for (auto [phi, in] : phis_) MORGANA_CHECK(finish_phi(phi, *in));
  for (auto [phi, in] : phis_) {
    if (phi->getNumIncomingValues() != 0) continue;
    phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));  // of a block that nothing reaches
    phi->eraseFromParent();
  }
  mark_loops();
  // In a function with locations every call must have one.
  if (subprogram_ != nullptr)
    for (llvm::BasicBlock& block : *function_)
      for (llvm::Instruction& one : block)
        if (llvm::isa<llvm::CallBase>(one) && !one.getDebugLoc())
          one.setDebugLoc(llvm::DILocation::get(context(), 0, 0, subprogram_));
  phis_.clear();
  loops_.clear();
  materialized_.clear();
  for (const auto& [variable, held] : built_ins_)
    if (held != nullptr) llvm::RecursivelyDeleteTriviallyDeadInstructions(static_cast<llvm::Value*>(held));
  built_ins_.clear();
  function_ = nullptr;
  subprogram_ = nullptr;
  return {};
}

llvm::Value* Reader::call_plain(std::string_view name, llvm::Type* result,
                                const std::vector<llvm::Value*>& arguments) {
  const llvm::StringRef symbol(name.data(), name.size());
  // A function of the program that is called alike is another one.
  if (llvm::Function* own = module_.getFunction(symbol); own != nullptr && own->hasLocalLinkage())
    own->setName(symbol + ".of_program");
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(symbol, llvm::FunctionType::get(result, types, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->addFnAttr(llvm::Attribute::Convergent);
    function->addFnAttr(llvm::Attribute::NoUnwind);
  }
  return build_.CreateCall(callee, arguments);
}

llvm::Value* Reader::call(std::string_view name, llvm::Type* result, const std::vector<Argument>& arguments) {
  std::vector<std::string_view> codes;
  std::vector<llvm::Value*> plain;
  for (const Argument& argument : arguments) {
    codes.push_back(argument.code);
    plain.push_back(argument.value);
  }
  return call_plain(mangle(name, codes), result, plain);
}

}  // namespace morgana::runtime::spirv
