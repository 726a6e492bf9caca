#include "runtime/compiler/build_options.h"

#include <algorithm>
#include <iterator>

namespace morgana::runtime {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

// Splits as a shell would: blanks separate, both quotes group, a backslash takes the special meaning of a
// quote, blank or backslash (and of nothing else, so that paths with backslashes survive).
Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == 0) break;
    bool escapes =
        c == '\\' && quote != '\'' && i + 1 < text.size() &&
        std::string_view(quote == 0 ? "\\\"' " : "\\\"").find(text[i + 1]) != std::string_view::npos;
    if (escapes) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (is_space(c)) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0)
    return make_error(ErrorCode::invalid_argument, "unterminated {} in the build options", quote);
  if (in_word) words.push_back(std::move(word));
  return words;
}

// As Clang has it: what follows the name is the value's, with a warning. Programs make names of the device's.
bool begins_with_name(std::string_view macro) {
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (c & 0x80);
  };
  return !macro.empty() && is_letter(macro[0]);
}

// -cl-std= values in clang's spelling. Clang 22 knows all but CL3.1 (frontend.cpp).
constexpr std::string_view kStandards[] = {"CL1.0", "CL1.1", "CL1.2",    "CL2.0",    "CL3.0",
                                           "CL3.1", "CLC++", "CLC++1.0", "CLC++2021"};

// What an option does besides being known. `pass` hands it to clang as it is.
struct Row {
  std::string_view name;
  void (*apply)(BuildOptions&);
  bool pass;
  bool link;  // also an option of clLinkProgram ("Linker Options" of the API specification)
};

constexpr auto kNothing = [](BuildOptions&) {};

constexpr Row kRows[] = {
    {"-w", kNothing, true, false},
    {"-Werror", kNothing, true, false},
    {"-pedantic", kNothing, true, false},
    {"-pedantic-errors", kNothing, true, false},
    {"-g", [](BuildOptions& o) { o.debug_info = true; }, false, false},
    {"-O", kNothing, false, false},
    {"-O0", [](BuildOptions& o) { o.optimization = 0; }, false, false},
    {"-O1", [](BuildOptions& o) { o.optimization = 1; }, false, false},
    {"-O2", [](BuildOptions& o) { o.optimization = 2; }, false, false},
    {"-O3", [](BuildOptions& o) { o.optimization = 3; }, false, false},
    {"-O4", [](BuildOptions& o) { o.optimization = 3; }, false, false},
    {"-O5", [](BuildOptions& o) { o.optimization = 3; }, false, false},
    {"-Os", kNothing, false, false},
    {"-cl-opt-disable", [](BuildOptions& o) { o.optimization = 0; }, false, false},
    {"-cl-single-precision-constant", kNothing, true, false},
    {"-cl-denorms-are-zero", [](BuildOptions& o) { o.denorms_are_zero = true; }, false, true},
    {"-cl-fp32-correctly-rounded-divide-sqrt",
     [](BuildOptions& o) { o.correctly_rounded_divide_sqrt = true; }, true, false},
    {"-cl-strict-aliasing", kNothing, false, false},  // deprecated, and clang's default
    {"-cl-uniform-work-group-size", [](BuildOptions& o) { o.uniform_work_group_size = true; }, true, false},
    {"-cl-no-subgroup-ifp", kNothing, false, true},
    {"-mwavefrontsize64", [](BuildOptions& o) { o.wave64 = true; }, false, false},
    {"-mno-wavefrontsize64", [](BuildOptions& o) { o.wave64 = false; }, false, false},
    {"-mcumode", [](BuildOptions& o) { o.cu_mode = true; }, false, false},
    {"-mno-cumode", [](BuildOptions& o) { o.cu_mode = false; }, false, false},
    {"-cl-mad-enable", kNothing, true, false},
    {"-cl-no-signed-zeros", [](BuildOptions& o) { o.no_signed_zeros = true; }, true, true},
    {"-cl-unsafe-math-optimizations", [](BuildOptions& o) { o.unsafe_math = o.no_signed_zeros = true; }, true,
     true},
    {"-cl-finite-math-only", [](BuildOptions& o) { o.finite_math = true; }, true, true},
    {"-cl-fast-relaxed-math",
     [](BuildOptions& o) { o.unsafe_math = o.finite_math = o.no_signed_zeros = true; }, true, true},
    {"-cl-kernel-arg-info", kNothing, false, false},  // always recorded
    {"-create-library", [](BuildOptions& o) { o.create_library = true; }, false, true},
    {"-enable-link-options", [](BuildOptions& o) { o.enable_link_options = true; }, false, true},
    // Flags of clang's driver that change nothing here, and of AMD's compiler that have no meaning here.
    {"-save-temps", kNothing, false, true},
    {"-m64", kNothing, false, true},
    {"-fno-math-errno", kNothing, false, false},
    {"-fstrict-aliasing", kNothing, false, false},
    {"-fno-strict-aliasing", [](BuildOptions& o) { o.clang_flags.push_back("-relaxed-aliasing"); }, false,
     false},
    {"-finline-functions", kNothing, false, false},
    {"-fno-inline", kNothing, true, false},
    {"-fno-inline-functions", [](BuildOptions& o) { o.clang_flags.push_back("-fno-inline"); }, false, false},
    {"-funroll-loops", kNothing, true, false},
    {"-fno-unroll-loops", kNothing, true, false},
    {"-ffast-math",
     [](BuildOptions& o) {
       o.unsafe_math = o.finite_math = o.no_signed_zeros = true;
       o.clang_flags.push_back("-cl-fast-relaxed-math");
     },
     false, false},
    {"-ffinite-math-only",
     [](BuildOptions& o) {
       o.finite_math = true;
       o.clang_flags.push_back("-cl-finite-math-only");
     },
     false, false},
    {"-fno-signed-zeros", [](BuildOptions& o) { o.no_signed_zeros = true; }, true, false},
    {"-ffp-contract=on", kNothing, true, false},
    {"-ffp-contract=off", kNothing, true, false},
    {"-ffp-contract=fast", kNothing, true, false},
    {"-fno-builtin", kNothing, true, false},
    {"-fsigned-char", kNothing, false, false},
    {"-fcolor-diagnostics", kNothing, false, false},  // the log is plain text
    {"-fno-color-diagnostics", kNothing, false, false},
};

