// Texts with queries in them.
#include <fmt/format.h>

#include "base/error.h"
#include "program/lab/query.h"

namespace trainyard::lab {
namespace {

// Reads over a jq program as far as its braces, parentheses and strings go.
class ProgramScanner {
 public:
  explicit ProgramScanner(std::string_view text) : text_(text) {}

  // Where the "}}" of the program is that begins at `at`; npos: there is none.
  size_t end(size_t at) {
    at_ = at;
    size_t objects = 0;
    for (; at_ < text_.size(); ++at_) {
      switch (text_[at_]) {
        case '"':
          skip_string();
          break;
        case '#':
          at_ = text_.find('\n', at_);
          break;
        case '{':
          ++objects;
          break;
        case '}':
          if (objects == 0 && text_.substr(at_).starts_with("}}")) return at_;
          if (objects > 0) --objects;
          break;
        default:
          break;
      }
      if (at_ == std::string_view::npos) break;
    }
    return std::string_view::npos;
  }

 private:
  // From its first quote to its last; "\(…)" inside is a program again.
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') continue;
      ++at_;
      if (at_ < text_.size() && text_[at_] == '(') skip_parentheses();
    }
  }

  void skip_parentheses() {
    size_t open = 1;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') skip_string();
      if (at_ >= text_.size()) return;
      if (text_[at_] == '(') ++open;
      if (text_[at_] == ')' && --open == 0) return;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

void for_each_part(std::string_view text, const std::string& where,
                   const std::function<void(std::string_view, bool)>& use) {
  while (!text.empty()) {
    const size_t open = text.find("{{");
    if (open != 0) use(text.substr(0, open), false);
    if (open == std::string_view::npos) return;
    const size_t close = ProgramScanner(text).end(open + 2);
    TY_REQUIRE(close != std::string_view::npos, "{}: '{{{{' without '}}}}'", where);
    use(text.substr(open + 2, close - open - 2), true);
    text.remove_prefix(close + 2);
  }
}

std::string fill_in(std::string_view text, const Json& input, const std::string& where) {
  return fill_in(text, where, [&](std::string_view program) { return ask(program, input, where); });
}

std::string fill_in(std::string_view text, const std::string& where,
                    const std::function<Json(std::string_view)>& answer) {
  std::string out;
  for_each_part(text, where, [&](std::string_view part, bool is_program) {
    if (!is_program) {
      out += part;
      return;
    }
    const Json value = answer(part);
    if (value.is_string()) {
      out += value.as_string();
    } else if (value.is_number()) {
      out += fmt::format("{:.6g}", value.as_number());
    } else {
      out += value.dump(-1);
    }
  });
  return out;
}

}  // namespace trainyard::lab
