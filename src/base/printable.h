// Text from outside, made safe to show: a name in a file must not move a terminal's cursor.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

// Control characters, marks that turn the direction of writing, and bytes that are not UTF-8 become
// \x1b, \u202e, \xff; line breaks and tabs stay.
std::string printable(std::string_view text);

// The same with line breaks and tabs escaped too (\n, \t), for what must stay on its line.
std::string printable_line(std::string_view text);

// Whether all of it is UTF-8 (RFC 3629).
bool is_utf8(std::string_view text);

// Bytes that are not UTF-8 become \xff, as above; all else stays.
std::string made_utf8(std::string_view text);

}  // namespace trainyard
