#include "base/error.h"

#include <fmt/format.h>

namespace trainyard {

void throw_error_text(fmt::string_view format, fmt::format_args args) {
  throw Error(fmt::vformat(format, args));
}

void throw_failure_text(fmt::string_view format, fmt::format_args args) {
  throw Failure(fmt::vformat(format, args));
}

void throw_internal_error(const char* file, int line, const char* condition,
                          const std::string& message) {
  throw InternalError(fmt::format("{}:{}: {} does not hold: {}", file, line, condition, message));
}

}  // namespace trainyard
