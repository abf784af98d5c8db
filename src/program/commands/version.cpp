// `trainyard version`: what this build is.
#include "program/version.h"

#include <memory>

#include "program/command.h"

namespace trainyard::cli {
namespace {

Runner setup_version(Args& args) {
  auto format = std::make_shared<report::Format>(report::Format::kText);
  args.format(*format);
  return [format](std::ostream& out) {
    report::Document document;
    document.blocks.emplace_back(report::Paragraph{"trainyard " + std::string(kVersionText)});
    document.data = Json::object({{"version", kVersionText}});
    out << report::render(document, *format);
    return 0;
  };
}

}  // namespace

extern const Command kVersion = {
    .name = "version",
    .group = "About",
    .summary = "Print the version",
    .examples = "  trainyard version --json\n",
    .setup = setup_version,
};

}  // namespace trainyard::cli
