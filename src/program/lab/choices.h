// What the user chooses of a lab: its size and single settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "program/lab/lab_file.h"

namespace trainyard::lab {

// kQuick is small, kFull as the lab's settings say, kCourse the configuration that the course asks
// for.
enum class Scale : uint8_t { kFull, kQuick, kCourse };

std::string_view scale_name(Scale scale);
// Throws Error for anything but full, quick and course.
Scale scale_from_name(std::string_view name);

struct Choices {
  Scale scale = Scale::kFull;
  std::vector<std::string> set = {};  // key=value; a value with commas becomes a list
};

// Whether a text is a query: it begins with "=".
bool is_query(const Json& value);

// Settings with the scale and --set applied, an object. Throws Error for unknown keys, and if the
// settings do not satisfy what the lab requires.
Json settings_of(const Lab& lab, const Choices& choices);

// Title and question as they are with these choices: both may ask for settings.
struct Texts {
  std::string title;
  std::string question;
};
Texts texts_of(const Lab& lab, const Choices& choices);
// Of many labs with their usual settings at once, which takes hardly longer than of one.
std::vector<Texts> texts_of(const std::vector<Lab>& labs);

// The rows of the lab's inputs by setting: [] where it is "none". Throws Error with file, line and
// column.
Json inputs_of(const Lab& lab, const Json& settings);

}  // namespace trainyard::lab
