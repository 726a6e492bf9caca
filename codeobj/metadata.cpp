#include "codeobj/metadata.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "codeobj/document.h"

namespace morgana::codeobj {
namespace {

struct ArgKindRow {
  ArgKind kind;
  std::string_view name;
  std::string_view v2_name;
};

constexpr ArgKindRow kArgKinds[] = {
#define ARG_KIND(name, v2_name) {ArgKind::name, #name, v2_name},
#include "codeobj/arg_kinds.def"
#undef ARG_KIND
};

constexpr std::string_view kAddressSpaces[] = {"",      "private", "global", "constant",
                                               "local", "generic", "region"};
constexpr std::string_view kAccesses[] = {"", "read_only", "write_only", "read_write"};

// "ReadOnly", "read_only" and "readonly" alike.
std::string squash(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '_') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return out;
}

template <typename Enum, size_t N>
Enum find_name(const std::string_view (&names)[N], std::string_view text) {
  const std::string wanted = squash(text);
  for (size_t i = 1; i < N; ++i)
    if (squash(names[i]) == wanted) return static_cast<Enum>(i);
  return Enum::none;
}

// One map of the document, read by key. The first value that cannot be what its key means is kept as the
// error; later reads do nothing.
class MapReader {
 public:
  MapReader(const Node& node, std::string where) : node_(node), where_(std::move(where)) {}

  const Node* find(std::string_view key) const { return node_.find(key); }
  const Status& status() const { return status_; }
  const std::string& where() const { return where_; }

  void text(std::string_view key, std::string& out) {
    const Node* value = usable(key);
    if (value == nullptr) return;
    if (auto read = value->as_text())
      out = std::move(*read);
    else
      fail(key, "is no string");
  }

  template <typename T>
  void integer(std::string_view key, T& out) {
    const Node* value = usable(key);
    if (value == nullptr) return;
    const auto read = value->as_integer();
    if (!read)
      fail(key, "is no integer");
    else if (*read < 0 || static_cast<uint64_t>(*read) > std::numeric_limits<T>::max())
      fail(key, fmt::format("is {}, out of range", *read));
    else
      out = static_cast<T>(*read);
  }

  void flag(std::string_view key, bool& out) {
    const Node* value = usable(key);
    if (value == nullptr) return;
    if (const auto read = value->as_bool())
      out = *read;
    else
      fail(key, "is no boolean");
  }

  void integers(std::string_view key, std::vector<uint32_t>& out) {
    const Node* value = usable(key);
    if (value == nullptr) return;
    const Node::Sequence* items = value->sequence();
    if (items == nullptr) return fail(key, "is no sequence");
    for (const Node& item : *items) {
      const auto read = item.as_integer();
      if (!read || *read < 0 || *read > UINT32_MAX)
        return fail(key, "holds a value that is no unsigned 32-bit integer");
      out.push_back(static_cast<uint32_t>(*read));
    }
  }

  void dim3(std::string_view key, std::optional<Dim3>& out) {
    std::vector<uint32_t> values;
    integers(key, values);
    if (values.empty()) return;
    if (values.size() != 3) return fail(key, fmt::format("has {} values, not 3", values.size()));
    // 0, 0, 0 is the default: no requirement.
    if (values != std::vector<uint32_t>{0, 0, 0}) out = Dim3{values[0], values[1], values[2]};
  }

  // The maps of a sequence; `each` returns a Status.
  template <typename Each>
  void maps(std::string_view key, const Each& each) {
    const Node* value = usable(key);
    if (value == nullptr) return;
    const Node::Sequence* items = value->sequence();
    if (items == nullptr) return fail(key, "is no sequence");
    for (size_t i = 0; i < items->size() && status_.ok(); ++i) {
      if ((*items)[i].map() == nullptr) return fail(key, fmt::format("entry {} is no map", i));
      status_ = each((*items)[i], i);
    }
  }

 private:
  // Null is as good as absent.
  const Node* usable(std::string_view key) const {
    const Node* value = status_.ok() ? node_.find(key) : nullptr;
    return value == nullptr || std::holds_alternative<std::monostate>(value->value) ? nullptr : value;
  }

  void fail(std::string_view key, std::string_view what) {
    if (status_.ok()) status_ = make_error(ErrorCode::malformed, "{}'{}' {}", where_, key, what);
  }

