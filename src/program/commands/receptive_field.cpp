// `trainyard receptive-field`: what a stack of filters sees.
#include <memory>

#include "analysis/view.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

struct ReceptiveFieldOptions {
  std::vector<int64_t> kernels;
  std::vector<int64_t> strides;
  report::Format format = report::Format::kText;
};

Runner setup_receptive_field(Args& args) {
  auto options = std::make_shared<ReceptiveFieldOptions>();
  args.positionals("KERNEL", options->kernels, "filter sizes, starting at the input");
  args.option("--strides", options->strides, "strides, one for each filter (default: 1)");
  args.format(options->format);
  return [options](std::ostream& out) {
    const auto layers = analysis::stack_fields(options->kernels, options->strides);
    out << report::render(report::stack_document(layers), options->format);
    return 0;
  };
}

}  // namespace

extern const Command kReceptiveField = {
    .name = "receptive-field",
    .group = "Analyze",
    .summary = "The receptive field of a stack of filters, and the one filter it equals",
    .examples =
        "  trainyard receptive-field 5 5 5\n"
        "  trainyard receptive-field 7 3 3 --strides 2,2,1 --json\n",
    .setup = setup_receptive_field,
};

}  // namespace trainyard::cli
