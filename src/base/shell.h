// Command lines as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

// As a shell reads it back: in single quotes where it has to be.
std::string shell_word(const std::string& word);

// What a shell would make of a line with quotes and backslashes; nothing is expanded. Throws Error
// for a quote that does not end.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace trainyard
