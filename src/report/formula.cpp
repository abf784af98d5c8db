#include "report/formula.h"

#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/error.h"
#include "report/html.h"

namespace trainyard::report {

using Row = std::vector<std::shared_ptr<const Formula::Part>>;

struct Formula::Part {
  enum Kind : uint8_t {
    kNumber,
    kLetter,
    kWord,
    kOperator,
    kRelation,
    kOpen,
    kClose,
    kFraction,
    kRoot,
    kScripts
  };

  Kind kind = kLetter;
  std::string text = {};   // as people read it
  std::string latex = {};  // of letters and operators that have a name
  Row first = {};          // numerator, radicand, base
  Row second = {};         // denominator, below the base
  Row third = {};          // above the base
};

namespace {

using Part = Formula::Part;

struct Named {
  std::string_view command;
  std::string_view text;
  Part::Kind kind;
};

constexpr std::array<Named, 31> kNamed = {{
    {"alpha", "α", Part::kLetter},    {"beta", "β", Part::kLetter},
    {"gamma", "γ", Part::kLetter},    {"delta", "δ", Part::kLetter},
    {"Delta", "Δ", Part::kLetter},    {"epsilon", "ε", Part::kLetter},
    {"eta", "η", Part::kLetter},      {"lambda", "λ", Part::kLetter},
    {"mu", "μ", Part::kLetter},       {"sigma", "σ", Part::kLetter},
    {"tau", "τ", Part::kLetter},      {"theta", "θ", Part::kLetter},
    {"sum", "Σ", Part::kLetter},      {"max", "max", Part::kWord},
    {"min", "min", Part::kWord},      {"log", "log", Part::kWord},
    {"cdot", "·", Part::kOperator},   {"times", "×", Part::kOperator},
    {"cap", "∩", Part::kOperator},    {"cup", "∪", Part::kOperator},
    {"le", "≤", Part::kRelation},     {"ge", "≥", Part::kRelation},
    {"approx", "≈", Part::kRelation}, {"leftarrow", "←", Part::kRelation},
    {"lfloor", "⌊", Part::kOpen},     {"rfloor", "⌋", Part::kClose},
    {"ldots", "…", Part::kLetter},    {",", " ", Part::kWord},
    {"quad", "   ", Part::kWord},     {"%", "%", Part::kLetter},
    {"infty", "∞", Part::kLetter},
}};

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  Row all() {
    Row row = until('\0');
    if (at_ < source_.size()) fail("a brace is closed that was not opened");
    return row;
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw_error("formula '{}', character {}: {}", source_, at_ + 1, why);
  }

  char peek() const { return at_ < source_.size() ? source_[at_] : '\0'; }

  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }

  // Up to `end`, which is not taken.
  Row until(char end) {
    Row row;
    for (skip_spaces(); at_ < source_.size() && peek() != '}'; skip_spaces()) {
      if (peek() == '_' || peek() == '^') {
        if (row.empty()) fail("nothing stands before it");
        row.back() = scripts(row.back());
      } else if (peek() == '{') {
        const Row group = braces();
        row.insert(row.end(), group.begin(), group.end());
      } else if (auto part = one()) {
        row.push_back(std::move(part));
      }
    }
    if (end == '}' && peek() != '}') fail("a brace is not closed");
    return row;
  }

  Row braces() {
    skip_spaces();
    if (peek() != '{') fail("expected {");
    ++at_;
    Row row = until('}');
    ++at_;
    return row;
  }

  std::shared_ptr<const Part> scripts(const std::shared_ptr<const Part>& base) {
    Part part{.kind = Part::kScripts, .first = {base}};
    if (base->kind == Part::kScripts) part = *base;
    Row& place = source_[at_++] == '_' ? part.second : part.third;
    skip_spaces();
    if (!place.empty()) fail("a second one of the same kind");
    if (peek() == '{') {
      place = braces();
    } else if (auto single = one()) {
      place.push_back(std::move(single));
    }
    return std::make_shared<const Part>(std::move(part));
  }

