// Device-side enqueue: calls of the device library (enqueue.cl), and a kernel for each function that is
// enqueued, as Clang makes one for a block.
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

constexpr const char* kQueue = "9ocl_queue";
constexpr const char* kEvent = "12ocl_clkevent";

// Operands of OpEnqueueKernel.
constexpr size_t kRange = 2, kEventCount = 3, kWaits = 4, kMadeEvent = 5, kFunction = 6, kParameter = 7,
                 kSize = 8, kAlignment = 9, kLocals = 10;

bool is_range(const llvm::Type* type) {
  const auto* shape = llvm::dyn_cast_or_null<llvm::StructType>(type);
  if (shape == nullptr || shape->getNumElements() != 4 || !shape->getElementType(0)->isIntegerTy(32))
    return false;
  return std::all_of(shape->element_begin() + 1, shape->element_end(), [](const llvm::Type* member) {
    return member->isArrayTy() && member->getArrayNumElements() == 3 &&
           member->getArrayElementType()->isIntegerTy(64);
  });
}

}  // namespace

std::unordered_set<uint32_t> Reader::enqueued_functions() const {
  std::unordered_set<uint32_t> found;
  for (const Instruction& in : binary_.instructions())
    if (in.op() == spv::OpEnqueueKernel) found.insert(in.word(kFunction));
  return found;
}

// Sizes in so many dimensions as the global size has; without a local size one is chosen, as for source text.
Result<llvm::Value*> Reader::build_range(const Instruction& in, Values v) {
  llvm::Type* const shape = type(in.type());
  const auto* const array = llvm::dyn_cast<llvm::ArrayType>(v[0]->getType());
  const uint64_t count = array == nullptr ? 1 : array->getNumElements();
  const bool are_alike = v[0]->getType() == v[1]->getType() && v[0]->getType() == v[2]->getType();
  llvm::Type* const element = array == nullptr ? v[0]->getType() : array->getElementType();
  if (!is_range(shape) || !are_alike || count == 0 || count > 3 || !element->isIntegerTy(64))
    return make_error(ErrorCode::unsupported, "an ND-range of such types");
  static constexpr uint64_t kChosen[] = {64, 8, 4};
  llvm::Value* made = build_.CreateInsertValue(llvm::Constant::getNullValue(shape),
                                               build_.getInt32(static_cast<uint32_t>(count)), 0);
  const auto of = [&](llvm::Value* all, unsigned i) {
    return array == nullptr ? all : build_.CreateExtractValue(all, i);
  };
  for (unsigned i = 0; i < count; ++i) {
    llvm::Value* const global = of(v[0], i);
    llvm::Value* const chosen =
        build_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, global, build_.getInt64(kChosen[count - 1]));
    llvm::Value* const given = of(v[1], i);
    llvm::Value* const local =
        build_.CreateSelect(build_.CreateICmpEQ(given, build_.getInt64(0)), chosen, given);
    made = build_.CreateInsertValue(made, of(v[2], i), {1, i});
    made = build_.CreateInsertValue(made, global, {2, i});
    made = build_.CreateInsertValue(made, local, {3, i});
  }
  return made;
}

llvm::AllocaInst* Reader::private_copy(llvm::Value* value) {
  llvm::IRBuilder<> entry(prologue_->getTerminator());
  llvm::AllocaInst* const place = entry.CreateAlloca(value->getType(), kPrivate);
  build_.CreateStore(value, place);
  return place;
}

// Where an ND-range lies in private memory: modules give it as a value, or as a pointer.
Result<llvm::Value*> Reader::range_place(llvm::Value* range) {
  if (is_range(range->getType())) return private_copy(range);
  const auto* const given = llvm::dyn_cast<llvm::PointerType>(range->getType());
  if (given != nullptr && (given->getAddressSpace() == kPrivate || given->getAddressSpace() == kGeneric))
    return build_.CreateAddrSpaceCast(range, pointer(kPrivate));
  return make_error(ErrorCode::unsupported, "an ND-range of that type");
}