  const Node& node_;
  std::string where_;
  Status status_;
};

// The spelling of one key in V3 and later, and in V2.
struct Keys {
  bool v2;
  std::string_view operator()(std::string_view v3_key, std::string_view v2_key) const {
    return v2 ? v2_key : v3_key;
  }
};

Result<KernelArg> read_arg(const Node& node, const std::string& where, Keys key) {
  KernelArg arg;
  MapReader map(node, where);
  std::string space, access, actual;
  map.text(key(".name", "Name"), arg.name);
  map.text(key(".type_name", "TypeName"), arg.type_name);
  map.integer(key(".size", "Size"), arg.size);
  map.integer(key(".offset", "Offset"), arg.offset);
  map.integer(key(".align", "Align"), arg.align);
  map.text(key(".value_kind", "ValueKind"), arg.kind_name);
  map.integer(key(".pointee_align", "PointeeAlign"), arg.pointee_align);
  map.text(key(".address_space", "AddrSpaceQual"), space);
  map.text(key(".access", "AccQual"), access);
  map.text(key(".actual_access", "ActualAccQual"), actual);
  map.flag(key(".is_const", "IsConst"), arg.is_const);
  map.flag(key(".is_restrict", "IsRestrict"), arg.is_restrict);
  map.flag(key(".is_volatile", "IsVolatile"), arg.is_volatile);
  map.flag(key(".is_pipe", "IsPipe"), arg.is_pipe);
  MORGANA_CHECK(map.status());
  for (const ArgKindRow& row : kArgKinds)
    if (arg.kind_name == (key.v2 ? row.v2_name : row.name) && !arg.kind_name.empty()) arg.kind = row.kind;
  arg.address_space = find_name<AddressSpace>(kAddressSpaces, space);
  arg.access = find_name<Access>(kAccesses, access);
  arg.actual_access = find_name<Access>(kAccesses, actual);
  return arg;
}

Result<std::vector<KernelArg>> read_args(MapReader& kernel, Keys key) {
  std::vector<KernelArg> args;
  uint64_t end = 0;  // V2 gives alignments instead of offsets
  kernel.maps(key(".args", "Args"), [&](const Node& node, size_t index) -> Status {
    MORGANA_TRY(KernelArg arg, read_arg(node, fmt::format("{}argument {}: ", kernel.where(), index), key));
    if (key.v2) {
      const uint64_t align = std::max<uint32_t>(arg.align, 1);
      const uint64_t offset = (end + align - 1) / align * align;
      if (offset + arg.size > UINT32_MAX)
        return make_error(ErrorCode::malformed, "{}argument {} ends at {}, out of range", kernel.where(),
                          index, offset + arg.size);
      arg.offset = static_cast<uint32_t>(offset);
      end = offset + arg.size;
    }
    args.push_back(std::move(arg));
    return {};
  });
  MORGANA_CHECK(kernel.status());
  return args;
}

// What V3 has in the kernel's map stands in three maps in V2: the kernel's, "Attrs" and "CodeProps".
Result<KernelMetadata> read_kernel(const Node& node, size_t index, Keys key) {
  KernelMetadata kernel;
  MapReader map(node, fmt::format("kernel {}: ", index));
  map.text(key(".name", "Name"), kernel.name);
  map.text(key(".symbol", "SymbolName"), kernel.symbol);
  map.text(key(".language", "Language"), kernel.language);
  map.integers(key(".language_version", "LanguageVersion"), kernel.language_version);
  MORGANA_CHECK(map.status());

  const Node none;
  const Node* attributes = key.v2 ? map.find("Attrs") : &node;
  const Node* properties = key.v2 ? map.find("CodeProps") : &node;
  const std::string where = fmt::format("kernel '{}': ", kernel.name);
  MapReader attrs(attributes == nullptr ? none : *attributes, where);
  attrs.dim3(key(".reqd_workgroup_size", "ReqdWorkGroupSize"), kernel.reqd_workgroup_size);
  attrs.dim3(key(".workgroup_size_hint", "WorkGroupSizeHint"), kernel.workgroup_size_hint);
  attrs.text(key(".vec_type_hint", "VecTypeHint"), kernel.vec_type_hint);
  attrs.text(key(".device_enqueue_symbol", "RuntimeHandle"), kernel.device_enqueue_symbol);
  MORGANA_CHECK(attrs.status());

  MapReader props(properties == nullptr ? none : *properties, where);
  std::string kind;
  props.integer(key(".kernarg_segment_size", "KernargSegmentSize"), kernel.kernarg_segment_size);
  props.integer(key(".kernarg_segment_align", "KernargSegmentAlign"), kernel.kernarg_segment_align);
  props.integer(key(".group_segment_fixed_size", "GroupSegmentFixedSize"), kernel.group_segment_fixed_size);
  props.integer(key(".private_segment_fixed_size", "PrivateSegmentFixedSize"),
                kernel.private_segment_fixed_size);
  props.integer(key(".wavefront_size", "WavefrontSize"), kernel.wavefront_size);
  props.integer(key(".sgpr_count", "NumSGPRs"), kernel.sgpr_count);
  props.integer(key(".vgpr_count", "NumVGPRs"), kernel.vgpr_count);
  props.integer(".agpr_count", kernel.agpr_count);
  props.integer(key(".sgpr_spill_count", "NumSpilledSGPRs"), kernel.sgpr_spill_count);
  props.integer(key(".vgpr_spill_count", "NumSpilledVGPRs"), kernel.vgpr_spill_count);
  props.integer(key(".max_flat_workgroup_size", "MaxFlatWorkGroupSize"), kernel.max_flat_workgroup_size);
  props.integer(".max_num_work_groups_x", kernel.max_num_work_groups[0]);
  props.integer(".max_num_work_groups_y", kernel.max_num_work_groups[1]);
  props.integer(".max_num_work_groups_z", kernel.max_num_work_groups[2]);
  props.flag(key(".uses_dynamic_stack", "IsDynamicCallStack"), kernel.uses_dynamic_stack);
  props.flag(".uniform_work_group_size", kernel.uniform_work_group_size);
  props.flag(".workgroup_processor_mode", kernel.workgroup_processor_mode);
  props.text(".kind", kind);
  MORGANA_CHECK(props.status());
  kernel.kind = kind == "init" ? KernelKind::init : kind == "fini" ? KernelKind::fini : KernelKind::normal;

  MapReader arguments(node, where);
  MORGANA_TRY(kernel.args, read_args(arguments, key));
  return kernel;
}

Result<Metadata> read_document(const Node& root, Keys key) {
  if (root.map() == nullptr) return make_error(ErrorCode::malformed, "the document is no map");
  Metadata metadata;
  MapReader map(root, "");
  std::vector<uint32_t> version;
  map.integers(key("amdhsa.version", "Version"), version);
  map.text("amdhsa.target", metadata.target);
  if (!version.empty()) metadata.version_major = version[0];
  if (version.size() > 1) metadata.version_minor = version[1];
  if (map.status().ok() && metadata.version_major > 1)
    return make_error(ErrorCode::unsupported, "metadata version {}.{}", metadata.version_major,
                      metadata.version_minor);

  if (const Node* list = map.find(key("amdhsa.printf", "Printf"));
      list != nullptr && list->sequence() != nullptr)
    for (const Node& item : *list->sequence())
      if (auto text = item.as_text()) metadata.printf.push_back(std::move(*text));
  map.maps(key("amdhsa.kernels", "Kernels"), [&](const Node& node, size_t index) -> Status {
    MORGANA_TRY(KernelMetadata kernel, read_kernel(node, index, key));
    if (kernel.name.empty() && kernel.symbol.empty())
      return make_error(ErrorCode::malformed, "kernel {} has no name", index);
    metadata.kernels.push_back(std::move(kernel));
    return {};
  });
  MORGANA_CHECK(map.status());
  return metadata;
}

// LLVM's AMDGPUPrintfRuntimeBinding writes control characters as C escapes and ':' as \72.
std::string unescape_format(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    static constexpr std::string_view kLetters = "abfnrv";
    static constexpr std::string_view kValues = "\a\b\f\n\r\v";
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("\\72")) {
      out += ':';
      i += 2;
    } else if (rest.size() > 1 && rest[0] == '\\' && kLetters.find(rest[1]) != std::string_view::npos) {
      out += kValues[kLetters.find(rest[1])];
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

const char* name(ArgKind kind) {
  return kind == ArgKind::unknown ? "unknown" : kArgKinds[static_cast<size_t>(kind)].name.data();
}
const char* name(AddressSpace space) { return kAddressSpaces[static_cast<size_t>(space)].data(); }
const char* name(Access access) { return kAccesses[static_cast<size_t>(access)].data(); }
const char* name(KernelKind kind) {
  return kind == KernelKind::init ? "init" : kind == KernelKind::fini ? "fini" : "normal";
}

Result<Metadata> parse_msgpack_metadata(Bytes bytes) {
  auto root = read_msgpack(bytes);
  if (!root) return root.error().in("code object metadata");
  auto metadata = read_document(*root, {.v2 = false});
  if (!metadata) return metadata.error().in("code object metadata");
  return metadata;
}

Result<Metadata> parse_yaml_metadata(std::string_view text) {
  auto root = read_yaml(text);
  if (!root) return root.error().in("code object metadata");
  auto metadata = read_document(*root, {.v2 = true});
  if (!metadata) return metadata.error().in("code object metadata");
  return metadata;
}

Result<PrintfFormat> parse_printf_format(std::string_view text) {
  const std::string_view whole = text;
  const auto number = [&](uint32_t& out) -> Status {
    const size_t colon = text.find(':');
    const std::string_view field = text.substr(0, colon);
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), out);
    if (colon == std::string_view::npos || error != std::errc() || end != field.data() + field.size())
      return make_error(ErrorCode::malformed, "printf entry '{}': '{}' is no number", whole, field);
    text.remove_prefix(colon + 1);
    return {};
  };
  PrintfFormat format;
  uint32_t count = 0;
  MORGANA_CHECK(number(format.id));
  MORGANA_CHECK(number(count));
  // LLVM counts arguments that no conversion takes, but neither stores them nor gives their size. In the
  // format itself colons are escaped.
  for (uint32_t i = 0; i < count && text.find(':') != std::string_view::npos; ++i) {
    uint32_t size = 0;
    MORGANA_CHECK(number(size));
    format.arg_sizes.push_back(size);
  }
  format.format = unescape_format(text);
  return format;
}

}  // namespace morgana::codeobj
