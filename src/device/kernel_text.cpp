#include "base/error.h"
#include "device/embedded.h"

namespace trainyard::device {
namespace {

std::string_view text_of_file(const std::string& name) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name == name) return file.text;
  }
  TY_CHECK(false, "no kernels '{}'", name);
  return {};
}

}  // namespace

std::string kernel_text(std::string_view name) {
  std::string text(text_of_file("language.cl"));
  text.append(text_of_file("scalar.cl"));
  return text.append(text_of_file(std::string(name) + ".cl"));
}

}  // namespace trainyard::device