  // Null for what has no look of its own.
  std::shared_ptr<const Part> one() {
    const char c = peek();
    Part part;
    if (c == '\\') {
      ++at_;
      return command();
    }
    if (is_digit(c)) {
      part = {.kind = Part::kNumber, .text = number()};
    } else if (is_letter(c)) {
      part.text = source_.substr(at_++, 1);
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      part.text = character();
    } else {
      ++at_;
      part.text = std::string(1, c);
      const std::string_view relations = "=<>";
      const std::string_view operators = "+-*/,;:";
      part.kind = relations.find(c) != std::string_view::npos   ? Part::kRelation
                  : operators.find(c) != std::string_view::npos ? Part::kOperator
                  : c == '(' || c == '['                        ? Part::kOpen
                  : c == ')' || c == ']'                        ? Part::kClose
                                                                : Part::kLetter;
    }
    return std::make_shared<const Part>(std::move(part));
  }

  // 12, 1.5, 1,234,567, 1.2e-05
  std::string number() {
    const size_t begin = at_;
    const auto digit_at = [&](size_t i) { return i < source_.size() && is_digit(source_[i]); };
    while (is_digit(peek()) || (peek() == '.' && digit_at(at_ + 1)) ||
           (peek() == ',' && digit_at(at_ + 1) && digit_at(at_ + 2) && digit_at(at_ + 3))) {
      ++at_;
    }
    if (peek() == 'e' && (digit_at(at_ + 1) || digit_at(at_ + 2))) {
      at_ += 2;
      while (is_digit(peek())) ++at_;
    }
    return std::string(source_.substr(begin, at_ - begin));
  }

  // One character of several bytes.
  std::string character() {
    const size_t begin = at_++;
    while (at_ < source_.size() && (static_cast<unsigned char>(source_[at_]) & 0xC0U) == 0x80U) {
      ++at_;
    }
    return std::string(source_.substr(begin, at_ - begin));
  }

  std::shared_ptr<const Part> command() {
    const size_t begin = at_;
    while (is_letter(peek())) ++at_;
    if (at_ == begin && at_ < source_.size()) ++at_;
    const std::string_view name = source_.substr(begin, at_ - begin);
    if (name == "left" || name == "right") return nullptr;
    Part part;
    if (name == "frac") {
      part.kind = Part::kFraction;
      part.first = braces();
      part.second = braces();
    } else if (name == "sqrt") {
      part.kind = Part::kRoot;
      part.first = braces();
    } else if (name == "text") {
      part = {.kind = Part::kWord, .text = words()};
    } else {
      for (const Named& named : kNamed) {
        if (named.command == name) {
          part = {.kind = named.kind,
                  .text = std::string(named.text),
                  .latex = fmt::format("\\{}", name)};
          return std::make_shared<const Part>(std::move(part));
        }
      }
      fail(fmt::format("\\{} is not known", name));
    }
    return std::make_shared<const Part>(std::move(part));
  }

  // As they stand, to the closing brace.
  std::string words() {
    if (peek() != '{') fail("expected {");
    const size_t end = source_.find('}', at_);
    if (end == std::string_view::npos) fail("a brace is not closed");
    std::string text(source_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }

  std::string_view source_;
  size_t at_ = 0;
};

// Whether a sign stands for the number after it, not between two things.
bool is_sign(const Row& row, size_t i) {
  if (row[i]->text != "-" && row[i]->text != "+") return false;
  if (i == 0) return true;
  const Part::Kind before = row[i - 1]->kind;
  return before == Part::kOperator || before == Part::kRelation || before == Part::kOpen;
}

std::string row_text(const Row& row);

// Whether a row needs parentheses as a part of another.
bool is_compound(const Row& row) {
  int depth = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const Part::Kind kind = row[i]->kind;
    depth += kind == Part::kOpen ? 1 : kind == Part::kClose ? -1 : 0;
    if (depth > 0) continue;
    if (kind == Part::kFraction || kind == Part::kRelation) return true;
    if (kind == Part::kOperator && !is_sign(row, i)) return true;
  }
  return false;
}

