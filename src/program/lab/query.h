// Questions to JSON data, in the language of jq (libjq; query.cpp only).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace trainyard::lab {

// The only result of a jq program. Beside jq's own functions it has those of labs/prelude.jq
// (fixed(digits), percent(digits), seconds_text, …) and `functions`, a text of definitions. `where`
// names the program in errors. Throws Error if it does not compile, fails on this input or gives
// nothing, and if it takes more than 1 s of computing, 512 MiB of memory or 16 MiB for its result.
Json ask(std::string_view program, const Json& input, const std::string& where,
         std::string_view functions = {});

// Calls `use` with each part of a text, in order: what stands in {{ }} is a program, the rest is
// text. Braces of objects and in strings of a program do not end it. Throws Error with `where` if
// one has no end.
void for_each_part(std::string_view text, const std::string& where,
                   const std::function<void(std::string_view part, bool is_program)>& use);

// `text` with each {{ program }} replaced by its result: text as it is, numbers with six digits.
std::string fill_in(std::string_view text, const Json& input, const std::string& where);
// The same with results from somewhere else.
std::string fill_in(std::string_view text, const std::string& where,
                    const std::function<Json(std::string_view)>& answer);

}  // namespace trainyard::lab
