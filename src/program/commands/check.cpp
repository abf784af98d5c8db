// `trainyard check`: is an ONNX file right?
#include "models/onnx/check.h"

#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "program/command.h"
#include "program/model_argument.h"
#include "report/fields.h"

namespace trainyard::cli {
namespace {

constexpr int kRight = 0;
constexpr int kWrong = 2;

struct CheckOptions {
  std::string file;
  std::optional<int64_t> batch;
  std::vector<std::string> shapes;
  report::Format format = report::Format::kText;
};

report::Fields<onnx_io::Finding> finding_fields() {
  using onnx_io::Finding;
  using report::Align;
  return {{"source", {"found by", Align::kLeft}, &Finding::source},
          {"node", {"node", Align::kLeft}, &Finding::node},
          {"message", {"finding", Align::kLeft}, &Finding::message}};
}

report::Document document_of_check(const std::string& file, const onnx_io::CheckReport& report) {
  report::Document document;
  const bool ok = report.findings.empty();
  const std::string size = fmt::format(
      "IR version {}, opset {}, {} nodes, {} initializers", report.ir_version, report.opset,
      with_commas(report.num_nodes), with_commas(report.num_initializers));
  if (ok) {
    document.blocks.emplace_back(report::Paragraph{fmt::format("{}: ok ({})", file, size)});
  } else {
    document.blocks.emplace_back(
        report::Paragraph{fmt::format("{}: {} findings", file, report.findings.size())});
    document.blocks.emplace_back(table_of(finding_fields(), report.findings));
  }
  if (!report.judged && report.opset > onnx_io::kJudgedOpset) {
    document.blocks.emplace_back(report::Paragraph{fmt::format(
        "Only Trainyard's own verifier has looked at it: the ONNX library here knows opsets to {}, "
        "this file is of {}.",
        onnx_io::kJudgedOpset, report.opset)});
  }
  if (!report.unchecked.empty()) {
    document.blocks.emplace_back(report::Paragraph{fmt::format(
        "Shapes were not checked: none of a few lengths fits its open dimensions (the first: {}). "
        "Give some with --shape.",
        report.unchecked)});
  }
  document.data = Json::object({{"file", file},
                                {"ok", ok},
                                {"ir_version", report.ir_version},
                                {"opset", report.opset},
                                {"onnx_checker_asked", report.judged},
                                {"shapes_checked", report.unchecked.empty()},
                                {"nodes", report.num_nodes},
                                {"initializers", report.num_initializers},
                                {"findings", objects_of(finding_fields(), report.findings)}});
  return document;
}

int check_command(const CheckOptions& options, std::ostream& out) {
  onnx_io::ImportOptions import;
  import.batch = options.batch;
  for (const std::string& shape : options.shapes) import.shapes.insert(parse_shape(shape));
  const onnx_io::CheckReport report = onnx_io::check_model(options.file, import);
  const std::string text = report::render(document_of_check(options.file, report), options.format);
  // For people findings are errors; programs read them where they read everything.
  if (!report.findings.empty() && options.format == report::Format::kText) throw Error(text);
  out << text;
  return report.findings.empty() ? kRight : kWrong;
}

Runner setup_check(Args& args) {
  auto options = std::make_shared<CheckOptions>();
  args.positional("FILE", options->file, "the .onnx file");
  args.option("--batch", options->batch, "size of an open first dimension (default: 1)");
  args.repeated("--shape", options->shapes, "shape of an input, as NAME=1,3,224,224");
  args.format(options->format);
  return [options](std::ostream& out) { return check_command(*options, out); };
}

}  // namespace

extern const Command kCheck = {
    .name = "check",
    .group = "ONNX",
    .summary = "Check an ONNX file: the ONNX checker, strict shape inference, our own verifier",
    .examples =
        "  trainyard check net.onnx\n"
        "  trainyard check net.onnx --shape image=1,3,480,640 --json\n",
    .setup = setup_check,
};

}  // namespace trainyard::cli
