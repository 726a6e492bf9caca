#include "runtime/compiler/spirv/binary.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "runtime/compiler/spirv/producers.h"

namespace morgana::runtime::spirv {
namespace {

constexpr uint32_t kMostIds = 0x3fffff;  // the limit that the specification recommends
// SPIRV-Tools names an array after its element and a pointer after what it points to: for types within types
// all names together take the square of the module's size.
constexpr size_t kMostNamedWords = 16384;

// SPIRV-Tools and LLVM walk types by recursion, and each member anew.
constexpr uint64_t kMostLevels = 100;
constexpr uint64_t kMostMembers = 1 << 16;
// What groups of decorations come to, for all of their targets.
constexpr uint64_t kMostGrouped = 1 << 22;
// SPIRV-Tools looks for recursion from each function anew: the functions that it comes to, and the calls of
// different ones in these.
constexpr uint64_t kMostReached = 1 << 20, kMostCalls = 1 << 24;

struct Context {
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
  ~Context() { spvContextDestroy(context); }
};

struct Diagnostic {
  spv_diagnostic diagnostic = nullptr;
  ~Diagnostic() { spvDiagnosticDestroy(diagnostic); }
  Error error(std::string_view what) const {
    std::string_view text = diagnostic != nullptr && diagnostic->error != nullptr ? diagnostic->error : "";
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    return make_error(ErrorCode::malformed, "{}{}{}", what, text.empty() ? "" : ": ", text);
  }
};

Status validate(const Context& context, std::span<const uint32_t> words, bool with_names) {
  struct Options {
    spv_validator_options options = spvValidatorOptionsCreate();
    ~Options() { spvValidatorOptionsDestroy(options); }
  } options;
  // Producers of kernels rely on pointers of other types than what they point to.
  spvValidatorOptionsSetRelaxLogicalPointer(options.options, true);
  spvValidatorOptionsSetFriendlyNames(options.options, with_names);
  spv_const_binary_t binary{words.data(), words.size()};
  Diagnostic diagnostic;
  if (spvValidateWithOptions(context.context, options.options, &binary, &diagnostic.diagnostic) !=
      SPV_SUCCESS)
    return diagnostic.error("invalid SPIR-V");
  return {};
}

// What a few words may come to, before anything writes it out.
class Extents {
 public:
  // The instruction's words, opcode and length first.
  Status add(std::span<const uint32_t> in) {
    if (in.size() < 2) return {};
    switch (in[0] & spv::OpCodeMask) {
      case spv::OpTypeArray:
      case spv::OpTypeRuntimeArray: return add_type(in[1], in.subspan(2, std::min<size_t>(in.size() - 2, 1)));
      case spv::OpTypeStruct: return add_type(in[1], in.subspan(2));
      case spv::OpDecorate:
      case spv::OpDecorateId: ++decorations_[in[1]]; return {};
      case spv::OpGroupDecorate:
      case spv::OpGroupMemberDecorate: grouped_ += decorations_[in[1]] * (in.size() - 2); break;
      case spv::OpEntryPoint:
        if (in.size() > 2 && !entry_points_.insert(in[2]).second)
          return make_error(ErrorCode::unsupported, "one function under two names of kernels");
        break;
      case spv::OpFunction:
        if (in.size() > 2) functions_.emplace(in[2], callees_.size()), callees_.emplace_back();
        break;
      case spv::OpFunctionCall:
        if (in.size() > 3 && !callees_.empty()) callees_.back().push_back(in[3]);
        break;
      default: break;
    }
    if (grouped_ <= kMostGrouped) return {};
    return make_error(ErrorCode::unsupported, "more than {} decorations by groups", kMostGrouped);
  }
  // After the last instruction.
  Status check_calls() {
    for (std::vector<uint32_t>& callees : callees_) {
      std::sort(callees.begin(), callees.end());
      callees.erase(std::unique(callees.begin(), callees.end()), callees.end());
    }
    uint64_t reached = 0, calls = 0;
    std::vector<size_t> seen_from(callees_.size(), callees_.size()), ahead;
    for (size_t start = 0; start < callees_.size(); ++start) {
      ahead = {start};
      while (!ahead.empty()) {
        const std::vector<uint32_t>& callees = callees_[ahead.back()];
        ahead.pop_back();
        reached += 1;
        calls += callees.size();
        if (reached > kMostReached || calls > kMostCalls)
          return make_error(ErrorCode::unsupported, "functions from which too many calls follow");
        for (const uint32_t id : callees) {
          const auto callee = functions_.find(id);
          if (callee == functions_.end() || seen_from[callee->second] == start) continue;
          seen_from[callee->second] = start;
          ahead.push_back(callee->second);
        }
      }
    }
    return {};
  }

