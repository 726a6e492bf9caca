// What a kernel's declaration says of it: work-group sizes, and the metadata from which LLVM writes the
// description of its arguments.
#include "device/limits.h"
#include "runtime/compiler/spirv/reader.h"
#include "runtime/kernel_notes.h"

namespace morgana::runtime::spirv {
namespace {

// The `index`-th part of "float*,int,".
std::string_view part_of(std::string_view list, size_t index) {
  for (; index > 0; --index) {
    const size_t comma = list.find(',');
    if (comma == std::string_view::npos) return {};
    list.remove_prefix(comma + 1);
  }
  return list.substr(0, list.find(','));
}

}  // namespace

// The back end writes it down for the runtime.
Status Reader::require_sub_groups(llvm::Function& kernel, uint64_t count) {
  if (count == 0 || count > device::kMaxGroupItems)
    return make_error(ErrorCode::build_failed, "a number of sub-groups that no work-group has");
  set_number(kernel, kSubGroupsNode, count);
  return {};
}

void Reader::set_number(llvm::Function& kernel, const char* name, uint64_t number) {
  auto* const constant = llvm::ConstantAsMetadata::get(build_.getInt32(static_cast<uint32_t>(number)));
  kernel.setMetadata(name, llvm::MDNode::get(context(), {constant}));
}

Status Reader::set_modes(llvm::Function& kernel, uint32_t id) {
  const auto numbers = [&](const char* name, std::span<const uint64_t> values) {
    std::vector<llvm::Metadata*> list;
    for (uint64_t value : values)
      list.push_back(llvm::ConstantAsMetadata::get(build_.getInt32(static_cast<uint32_t>(value))));
    kernel.setMetadata(name, llvm::MDNode::get(context(), list));
  };
  const auto require_size = [&](std::span<const uint64_t> size) -> Status {
    uint64_t all = 1;
    for (uint64_t one : size) {
      all = one > device::kMaxGroupItems ? 0 : all * one;
      if (all == 0 || all > device::kMaxGroupItems)
        return make_error(ErrorCode::build_failed, "a work-group size that no device has");
    }
    numbers("reqd_work_group_size", size);
    kernel.addFnAttr("amdgpu-flat-work-group-size", fmt::format("{},{}", all, all));
    return {};
  };
  for (const Instruction* mode : binary_.modes(id)) {
    const bool by_id =
        mode->op() == spv::OpExecutionModeId || mode->word(1) == spv::ExecutionModeSubgroupsPerWorkgroupId;
    uint64_t words[3] = {0, 0, 0};
    for (size_t i = 0; i < 3 && i + 2 < mode->size(); ++i) {
      words[i] = mode->word(i + 2);
      if (!by_id) continue;
      const std::optional<uint64_t> constant = integer(mode->word(i + 2));
      if (!constant) return make_error(ErrorCode::unsupported, "an execution mode of what is no constant");
      words[i] = *constant;
    }
    switch (mode->word(1)) {
      case spv::ExecutionModeLocalSize:
      case spv::ExecutionModeLocalSizeId: MORGANA_CHECK(require_size(words)); break;
      case spv::ExecutionModeLocalSizeHint:
      case spv::ExecutionModeLocalSizeHintId: numbers("work_group_size_hint", words); break;
      case spv::ExecutionModeVecTypeHint: {
        // The type's number in the low half, the count of components in the high half.
        const uint32_t count = std::max<uint32_t>(static_cast<uint32_t>(words[0]) >> 16, 1);
        const uint32_t number = static_cast<uint32_t>(words[0]) & 0xffff;
        llvm::LLVMContext& c = context();
        llvm::Type* const elements[] = {build_.getInt8Ty(),        build_.getInt16Ty(),
                                        build_.getInt32Ty(),       build_.getInt64Ty(),
                                        llvm::Type::getHalfTy(c),  llvm::Type::getFloatTy(c),
                                        llvm::Type::getDoubleTy(c)};
        if (number >= std::size(elements) || count > 16) break;
        llvm::Type* hint = elements[number];
        if (count > 1) hint = llvm::FixedVectorType::get(hint, count);
        kernel.setMetadata("vec_type_hint",
                           llvm::MDNode::get(c, {llvm::ConstantAsMetadata::get(llvm::UndefValue::get(hint)),
                                                 llvm::ConstantAsMetadata::get(build_.getInt32(0))}));
        break;
      }
      case spv::ExecutionModeContractionOff: break;
      case spv::ExecutionModeSubgroupSize: set_number(kernel, kSubGroupSizeNode, words[0]); break;
      case spv::ExecutionModeSubgroupsPerWorkgroup:
      case spv::ExecutionModeSubgroupsPerWorkgroupId:
        MORGANA_CHECK(require_sub_groups(kernel, words[0]));
        break;
      default: return make_error(ErrorCode::unsupported, "execution mode {} is not supported", mode->word(1));
    }
  }
  // A constant that is decorated as the work-group size goes before the execution mode.
  for (const Instruction& in : binary_.instructions()) {
    if (in.op() != spv::OpConstantComposite && in.op() != spv::OpSpecConstantComposite) continue;
    const Decoration* decoration = binary_.find(in.result(), spv::DecorationBuiltIn);
    if (decoration == nullptr || decoration->word(0) != spv::BuiltInWorkgroupSize || in.size() != 3) continue;
    uint64_t size[3];
    for (size_t i = 0; i < 3; ++i) size[i] = integer(in.word(i)).value_or(0);
    MORGANA_CHECK(require_size(size));
  }
  return {};
}

void Reader::describe_arguments(llvm::Function& kernel, std::span<const Instruction> parameters) {
  const std::string_view name(kernel.getName().data(), kernel.getName().size());
  std::vector<llvm::Metadata*> spaces, access, types, base_types, qualifiers, names;
  const auto text = [&](std::string_view value) {
    return llvm::MDString::get(context(), llvm::StringRef(value.data(), value.size()));
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    const uint32_t id = parameters[i].type();
    const Instruction& in = binary_.definition(id);
    const bool by_value = kernel.getArg(static_cast<unsigned>(i))->hasByRefAttr();
    const bool is_pointer = in.op() == spv::OpTypePointer && !by_value;
    const bool is_image = in.op() == spv::OpTypeImage;
    const bool is_pipe = in.op() == spv::OpTypePipe;
    const unsigned space = is_image || is_pipe ? kGlobal
                           : is_pointer        ? type(id)->getPointerAddressSpace()
                                               : 0;
    // Numbered as by Clang for kernels: global 1, constant 2, local 3, private 0.
    spaces.push_back(llvm::ConstantAsMetadata::get(build_.getInt32(space == kConstant ? 2 : space)));
    const uint32_t given = is_image ? in.word(7) : is_pipe ? in.word(0) : 0;
    access.push_back(text(!is_image && !is_pipe                    ? "none"
                          : given == spv::AccessQualifierWriteOnly ? "write_only"
                          : given == spv::AccessQualifierReadWrite ? "read_write"
                                                                   : "read_only"));
    const std::string base = is_pipe ? "int" : type_name(by_value ? in.word(1) : id);
    base_types.push_back(text(base));
    const auto own = argument_types_.find(name);
    const std::string_view told = own == argument_types_.end() ? "" : part_of(own->second, i);
    types.push_back(text(told.empty() ? base : told));
    std::string qualifier;
    const auto add = [&](const char* word) {
      qualifier += (qualifier.empty() ? "" : " ") + std::string(word);
    };
    if (const auto quals = argument_qualifiers_.find(name); quals != argument_qualifiers_.end()) {
      qualifier = part_of(quals->second, i);
    } else if (is_pointer) {
      for (const Decoration& decoration : binary_.decorations(parameters[i].result())) {
        if (decoration.kind == spv::DecorationRestrict ||
            (decoration.kind == spv::DecorationFuncParamAttr &&
             decoration.word(0) == spv::FunctionParameterAttributeNoAlias))
          add("restrict");
        if (decoration.kind == spv::DecorationConstant ||
            (decoration.kind == spv::DecorationFuncParamAttr &&
             decoration.word(0) == spv::FunctionParameterAttributeNoWrite))
          add("const");
        if (decoration.kind == spv::DecorationVolatile) add("volatile");
      }
    }
    if (is_pipe && qualifier.find("pipe") == std::string::npos) add("pipe");
    qualifiers.push_back(text(qualifier));
    names.push_back(text(binary_.name(parameters[i].result())));
  }
  kernel.setMetadata("kernel_arg_addr_space", llvm::MDNode::get(context(), spaces));
  kernel.setMetadata("kernel_arg_access_qual", llvm::MDNode::get(context(), access));
  kernel.setMetadata("kernel_arg_type", llvm::MDNode::get(context(), types));
  kernel.setMetadata("kernel_arg_base_type", llvm::MDNode::get(context(), base_types));
  kernel.setMetadata("kernel_arg_type_qual", llvm::MDNode::get(context(), qualifiers));
  kernel.setMetadata("kernel_arg_name", llvm::MDNode::get(context(), names));
}

Status Reader::describe_kernel(llvm::Function& function, uint32_t id,
                               std::span<const Instruction> parameters) {
  describe_arguments(function, parameters);
  return set_modes(function, id);
}

}  // namespace morgana::runtime::spirv
