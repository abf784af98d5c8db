// The answers to all questions of a report, asked at once: compiling a jq program costs more than
// running it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace trainyard::lab {

// A program met a value that the data do not have: a training that diverged has no loss, a fit
// that failed no error. The block that asked says nothing then; the rest of the report stands.
class AbsentValue : public Error {
 public:
  using Error::Error;
};

class Answers {
 public:
  // `report` is the report of a lab file, as it was read; `functions` are those of the lab. `data`
  // must outlive this.
  Answers(const Json& report, const Json& data, std::string_view functions);

  // Of one program, which is asked alone if the report does not have it. Throws Error with `where`
  // if it fails, AbsentValue if that is for lack of data.
  Json one(std::string_view program, const std::string& where) const;
  // As fill_in(); a program without a result is an AbsentValue.
  std::string filled(std::string_view text, const std::string& where) const;

  const Json& data() const { return data_; }

 private:
  Json found(std::string_view program, const std::string& where) const;

  const Json& data_;
  std::string functions_;
  // [result], [] of a program that gives none, or the text of its error.
  std::map<std::string, Json, std::less<>> known_;
};

}  // namespace trainyard::lab