// Names and units keep a distance from what stands before them.
bool is_word(const Part& part) {
  if (part.kind == Part::kScripts) return is_word(*part.first[0]);
  return part.kind == Part::kWord || part.text == "%";
}

std::string wrapped_text(const Row& row) {
  return is_compound(row) ? "(" + row_text(row) + ")" : row_text(row);
}

std::string part_text(const Part& part) {
  switch (part.kind) {
    case Part::kFraction:
      return wrapped_text(part.first) + " / " + wrapped_text(part.second);
    case Part::kRoot:
      return "√(" + row_text(part.first) + ")";
    case Part::kScripts: {
      std::string out = row_text(part.first);
      if (!part.second.empty()) out += "_" + wrapped_text(part.second);
      if (!part.third.empty()) out += "^" + wrapped_text(part.third);
      return out;
    }
    default:
      return part.text;
  }
}

std::string row_text(const Row& row) {
  std::string out;
  const auto separate = [&] {
    if (!out.empty() && !out.ends_with(' ')) out += ' ';
  };
  for (size_t i = 0; i < row.size(); ++i) {
    const Part& part = *row[i];
    const std::string text = part_text(part);
    const bool between =
        part.kind == Part::kRelation || (part.kind == Part::kOperator && !is_sign(row, i));
    const bool comma = part.text == "," || part.text == ";" || part.text == ":";
    const bool wordy = is_word(part) || part.kind == Part::kFraction;
    if (between && !comma) separate();
    // 2 ms, not 2ms; and not max (, which names what follows.
    if (wordy && i > 0 && row[i - 1]->kind != Part::kOpen) separate();
    if (i > 0 && is_word(*row[i - 1]) && part.kind != Part::kOpen && part.kind != Part::kClose &&
        !comma) {
      separate();
    }
    out += out.ends_with(' ') && text.starts_with(' ') ? text.substr(1) : text;
    if (between) separate();
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// 1.2e-05 as 1.2 and -5.
std::pair<std::string, std::string> number_parts(const std::string& number) {
  const size_t e = number.find('e');
  if (e == std::string::npos) return {number, ""};
  return {number.substr(0, e), std::to_string(std::stoi(number.substr(e + 1)))};
}

// Whether there is a thin space between part i and the one before: 2 ms, 91 %.
bool has_thin_space(const Row& row, size_t i) {
  return i > 0 && row[i - 1]->kind == Part::kNumber && is_word(*row[i]) &&
         (row[i]->latex.empty() || row[i]->text == "%");
}

std::string row_latex(const Row& row);

// Both of LaTeX's readers in notebooks take \_ in a formula, and neither in \text.
std::string text_latex(const std::string& words) {
  std::string out = "\\text{";
  for (const char c : words) {
    if (c == '_') {
      out += "}\\_\\text{";
    } else if (c == '%' || c == '#' || c == '&' || c == '$') {
      out += fmt::format("}}\\{}\\text{{", c);
    } else {
      out += c;
    }
  }
  return out + "}";
}

std::string part_latex(const Part& part) {
  switch (part.kind) {
    case Part::kFraction:
      return fmt::format("\\frac{{{}}}{{{}}}", row_latex(part.first), row_latex(part.second));
    case Part::kRoot:
      return fmt::format("\\sqrt{{{}}}", row_latex(part.first));
    case Part::kScripts: {
      std::string out = row_latex(part.first);
      if (!part.second.empty()) out += "_{" + row_latex(part.second) + "}";
      if (!part.third.empty()) out += "^{" + row_latex(part.third) + "}";
      return out;
    }
    case Part::kNumber: {
      // A comma in a formula has a space after it, unless it is a group.
      const auto [digits, exponent] = number_parts(part.text);
      std::string out;
      for (const char c : digits) out += c == ',' ? std::string("{,}") : std::string(1, c);
      return exponent.empty() ? out : fmt::format("{} \\times 10^{{{}}}", out, exponent);
    }
    case Part::kWord:
      return part.latex.empty() ? text_latex(part.text) : part.latex;
    default:
      if (!part.latex.empty()) return part.latex;
      return part.text == "%" ? "\\%" : part.text;
  }
}

std::string row_latex(const Row& row) {
  std::string out;
  for (size_t i = 0; i < row.size(); ++i) {
    if (has_thin_space(row, i)) out += "\\,";
    out += part_latex(*row[i]);
    // A command ends where a letter does not follow.
    if (!row[i]->latex.empty() && is_letter(row[i]->latex.back())) out += ' ';
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string row_mathml(const Row& row);

std::string part_mathml(const Part& part) {
  const auto element = [](std::string_view name, const std::string& inside) {
    return fmt::format("<{0}>{1}</{0}>", name, inside);
  };
  switch (part.kind) {
    case Part::kFraction:
      return element("mfrac", row_mathml(part.first) + row_mathml(part.second));
    case Part::kRoot:
      return element("msqrt", row_mathml(part.first));
    case Part::kScripts: {
      const std::string base = row_mathml(part.first);
      if (part.third.empty()) return element("msub", base + row_mathml(part.second));
      if (part.second.empty()) return element("msup", base + row_mathml(part.third));
      return element("msubsup", base + row_mathml(part.second) + row_mathml(part.third));
    }
    case Part::kNumber: {
      const auto [digits, exponent] = number_parts(part.text);
      std::string number = element("mn", digits);
      if (exponent.empty()) return number;
      return number + "<mo>×</mo><msup><mn>10</mn>" + element("mn", exponent) + "</msup>";
    }
    case Part::kLetter:
      return element("mi", html_escaped(part.text));
    case Part::kWord:
      return part.text.find_first_not_of(' ') == std::string::npos
                 ? "<mspace width=\"0.4em\"/>"
                 : element("mtext", html_escaped(part.text));
    default:
      return element("mo", html_escaped(part.text == "-" ? "−" : part.text));
  }
}

// Whether a fraction stands between the parenthesis at `i` and its counterpart.
bool encloses_fraction(const Row& row, size_t i) {
  const bool opens = row[i]->kind == Part::kOpen;
  int depth = 0;
  // Counting down, the index passes below zero to the largest one.
  for (size_t at = i; at < row.size(); at += opens ? 1 : size_t(-1)) {
    if (row[at]->kind == Part::kFraction) return true;
    depth += row[at]->kind == Part::kOpen ? 1 : row[at]->kind == Part::kClose ? -1 : 0;
    if (depth == 0) return false;
  }
  return false;
}

// Parentheses are as high as what they enclose: those of f(x) do not grow with a fraction beside
// them.
std::string operator_mathml(const Row& row, size_t i) {
  const bool parenthesis = row[i]->kind == Part::kOpen || row[i]->kind == Part::kClose;
  if (parenthesis && !encloses_fraction(row, i)) {
    return "<mo stretchy=\"false\">" + html_escaped(row[i]->text) + "</mo>";
  }
  // The sign of a number has no space around it, which an operator between two things has.
  if (is_sign(row, i)) {
    return fmt::format("<mo form=\"prefix\">{}</mo>", row[i]->text == "-" ? "−" : "+");
  }
  return part_mathml(*row[i]);
}

std::string row_mathml(const Row& row) {
  if (row.size() == 1 && row[0]->kind != Part::kNumber) return part_mathml(*row[0]);
  std::string out;
  for (size_t i = 0; i < row.size(); ++i) {
    if (has_thin_space(row, i)) out += "<mspace width=\"0.2em\"/>";
    out += operator_mathml(row, i);
  }
  return "<mrow>" + out + "</mrow>";
}

}  // namespace

Formula::Formula(std::string_view source) : parts_(Reader(source).all()) {}

std::string Formula::latex() const {
  return row_latex(parts_);
}

std::string Formula::mathml() const {
  return "<math display=\"block\">" + row_mathml(parts_) + "</math>";
}

std::string Formula::text() const {
  return row_text(parts_);
}

}  // namespace trainyard::report
