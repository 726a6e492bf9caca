// Result<T>: the one way a Morgana function reports failure.
//
// A Result holds either a value or an Error. Expected failures (bad bytes, bad
// arguments, missing resources) travel as Errors; exceptions are not used for
// them and asserts are never reachable from input. Values are plain data: no
// thread-safety beyond that of T.
#pragma once

#include <fmt/format.h>

#include <cassert>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace morgana {

enum class ErrorCode {
  invalid_argument,  // the caller's value is outside the documented range
  malformed,         // bytes do not have the form they claim
  unsupported,       // understood, and not available here
  not_found,         // the named thing does not exist
  out_of_memory,
  io,            // the operating system refused
  build_failed,  // the compiler or linker reported errors
  faulted,       // guest code did something it may not
  internal,      // a defect in Morgana
};

// The constant's own name, for messages and tests.
const char* name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // says what and where, without a trailing period or newline

  // The same error, seen from further out: "context: message".
  [[nodiscard]] Error in(std::string_view context) const {
    return {code, fmt::format("{}: {}", context, message)};
  }
};

template <typename... Args>
[[nodiscard]] Error make_error(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return {code, fmt::format(text, std::forward<Args>(args)...)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    assert(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace morgana

#define MORGANA_CONCAT_(a, b) a##b
#define MORGANA_CONCAT(a, b) MORGANA_CONCAT_(a, b)

// Returns the error of `expr` from the enclosing function, if it has one.
#define MORGANA_CHECK(expr)                                                  \
  do {                                                                       \
    if (const auto& status_ = (expr); !status_.ok()) return status_.error(); \
  } while (false)

// Declares `decl` from the value of `expr`, or returns its error.
#define MORGANA_TRY(decl, expr)                                                                  \
  auto MORGANA_CONCAT(result_, __LINE__) = (expr);                                               \
  if (!MORGANA_CONCAT(result_, __LINE__).ok()) return MORGANA_CONCAT(result_, __LINE__).error(); \
  decl = std::move(MORGANA_CONCAT(result_, __LINE__)).value()
