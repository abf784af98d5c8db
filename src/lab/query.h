// Questions to JSON data, in the language of jq (libjq; query.cpp only).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"

namespace trainyard::lab {

// A compiled jq program. Beside jq's own functions it has those of labs/prelude.jq: fixed(digits),
// percent(digits), seconds_text, …
class Query {
 public:
  // `where` names the program in errors. Throws Error if it does not compile.
  Query(std::string_view program, std::string where);
  ~Query();
  Query(Query&&) noexcept;
  Query& operator=(Query&&) noexcept;

  // The only result. Throws Error if there is none or the program fails on this input.
  Json one(const Json& input) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// `text` with each {{ program }} replaced by its result: text as it is, numbers with six digits.
std::string fill_in(std::string_view text, const Json& input, const std::string& where);
// The same with results from somewhere else.
std::string fill_in(std::string_view text, const std::string& where,
                    const std::function<Json(std::string_view)>& ask);
// Calls `use` with each program of such a text.
void for_each_program(std::string_view text, const std::function<void(std::string_view)>& use);

}  // namespace trainyard::lab