// The kernel that calls `function` with a copy of `size` bytes in private memory, and the arguments in local
// memory that it takes; what stands for it is filled when the program is loaded.
Result<llvm::Value*> Reader::enqueued_kernel(uint32_t id, uint64_t size, llvm::Align alignment) {
  llvm::Constant*& known = enqueued_[{id, size, alignment.value()}];
  if (known != nullptr) return known;
  auto* const function = llvm::cast<llvm::Function>(values_[id]);
  std::vector<llvm::Type*> types{pointer(kConstant)};
  for (unsigned i = 1; i < function->arg_size(); ++i) types.push_back(function->getArg(i)->getType());
  const bool are_local = std::all_of(types.begin() + 1, types.end(),
                                     [&](const llvm::Type* one) { return one == pointer(kLocal); });
  const llvm::Type* const first = function->arg_empty() ? nullptr : function->getArg(0)->getType();
  if ((first != pointer(kGeneric) && first != pointer(kPrivate)) || !are_local ||
      !function->getReturnType()->isVoidTy())
    return make_error(ErrorCode::unsupported, "a function with such parameters is enqueued");

  const std::string name = function->getName().str() + ".enqueued";
  auto* const kernel = llvm::Function::Create(llvm::FunctionType::get(build_.getVoidTy(), types, false),
                                              llvm::GlobalValue::InternalLinkage, name, module_);
  kernel->setAttributes(llvm::AttributeList().addFnAttributes(
      context(), llvm::AttrBuilder(context(), models_.kernel->getAttributes().getFnAttrs())));
  kernel->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  llvm::Type* const content = llvm::ArrayType::get(build_.getInt8Ty(), size);
  const llvm::Align kArgument(8);
  kernel->addParamAttr(0, llvm::Attribute::getWithByRefType(context(), content));
  kernel->addParamAttr(0, llvm::Attribute::getWithAlignment(context(), kArgument));
  MORGANA_CHECK(set_modes(*kernel, id));
  describe_enqueued(*kernel);

  llvm::IRBuilder<> build(llvm::BasicBlock::Create(context(), "", kernel));
  llvm::AllocaInst* const copy = build.CreateAlloca(content, kPrivate);
  copy->setAlignment(std::max(alignment, kArgument));
  build.CreateMemCpy(copy, copy->getAlign(), kernel->getArg(0), kArgument, size);
  std::vector<llvm::Value*> arguments{build.CreateAddrSpaceCast(copy, function->getArg(0)->getType())};
  for (unsigned i = 1; i < types.size(); ++i) arguments.push_back(kernel->getArg(i));
  build.CreateCall(function, arguments);
  build.CreateRetVoid();

  // Clang's block.runtime.handle.t (BlockHandle, runtime/enqueue_records.h).
  auto* const record = llvm::StructType::get(context(), {pointer(kGlobal), i32(), i32()});
  auto* const handle = new llvm::GlobalVariable(
      module_, record, true, llvm::GlobalValue::InternalLinkage, llvm::Constant::getNullValue(record),
      name + ".runtime.handle", nullptr, llvm::GlobalValue::NotThreadLocal, kGlobal, true);
  handle->setSection(".amdgpu.kernel.runtime.handle");
  kernel->setMetadata(llvm::LLVMContext::MD_associated,
                      llvm::MDNode::get(context(), llvm::ConstantAsMetadata::get(handle)));
  llvm::appendToUsed(module_, {kernel, handle});
  return known =
             llvm::ConstantExpr::getAddrSpaceCast(handle, llvm::cast<llvm::PointerType>(pointer(kGeneric)));
}

void Reader::describe_enqueued(llvm::Function& kernel) {
  std::vector<llvm::Metadata*> spaces, access, types, qualifiers;
  for (const llvm::Argument& argument : kernel.args()) {
    const bool is_local = argument.getArgNo() > 0;
    spaces.push_back(llvm::ConstantAsMetadata::get(build_.getInt32(is_local ? kLocal : 0)));
    access.push_back(llvm::MDString::get(context(), "none"));
    types.push_back(llvm::MDString::get(context(), is_local ? "void*" : "__block_literal"));
    qualifiers.push_back(llvm::MDString::get(context(), ""));
  }
  kernel.setMetadata("kernel_arg_addr_space", llvm::MDNode::get(context(), spaces));
  kernel.setMetadata("kernel_arg_access_qual", llvm::MDNode::get(context(), access));
  kernel.setMetadata("kernel_arg_type", llvm::MDNode::get(context(), types));
  kernel.setMetadata("kernel_arg_base_type", llvm::MDNode::get(context(), types));
  kernel.setMetadata("kernel_arg_type_qual", llvm::MDNode::get(context(), qualifiers));
}

