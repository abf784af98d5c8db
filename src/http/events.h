// What happens to the server that nobody has asked for, said on stderr.
#pragma once

#include <string_view>

namespace trainyard::serve {

// One line with the time (UTC), made safe to show. Thread-safe; never throws.
void say_event(std::string_view text) noexcept;

}  // namespace trainyard::serve