// Families whose members are accepted without a look at what follows.
constexpr std::string_view kIgnoredPrefixes[] = {"-fbin-", "-fno-bin-", "-save-temps=", "-fdiagnostics-"};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

Error invalid(std::string_view option) {
  return make_error(ErrorCode::invalid_argument, "invalid build option '{}'", option);
}

class Parser {
 public:
  Parser(std::vector<std::string> words, BuildStage stage) : words_(std::move(words)), stage_(stage) {}

  Result<BuildOptions> parse() {
    while (next_ < words_.size()) MORGANA_CHECK(parse_word(words_[next_++]));
    // "Linker Options": -enable-link-options must be used with -create-library.
    if (options_.enable_link_options && !options_.create_library) return invalid("-enable-link-options");
    return std::move(options_);
  }

 private:
  Status parse_word(const std::string& word) {
    const bool compiles = stage_ != BuildStage::link;
    for (const Row& row : kRows) {
      if (row.name != word) continue;
      if (stage_ == BuildStage::link && !row.link) return invalid(word);
      const bool is_library_option = row.name == "-create-library" || row.name == "-enable-link-options";
      if (stage_ != BuildStage::link && is_library_option) return invalid(word);
      row.apply(options_);
      if (row.pass) options_.clang_flags.push_back(word);
      return {};
    }
    for (std::string_view prefix : kIgnoredPrefixes)
      if (starts_with(word, prefix)) return {};
    if (!compiles) return invalid(word);
    if (starts_with(word, "-D") || starts_with(word, "-U")) return parse_macro(word);
    if (starts_with(word, "-I")) {
      MORGANA_TRY(std::string dir, value_of(word, 2));
      options_.include_dirs.push_back(std::move(dir));
      return {};
    }
    if (starts_with(word, "-cl-std=")) return parse_standard(word);
    if (starts_with(word, "-x") || starts_with(word, "-spir-std=")) {
      const std::string language = word == "-x" && next_ < words_.size() ? words_[next_] : "";
      // AMD's name for kernels in C++, of which Clang takes what is C++ for OpenCL.
      if (language == "clc++") options_.standard = "CLC++";
      if (language == "cl" || language == "clc" || language == "clc++") return ++next_, Status();
      return make_error(ErrorCode::unsupported, "build option '{}': SPIR is not supported", word);
    }
    // -Wa, -Wl, -Wp, hand text to other tools; -Wx with a comma is never a warning.
    if (starts_with(word, "-W") && word.size() > 2 && word.find(',') == std::string::npos) {
      options_.clang_flags.push_back(word);
      return {};
    }
    return invalid(word);
  }

  Status parse_macro(const std::string& word) {
    MORGANA_TRY(std::string macro, value_of(word, 2));
    if (!begins_with_name(macro)) return invalid(word);
    options_.macros.push_back(word[1] == 'U' ? "!" + macro : std::move(macro));
    return {};
  }

  Status parse_standard(const std::string& word) {
    std::string_view value = std::string_view(word).substr(8);
    std::string upper(value);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
    for (std::string_view standard : kStandards)
      if (upper == standard) {
        options_.standard = standard;
        return {};
      }
    return invalid(word);
  }

  // The value glued to the option, or the next word.
  Result<std::string> value_of(const std::string& word, size_t prefix) {
    if (word.size() > prefix) return word.substr(prefix);
    if (next_ == words_.size() || words_[next_].empty()) return invalid(word);
    return words_[next_++];
  }

  std::vector<std::string> words_;
  BuildStage stage_;
  size_t next_ = 0;
  BuildOptions options_;
};

}  // namespace

Result<BuildOptions> parse_build_options(std::string_view text, BuildStage stage) {
  MORGANA_TRY(std::vector<std::string> words, split_words(text));
  return Parser(std::move(words), stage).parse();
}

}  // namespace morgana::runtime
