// What happens to the server that nobody has asked for, said on stderr.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard::serve {

enum class EventForm : uint8_t { kText, kJson };
// Of all events from now on; set before there are threads.
void set_event_form(EventForm form);

// One line with the time (UTC), made safe to show: the time and the text, or both as members of an
// object. Thread-safe; never throws.
void say_event(std::string_view text) noexcept;

}  // namespace trainyard::serve
