// What an action that must fail says.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace trainyard {

// The message of the Error that `action` throws; "no error" if it throws none.
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace trainyard
