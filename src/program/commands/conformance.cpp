// `trainyard conformance DIR`: runs the ONNX backend test data.
#include "studies/conformance.h"

#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

using measure::CaseResult;
using measure::Verdict;

struct ConformanceFlags {
  std::string folder;
  std::string filter;
  bool reference = false;
  report::Format format = report::Format::kText;
};

Json to_json_conformance(const std::vector<CaseResult>& results,
                         const std::map<Verdict, int64_t>& counts) {
  Json cases = Json::array();
  for (const CaseResult& result : results) {
    cases.push_back(Json::object({{"name", result.name},
                                  {"verdict", measure::verdict_name(result.verdict)},
                                  {"reason", result.reason},
                                  {"operators", Json::array_of(result.operators)}}));
  }
  const auto count = [&](Verdict verdict) {
    const auto found = counts.find(verdict);
    return found == counts.end() ? int64_t{0} : found->second;
  };
  return Json::object({{"passed", count(Verdict::kPassed)},
                       {"failed", count(Verdict::kFailed)},
                       {"unsupported", count(Verdict::kUnsupported)},
                       {"relative_tolerance", measure::kRelativeTolerance},
                       {"absolute_tolerance", measure::kAbsoluteTolerance},
                       {"cases", std::move(cases)}});
}

int conformance_command(const ConformanceFlags& flags, std::ostream& out) {
  const std::vector<CaseResult> results = measure::run_conformance(
      flags.folder, {.reference_only = flags.reference, .filter = flags.filter, .threads = 0});
  std::map<Verdict, int64_t> counts;
  for (const CaseResult& result : results) ++counts[result.verdict];

  report::Document document;
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "{} cases: {} passed, {} failed, {} unsupported (tolerance {} + {} x |expected|)",
      results.size(), counts[Verdict::kPassed], counts[Verdict::kFailed],
      counts[Verdict::kUnsupported], measure::kAbsoluteTolerance, measure::kRelativeTolerance)});
  for (const Verdict verdict : {Verdict::kFailed, Verdict::kUnsupported}) {
    if (counts[verdict] == 0) continue;
    document.blocks.emplace_back(report::Heading{std::string(measure::verdict_name(verdict))});
    report::Table table({{"case", report::Align::kLeft},
                         {"operators", report::Align::kLeft, 40},
                         {"reason", report::Align::kLeft, 120}});
    for (const CaseResult& result : results) {
      if (result.verdict != verdict) continue;
      table.add_row({result.name, join(result.operators, " "), result.reason});
    }
    document.blocks.emplace_back(std::move(table));
  }
  document.data = to_json_conformance(results, counts);
  out << report::render(document, flags.format);
  return counts[Verdict::kFailed] == 0 ? 0 : 1;
}

Runner setup_conformance(Args& args) {
  auto flags = std::make_shared<ConformanceFlags>();
  args.positional("DIR", flags->folder, "folder with test cases (model.onnx, test_data_set_*)");
  args.option("--filter", flags->filter, "run only cases whose name contains this");
  args.flag("--reference", flags->reference, "reference kernels only, no fusion");
  args.format(flags->format);
  return [flags](std::ostream& out) { return conformance_command(*flags, out); };
}

}  // namespace

extern const Command kConformance = {
    .name = "conformance",
    .group = "Run",
    .summary = "Run the ONNX backend test data and say what passes",
    .examples =
        "  trainyard conformance /usr/share/libonnx-testdata/data\n"
        "  trainyard conformance DIR --filter conv --reference\n",
    .setup = setup_conformance,
};

}  // namespace trainyard::cli
