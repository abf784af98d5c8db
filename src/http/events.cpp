#include "http/events.h"

#include <cstdio>
#include <ctime>
#include <exception>

#include <fmt/format.h>

#include "base/printable.h"

namespace trainyard::serve {

void say_event(std::string_view text) noexcept {
  try {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char stamp[32];
    std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &parts);
    // In one piece, so that lines of several threads do not mix.
    std::fputs(fmt::format("{} {}\n", stamp, printable_line(text)).c_str(), stderr);
  } catch (const std::exception&) {
    // Without memory nothing is said.
  }
}

}  // namespace trainyard::serve
