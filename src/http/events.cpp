#include "http/events.h"

#include <cstdio>
#include <ctime>
#include <exception>

#include <fmt/format.h>

#include "base/json.h"
#include "base/printable.h"

namespace trainyard::serve {
namespace {

EventForm event_form = EventForm::kText;

std::string event_line(std::string_view stamp, std::string_view text) {
  if (event_form == EventForm::kText) return fmt::format("{} {}\n", stamp, printable_line(text));
  return Json::object({{"time", stamp}, {"event", printable_line(text)}}).dump(-1) + "\n";
}

}  // namespace

void set_event_form(EventForm form) {
  event_form = form;
}

void say_event(std::string_view text) noexcept {
  try {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char stamp[32];
    std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &parts);
    // In one piece, so that lines of several threads do not mix.
    std::fputs(event_line(stamp, text).c_str(), stderr);
  } catch (const std::exception&) {
    // Without memory nothing is said.
  }
}

}  // namespace trainyard::serve
