// What an action that must fail says.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace trainyard {

// The message of the Error (or what else is expected) that `action` throws; "no error" if it throws
// none.
template <typename Expected = Error>
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace trainyard
