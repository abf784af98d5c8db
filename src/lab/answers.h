// The answers to all questions of a report, asked at once: compiling a jq program costs more than
// running it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trainyard::lab {

class Answers {
 public:
  // `report` is the report of a lab file, as it was read; `data` must outlive this.
  Answers(const Json& report, const Json& data);

  // Of one program, which is asked alone if the report does not have it. Throws Error with `where`
  // if it fails.
  Json one(std::string_view program, const std::string& where) const;
  // As fill_in().
  std::string filled(std::string_view text, const std::string& where) const;

  const Json& data() const { return data_; }

 private:
  const Json& data_;
  std::map<std::string, Json, std::less<>> known_;
};

}  // namespace trainyard::lab