Result<llvm::Value*> Reader::enqueue_kernel(const Instruction& in, Values v) {
  constexpr uint64_t kMostBytes = 4096;  // of arguments
  const std::optional<uint64_t> size = integer(in.word(kSize)), alignment = integer(in.word(kAlignment));
  const auto* const function = llvm::dyn_cast<llvm::Function>(v[kFunction]);
  if (!size || !alignment || *size > kMostBytes || *alignment > kMostBytes || function == nullptr)
    return make_error(ErrorCode::unsupported, "a function is enqueued with a parameter of that size");
  if (function->arg_size() != in.size() - kLocals + 1)
    return make_error(ErrorCode::unsupported,
                      "a function is enqueued with other local arguments than it takes");
  MORGANA_TRY(llvm::Value * range, range_place(v[kRange]));
  // No kernel has an argument of no bytes.
  llvm::Value* const parameter = *size == 0 ? private_copy(build_.getInt32(0)) : v[kParameter];
  const uint64_t bytes = *size == 0 ? 4 : *size;
  const llvm::Align needed(llvm::isPowerOf2_64(*alignment) ? *alignment : 1);
  MORGANA_TRY(llvm::Value * kernel, enqueued_kernel(in.word(kFunction), bytes, needed));

  auto* const sizes_type = llvm::ArrayType::get(i64(), in.size() - kLocals);
  llvm::Value* sizes = llvm::Constant::getNullValue(sizes_type);
  for (size_t i = kLocals; i < in.size(); ++i) {
    llvm::Value* one = v[i];
    // Producers give the place of a size.
    if (one->getType()->isPointerTy()) one = build_.CreateLoad(i64(), one);
    if (!one->getType()->isIntegerTy())
      return make_error(ErrorCode::unsupported, "a local size of that type");
    sizes = build_.CreateInsertValue(sizes, build_.CreateZExtOrTrunc(one, i64()),
                                     static_cast<unsigned>(i - kLocals));
  }
  const auto generic = [&](llvm::Value* value) {
    return build_.CreateAddrSpaceCast(value, pointer(kGeneric));
  };
  for (size_t i : {kWaits, kMadeEvent})
    if (!v[i]->getType()->isPointerTy()) return make_error(ErrorCode::unsupported, "events of that type");
  if (!parameter->getType()->isPointerTy())
    return make_error(ErrorCode::unsupported, "a function is enqueued with a parameter that is no pointer");
  return call_plain("__morgana_enqueue_kernel", i32(),
                    {v[0], range, v[kEventCount], generic(v[kWaits]), generic(v[kMadeEvent]), kernel,
                     generic(parameter), build_.getInt32(static_cast<uint32_t>(bytes)),
                     build_.getInt32(static_cast<uint32_t>(in.size() - kLocals)), private_copy(sizes)});
}

Reader::Handled Reader::kernel_queries(const Instruction& in, Values v) {
  llvm::Value* const none = llvm::ConstantPointerNull::get(llvm::PointerType::get(context(), kGeneric));
  const auto of_range = [&](const char* name) -> Result<llvm::Value*> {
    MORGANA_TRY(llvm::Value * range, range_place(v[0]));
    return call_plain(name, i32(), {build_.CreateAddrSpaceCast(range, pointer(kGeneric)), none, none});
  };
  switch (in.op()) {
    case spv::OpGetKernelNDrangeSubGroupCount:
      return of_range("__get_kernel_sub_group_count_for_ndrange_impl");
    case spv::OpGetKernelNDrangeMaxSubGroupSize:
      return of_range("__get_kernel_max_sub_group_size_for_ndrange_impl");
    case spv::OpGetKernelWorkGroupSize:
      return call_plain("__get_kernel_work_group_size_impl", i32(), {none, none});
    case spv::OpGetKernelPreferredWorkGroupSizeMultiple:
      return call_plain("__get_kernel_preferred_work_group_size_multiple_impl", i32(), {none, none});
    case spv::OpGetKernelLocalSizeForSubgroupCount:
      return call_plain("__morgana_local_size_for_sub_groups", i32(), {v[0]});
    case spv::OpGetKernelMaxNumSubgroups: return call_plain("__morgana_most_sub_groups", i32(), {});
    default: return std::nullopt;
  }
}

Reader::Handled Reader::enqueues(const Instruction& in, Values v) {
  llvm::Type* const nothing = build_.getVoidTy();
  const auto generic = [&](llvm::Value* value) {
    return build_.CreateAddrSpaceCast(value, pointer(kGeneric));
  };
  switch (in.op()) {
    case spv::OpEnqueueKernel: return enqueue_kernel(in, v);
    case spv::OpBuildNDRange: return build_range(in, v);
    case spv::OpEnqueueMarker:
      return call("enqueue_marker", i32(),
                  {{v[0], kQueue},
                   {v[1], "j"},
                   {generic(v[2]), std::string("PK") + kEvent},
                   {generic(v[3]), std::string("P") + kEvent}});
    case spv::OpGetDefaultQueue: return call("get_default_queue", pointer(kGlobal), {});
    case spv::OpCreateUserEvent: return call("create_user_event", pointer(kGlobal), {});
    case spv::OpIsValidEvent: return call("is_valid_event", build_.getInt1Ty(), {{v[0], kEvent}});
    case spv::OpRetainEvent: return call("retain_event", nothing, {{v[0], kEvent}});
    case spv::OpReleaseEvent: return call("release_event", nothing, {{v[0], kEvent}});
    case spv::OpSetUserEventStatus:
      return call("set_user_event_status", nothing, {{v[0], kEvent}, {v[1], "i"}});
    case spv::OpCaptureEventProfilingInfo:
      return call(
          "capture_event_profiling_info", nothing,
          {{v[0], kEvent}, {v[1], "i"}, {build_.CreateAddrSpaceCast(v[2], pointer(kGlobal)), "PU3AS1v"}});
    default: return kernel_queries(in, v);
  }
}

}  // namespace morgana::runtime::spirv
