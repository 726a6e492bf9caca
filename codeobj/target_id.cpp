#include "codeobj/target_id.h"

#include "codeobj/processor.h"

namespace morgana::codeobj {
namespace {

std::string feature_text(std::string_view name, Feature feature) {
  if (feature == Feature::on) return fmt::format(":{}+", name);
  if (feature == Feature::off) return fmt::format(":{}-", name);
  return {};
}

// The part of `text` behind a triple of three or four fields; all of it when there is none.
std::string_view strip_triple(std::string_view text) {
  if (!text.starts_with("amdgcn-")) return text;
  for (int field = 0; field < 3; ++field) {
    const size_t dash = text.find('-');
    if (dash == std::string_view::npos) return {};
    text.remove_prefix(dash + 1);
  }
  // A fourth field, the environment, is empty in every triple that AMD's tools write.
  if (text.starts_with('-')) text.remove_prefix(1);
  return text;
}

Status set_feature(TargetId& id, const Processor& processor, std::string_view name, Feature value,
                   std::string_view text) {
  const bool is_xnack = name == "xnack";
  if (!is_xnack && name != "sramecc" && name != "sram-ecc")
    return make_error(ErrorCode::invalid_argument, "unknown target feature '{}' in target id '{}'", name,
                      text);
  if (!(is_xnack ? processor.has_xnack : processor.has_sramecc))
    return make_error(ErrorCode::invalid_argument, "{} has no target feature '{}' (target id '{}')",
                      processor.name, name, text);
  Feature& feature = is_xnack ? id.xnack : id.sramecc;
  if (feature != Feature::any)
    return make_error(ErrorCode::invalid_argument, "target feature '{}' appears twice in target id '{}'",
                      name, text);
  feature = value;
  return {};
}

bool feature_fits(Feature code, Feature agent) {
  if (code == Feature::any || code == Feature::unsupported) return true;
  return agent == Feature::any || code == agent;
}

}  // namespace

std::string TargetId::str() const {
  return processor + feature_text("sramecc", sramecc) + feature_text("xnack", xnack);
}

std::string TargetId::isa_name() const { return fmt::format("{}-{}", kTriple, str()); }

std::optional<Target> TargetId::target() const {
  const Processor* found = find_processor(processor);
  return found == nullptr ? std::nullopt : found->target;
}

Result<TargetId> parse_target_id(std::string_view text) {
  std::string_view rest = strip_triple(text);
  const size_t end = rest.find_first_of(":+");
  const Processor* processor = find_processor(rest.substr(0, end));
  if (processor == nullptr)
    return make_error(ErrorCode::invalid_argument, "unknown processor '{}' in target id '{}'",
                      rest.substr(0, end), text);
  TargetId id{.processor = processor->name,
              .sramecc = processor->has_sramecc ? Feature::any : Feature::unsupported,
              .xnack = processor->has_xnack ? Feature::any : Feature::unsupported};
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  while (!rest.empty()) {
    const char separator = rest.front();
    rest.remove_prefix(1);
    std::string_view item = rest.substr(0, rest.find_first_of(separator == ':' ? ":" : "+"));
    rest.remove_prefix(item.size());
    Feature value = Feature::on;
    if (separator == ':') {
      if (!item.ends_with('+') && !item.ends_with('-'))
        return make_error(ErrorCode::invalid_argument,
                          "target feature '{}' of '{}' ends neither in + nor in -", item, text);
      value = item.ends_with('+') ? Feature::on : Feature::off;
      item.remove_suffix(1);
    }
    MORGANA_CHECK(set_feature(id, *processor, item, value, text));
  }
  return id;
}

bool compatible(const TargetId& code, const TargetId& agent) {
  if (code.processor != agent.processor && !generic_covers(code.processor, agent.processor)) return false;
  return feature_fits(code.sramecc, agent.sramecc) && feature_fits(code.xnack, agent.xnack);
}

int match_rank(const TargetId& code, const TargetId& agent) {
  if (!compatible(code, agent)) return -1;
  const auto is_set = [](Feature feature) { return feature == Feature::on || feature == Feature::off; };
  return (code.processor == agent.processor ? 4 : 0) + (is_set(code.sramecc) ? 1 : 0) +
         (is_set(code.xnack) ? 1 : 0);
}

}  // namespace morgana::codeobj