 private:
  struct Type {
    uint64_t levels = 0, members = 1;
  };
  Status add_type(uint32_t id, std::span<const uint32_t> parts) {
    Type own;
    for (const uint32_t part : parts) {
      const auto known = types_.find(part);
      const Type type = known == types_.end() ? Type() : known->second;
      own.levels = std::max(own.levels, type.levels);
      own.members += type.members;
    }
    if (++own.levels > kMostLevels)
      return make_error(ErrorCode::unsupported, "types within {} others", kMostLevels);
    if (own.members > kMostMembers)
      return make_error(ErrorCode::unsupported, "a type of more than {} members", kMostMembers);
    types_[id] = own;
    return {};
  }

  std::unordered_map<uint32_t, Type> types_;  // structures and arrays
  std::unordered_map<uint32_t, uint64_t> decorations_;
  uint64_t grouped_ = 0;
  std::unordered_map<uint32_t, size_t> functions_;  // where their callees are, by id
  std::vector<std::vector<uint32_t>> callees_;
  std::unordered_set<uint32_t> entry_points_;
};

// What else is wrong is left for the validator to say.
Status check_extents(std::vector<uint32_t> words, bool swapped) {
  if (swapped)
    for (uint32_t& word : words) word = __builtin_bswap32(word);
  Extents extents;
  for (size_t at = kHeaderWords, length; at < words.size(); at += length) {
    length = words[at] >> spv::WordCountShift;
    if (length == 0 || length > words.size() - at) return {};
    MORGANA_CHECK(extents.add(std::span<const uint32_t>(words).subspan(at, length)));
  }
  return extents.check_calls();
}

// Names are for messages only.
Status validate(const Context& context, std::span<const uint32_t> words) {
  Status valid = validate(context, words, false);
  return valid.ok() || words.size() > kMostNamedWords ? valid : validate(context, words, true);
}

}  // namespace

uint64_t Instruction::literal(size_t index) const {
  if (index >= size()) return 0;
  std::span<const uint32_t> words = operands_[index].words;
  return words[0] | (words.size() > 1 ? uint64_t{words[1]} << 32 : 0);
}

std::string_view Instruction::text(size_t index) const {
  if (index >= size()) return {};
  std::span<const uint32_t> words = operands_[index].words;
  const auto* start = reinterpret_cast<const char*>(words.data());
  return {start, strnlen(start, words.size() * sizeof(uint32_t))};
}

Result<std::unique_ptr<Binary>> Binary::read(std::string_view bytes, bool is_valid) {
  if (bytes.size() % sizeof(uint32_t) != 0 || bytes.size() < kHeaderWords * sizeof(uint32_t))
    return make_error(ErrorCode::malformed, "invalid SPIR-V: {} bytes are no module", bytes.size());
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  const bool swapped = words[0] != spv::MagicNumber;
  uint32_t bound = swapped ? __builtin_bswap32(words[kBoundWord]) : words[kBoundWord];
  if (bound > kMostIds) return make_error(ErrorCode::malformed, "invalid SPIR-V: {} ids", bound);
  MORGANA_CHECK(check_extents(words, swapped));

  const Context context;
  auto binary = std::make_unique<Binary>();
  if (Status valid = is_valid ? Status() : validate(context, words); !valid.ok()) {
    std::optional<std::vector<uint32_t>> mended = as_meant(context.context, words);
    if (!mended) return valid.error();
    MORGANA_CHECK(validate(context, *mended));
    words = std::move(*mended);
    bound = words[kBoundWord];
    binary->is_valid_ = false;
  }
  binary->bound_ = bound;
  // Never moved while they grow: spans point into them.
  binary->words_.reserve(words.size());
  binary->operands_.reserve(words.size());
  Diagnostic diagnostic;
  if (spvBinaryParse(context.context, binary.get(), words.data(), words.size(), nullptr, add,
                     &diagnostic.diagnostic) != SPV_SUCCESS)
    return diagnostic.error("invalid SPIR-V");
  binary->index();
  return binary;
}

spv_result_t Binary::add(void* pointer, const spv_parsed_instruction_t* parsed) {
  auto& binary = *static_cast<Binary*>(pointer);
  const size_t first_operand = binary.operands_.size();
  for (uint16_t i = 0; i < parsed->num_operands; ++i) {
    const spv_parsed_operand_t& operand = parsed->operands[i];
    if (operand.type == SPV_OPERAND_TYPE_TYPE_ID || operand.type == SPV_OPERAND_TYPE_RESULT_ID) continue;
    const size_t first_word = binary.words_.size();
    if (binary.words_.capacity() - first_word < operand.num_words ||
        binary.operands_.capacity() == binary.operands_.size())
      return SPV_ERROR_INVALID_BINARY;
    binary.words_.insert(binary.words_.end(), parsed->words + operand.offset,
                         parsed->words + operand.offset + operand.num_words);
    binary.operands_.push_back(
        {operand.type, std::span<const uint32_t>(binary.words_).subspan(first_word, operand.num_words)});
  }
  binary.instructions_.emplace_back(static_cast<spv::Op>(parsed->opcode), parsed->type_id, parsed->result_id,
                                    parsed->ext_inst_type,
                                    std::span<const Operand>(binary.operands_).subspan(first_operand));
  return SPV_SUCCESS;
}

void Binary::index_decoration(const Instruction& in) {
  Decoration decoration{.by = &in};
  switch (in.op()) {
    case spv::OpDecorate:
    case spv::OpDecorateId:
    case spv::OpDecorateString:
      decoration.kind = static_cast<spv::Decoration>(in.word(1));
      decoration.first = 2;
      break;
    case spv::OpMemberDecorate:
    case spv::OpMemberDecorateString:
      decoration.member = in.word(1);
      decoration.kind = static_cast<spv::Decoration>(in.word(2));
      decoration.first = 3;
      break;
    default: return;
  }
  decorations_[in.word(0)].push_back(decoration);
}

void Binary::index() {
  definitions_.resize(bound_);
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& in = instructions_[i];
    if (in.result() != 0 && in.result() < bound_) definitions_[in.result()] = static_cast<uint32_t>(i + 1);
    index_decoration(in);
    if (in.op() == spv::OpName) names_.emplace(in.word(0), in.text(1));
    if (in.op() == spv::OpExecutionMode || in.op() == spv::OpExecutionModeId)
      modes_[in.word(0)].push_back(&in);
  }
  // What is said of a group is said of its targets.
  for (const Instruction& in : instructions_) {
    if (in.op() == spv::OpGroupDecorate)
      for (size_t i = 1; i < in.size(); ++i)
        for (const Decoration& decoration : std::vector<Decoration>(decorations_[in.word(0)]))
          decorations_[in.word(i)].push_back(decoration);
    if (in.op() == spv::OpGroupMemberDecorate)
      for (size_t i = 1; i + 1 < in.size(); i += 2)
        for (Decoration decoration : std::vector<Decoration>(decorations_[in.word(0)])) {
          decoration.member = in.word(i + 1);
          decorations_[in.word(i)].push_back(decoration);
        }
  }
}

const Instruction& Binary::definition(uint32_t id) const {
  static const Instruction none;
  return id < bound_ && definitions_[id] != 0 ? instructions_[definitions_[id] - 1] : none;
}

std::string_view Binary::name(uint32_t id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? std::string_view() : found->second;
}

std::span<const Decoration> Binary::decorations(uint32_t id) const {
  const auto found = decorations_.find(id);
  return found == decorations_.end() ? std::span<const Decoration>() : found->second;
}

const Decoration* Binary::find(uint32_t id, spv::Decoration kind) const {
  for (const Decoration& decoration : decorations(id))
    if (decoration.kind == kind && decoration.member == Decoration::kWhole) return &decoration;
  return nullptr;
}

std::span<const Instruction* const> Binary::modes(uint32_t function) const {
  const auto found = modes_.find(function);
  return found == modes_.end() ? std::span<const Instruction* const>() : found->second;
}

}  // namespace morgana::runtime::spirv
