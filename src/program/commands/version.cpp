// `trainyard version`: what this build is.
#include "program/version.h"

#include <memory>

#include "base/machine_facts.h"
#include "base/text.h"
#include "program/build_facts.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

std::string_view or_unknown(std::string_view text) {
  return text.empty() ? "unknown" : text;
}

report::Table library_table(const BuildFacts& facts) {
  report::Table table({{"built with", report::Align::kLeft},
                       {"version", report::Align::kLeft},
                       {"linked", report::Align::kLeft}});
  for (const BuiltWith& each : facts.libraries) {
    table.add_row({each.name, or_unknown(each.version), each.linked});
  }
  return table;
}

report::Table loaded_table(const std::vector<LoadedLibrary>& libraries) {
  report::Table table({{"loaded now", report::Align::kLeft}, {"file", report::Align::kLeft}});
  for (const LoadedLibrary& each : libraries) table.add_row({each.name, each.file});
  return table;
}

Json libraries_data(const BuildFacts& facts) {
  Json rows = Json::array();
  for (const BuiltWith& each : facts.libraries) {
    rows.push_back(Json::object(
        {{"name", each.name}, {"version", or_unknown(each.version)}, {"linked", each.linked}}));
  }
  return rows;
}

Json loaded_data(const std::vector<LoadedLibrary>& libraries) {
  Json rows = Json::array();
  for (const LoadedLibrary& each : libraries) {
    rows.push_back(Json::object({{"name", each.name}, {"file", each.file}}));
  }
  return rows;
}

void add_details(report::Document& document) {
  const BuildFacts& facts = build_facts();
  const Json machine = machine_facts();
  const std::vector<std::string> features = processor_features();
  const std::vector<LoadedLibrary> loaded = loaded_libraries();
  report::Table build({{"build", report::Align::kLeft}, {"", report::Align::kLeft}});
  const auto fact = [&](const char* name, std::string_view text) {
    build.add_row({name, text});
    document.data[name] = text;
  };
  fact("commit", or_unknown(facts.commit));
  fact("compiler", facts.compiler);
  fact("target", facts.target);
  fact("flags", facts.flags);
  fact("options", facts.options);
  fact("processor", machine.at("processor").as_string());
  fact("system", machine.at("system").as_string());
  build.add_row({"features", join(features, " ")});
  document.data["features"] = Json::array_of(features);
  document.data["libraries"] = libraries_data(facts);
  document.data["loaded"] = loaded_data(loaded);
  document.blocks.emplace_back(std::move(build));
  document.blocks.emplace_back(library_table(facts));
  document.blocks.emplace_back(loaded_table(loaded));
}

Runner setup_version(Args& args) {
  auto format = std::make_shared<report::Format>(report::Format::kText);
  auto verbose = std::make_shared<bool>(false);
  args.flag("--verbose", *verbose,
            "Also print commit, compiler, build options, library versions and processor features, "
            "as bug reports need");
  args.format(*format);
  return [format, verbose](std::ostream& out) {
    report::Document document;
    document.blocks.emplace_back(report::Paragraph{"trainyard " + std::string(kVersionText)});
    document.data = Json::object({{"version", kVersionText}});
    if (*verbose) add_details(document);
    out << report::render(document, *format);
    return 0;
  };
}

}  // namespace

extern const Command kVersion = {
    .name = "version",
    .group = "About",
    .summary = "Print the version and build information",
    .examples = "  trainyard version --verbose\n  trainyard version --json\n",
    .setup = setup_version,
};

}  // namespace trainyard::cli
