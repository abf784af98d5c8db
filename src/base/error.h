// The three ways to fail, and nothing else. See docs/errors.md.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace trainyard {

// The request was wrong and the caller can fix it: a flag, a file, a shape. Exit code 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The request was fine but could not be carried out: I/O, a numerical failure, a lost worker. Exit
// code 1.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A bug of ours. Exit code 3.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Compiled once, since nearly every function can throw.
[[noreturn]] void throw_error_text(fmt::string_view format, fmt::format_args args);
[[noreturn]] void throw_failure_text(fmt::string_view format, fmt::format_args args);
[[noreturn]] void throw_internal_error(const char* file, int line, const char* condition,
                                       const std::string& message);

template <typename... Args>
[[noreturn]] void throw_error(fmt::format_string<Args...> format, Args&&... args) {
  throw_error_text(format, fmt::make_format_args(args...));
}

template <typename... Args>
[[noreturn]] void throw_failure(fmt::format_string<Args...> format, Args&&... args) {
  throw_failure_text(format, fmt::make_format_args(args...));
}

}  // namespace trainyard

// TY_REQUIRE: what the caller must get right; the message says what was expected and what was
// found.
#define TY_REQUIRE(condition, ...)                           \
  do {                                                       \
    if (!(condition)) ::trainyard::throw_error(__VA_ARGS__); \
  } while (false)

// TY_CHECK: what we must get right ourselves.
#define TY_CHECK(condition, ...)                                                                   \
  do {                                                                                             \
    if (!(condition))                                                                              \
      ::trainyard::throw_internal_error(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)
