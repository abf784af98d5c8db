#include "base/error.h"
#include "base/parse_number.h"
#include "engine/device/embedded.h"

namespace trainyard::device {
namespace {

std::string_view text_of_file(const std::string& name) {
  return embedded_text(embedded_files(), name);
}

}  // namespace

std::string kernel_text(std::string_view name) {
  std::string text(text_of_file("language.cl"));
  text.append(text_of_file("scalar.cl"));
  return text.append(text_of_file(std::string(name) + ".cl"));
}

int64_t kernel_constant(std::string_view text, std::string_view name) {
  const std::string_view whole = text_of_file(std::string(text) + ".cl");
  const std::string definition = fmt::format("\n#define {} ", name);
  const size_t at = whole.find(definition);
  TY_CHECK(at != std::string_view::npos, "text/{}.cl defines no {}", text, name);
  std::string_view rest = whole.substr(at + definition.size());
  const auto value = take_number<int64_t>(rest);
  TY_CHECK(value && rest.starts_with('\n'), "{} of text/{}.cl is no whole number", name, text);
  return *value;
}

}  // namespace trainyard::device
