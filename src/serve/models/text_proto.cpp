// The text form of protobuf messages, as config.pbtxt has it.
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "serve/models/model_config.h"

namespace trainyard::serve {
namespace {

// Accepts what protobuf's text format does in config files: '#' comments, optional commas and
// semicolons, both kinds of brackets, strings in several pieces. It knows no schema, so a field
// that is repeated turns into a list when it comes a second time.
class TextProto {
 public:
  TextProto(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  Json read() {
    Json message = Json::object();
    while (!at_end()) read_field(message, 0);
    return message;
  }

 private:
  static constexpr int kMostDepth = 32;

  [[noreturn]] void fail(std::string_view problem) const {
    size_t line = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) line += text_[i] == '\n' ? 1 : 0;
    throw_error("{}:{}: {}", origin_, line, problem);
  }

  void skip_space() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else {
        return;
      }
    }
  }

  bool at_end() {
    skip_space();
    return at_ >= text_.size();
  }

  // Not the end; does not take the character.
  char next() {
    if (at_end()) fail("the text ends too early");
    return text_[at_];
  }

  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string word() {
    next();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
            std::string_view("_.+-").find(text_[at_]) != std::string_view::npos)) {
      ++at_;
    }
    if (at_ == begin) fail(fmt::format("expected a name or a value, found '{}'", text_[at_]));
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    std::string out;
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) {
      // A backslash stands for the character after it; codes such as \n are not known.
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_++];
    }
    if (at_ >= text_.size()) fail("a quote that does not end");
    ++at_;
    return out;
  }

  Json scalar() {
    if (next() == '"' || next() == '\'') {
      std::string text;
      while (!at_end() && (text_[at_] == '"' || text_[at_] == '\'')) text += quoted();
      return text;
    }
    const std::string text = word();
    if (text == "true" || text == "false") return text == "true";
    int64_t whole = 0;
    const char* const end = text.data() + text.size();
    if (const auto r = std::from_chars(text.data(), end, whole);
        r.ec == std::errc() && r.ptr == end) {
      return whole;
    }
    double number = 0;
    if (const auto r = std::from_chars(text.data(), end, number);
        r.ec == std::errc() && r.ptr == end) {
      return number;
    }
    return text;  // a word of an enumeration
  }

  // The depth is bounded because each level is a level of this program's stack.
  Json message(char close, int depth) {
    if (depth > kMostDepth) fail("nested too deep");
    Json out = Json::object();
    while (!take(close)) read_field(out, depth);
    return out;
  }

  Json value(int depth) {
    if (take('{')) return message('}', depth + 1);
    if (take('<')) return message('>', depth + 1);
    return scalar();
  }

  void read_field(Json& out, int depth) {
    const std::string name = word();
    const bool colon = take(':');
    Json& field = out[name];
    // `name: [a, b]` is short for a repeated field, which may also be written in both ways at once.
    if (take('[')) {
      if (field.is_null()) field = Json::array();
      if (!field.is_array()) field = Json(Json::Array{field});
      while (!take(']')) {
        field.push_back(value(depth));
        take(',');
      }
    } else {
      if (!colon && next() != '{' && next() != '<')
        fail(fmt::format("expected ':' after {}", name));
      Json item = value(depth);
      if (field.is_null()) {
        field = std::move(item);
      } else {
        if (!field.is_array()) field = Json(Json::Array{field});
        field.push_back(std::move(item));
      }
    }
    if (!take(',')) take(';');
  }

  std::string_view text_;
  std::string_view origin_;
  size_t at_ = 0;
};

}  // namespace

Json parse_text_proto(std::string_view text, std::string_view origin) {
  return TextProto(text, origin).read();
}

}  // namespace trainyard::serve
