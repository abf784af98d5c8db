// `trainyard plan`: device, workers and offer under a deadline and a budget.
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cluster/predict/limits.h"
#include "cluster/schedule/loss/stages.h"
#include "cluster/schedule/published.h"
#include "cluster/schedule/view.h"
#include "program/command.h"
#include "program/count_list.h"
#include "program/image_count.h"
#include "program/model_argument.h"

namespace trainyard::cli {
namespace {

struct PlanOptions {
  ModelArgument network;
  std::string data = "imagenet";
  double target = 0;
  std::string curve;
  double epochs = 0;
  std::string deadline;
  double budget = 0;
  std::string devices;
  std::string clouds;
  std::string workers = "1,2,4,8,16,32,64";
  std::string batches = "32,64,128,256";
  int64_t most_batch = 8192;
  std::string link;
  std::string precision = "fp32";
  bool every_batch = false;
  std::vector<std::string> catalogs;
  double error = 0.17;
  int64_t top = 10;
  report::Format format = report::Format::kText;
};

constexpr double kLongestDeadline = 86400e6;  // seconds

// "8h", "90min", "2d", "3600s" or a number of seconds.
double parse_duration(const std::string& text) {
  if (text.empty()) return 0;
  std::string_view unit = text;
  const auto value = take_number<double>(unit);
  const std::vector<std::pair<std::string, double>> units = {
      {"s", 1}, {"", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
  for (const auto& [name, seconds] : units) {
    if (value && unit == name && *value > 0 && *value * seconds <= kLongestDeadline) {
      return *value * seconds;
    }
  }
  throw_error(
      "--deadline '{}': expected a time from now above 0 and at most {:g} days, as 8h, 90min or 2d",
      text, kLongestDeadline / 86400);
}

// Either epochs, or an accuracy and a curve that tells the epochs; both together would contradict
// each other.
void set_epochs(const PlanOptions& options, schedule::PlanQuestion& question) {
  if (options.target == 0) {
    TY_REQUIRE(options.epochs > 0,
               "plan: how long is the training? Give --epochs, or "
               "--target-accuracy with --curve");
    TY_REQUIRE(options.curve.empty(), "--curve needs --target-accuracy: what it is to reach");
    question.epochs = options.epochs;
    question.accuracy_basis = "epochs as given";
    return;
  }
  TY_REQUIRE(options.target > 0 && options.target < 1,
             "--target-accuracy is {:g}, expected a share between 0 and 1", options.target);
  TY_REQUIRE(options.epochs == 0, "--epochs and --target-accuracy both say how long: give one");
  TY_REQUIRE(
      !options.curve.empty(),
      "--target-accuracy needs --curve: a run of this network (or published:NAME, one of {}) "
      "that says after how many epochs it is reached",
      join(schedule::published_curve_names(), ", "));
  const schedule::Curve curve =
      options.curve.starts_with(schedule::kPublished)
          ? schedule::published_curve(options.curve.substr(schedule::kPublished.size()))
          : schedule::read_curve(options.curve);
  TY_REQUIRE(curve.unit == "epoch", "--curve {}: fewer than {} epochs; the curve is by steps",
             curve.name, schedule::kFewestPoints);
  const auto point = schedule::k_of_accuracy(curve, options.target);
  TY_REQUIRE(point, "{} never reaches accuracy {:g}, and what was seen does not say when it would",
             curve.name, options.target);
  question.epochs = point->k;
  question.accuracy_basis =
      fmt::format("{} reaches {:g} after epoch {:g} ({})", curve.name, options.target, point->k,
                  point->measured ? "measured" : "extrapolated");
}

std::vector<std::string> names_in(const std::string& text) {
  return text.empty() ? std::vector<std::string>() : split(text, ',');
}

int plan_command(const PlanOptions& options, std::ostream& out) {
  const predict::Catalog catalog = predict::Catalog::load(options.catalogs);
  predict::Networks networks([&](const std::string& name) { return options.network.load(name); });
  schedule::PlanQuestion question;
  question.model = options.network.text();
  question.images = parse_images(options.data, "--data");
  set_epochs(options, question);
  question.deadline_s = parse_duration(options.deadline);
  question.budget_usd = options.budget;
  question.devices = names_in(options.devices);
  question.clouds = names_in(options.clouds);
  question.workers = parse_counts(options.workers, "--workers");
  question.batches = parse_counts(options.batches, "--batches");
  question.most_batch = options.most_batch;
  question.link = options.link;
  question.precision = predict::precision_from_name(options.precision);
  question.every_batch = options.every_batch;
  question.error = options.error;
  // Before the clock starts, so that building the network is not counted.
  networks.get(question.model);
  const Stopwatch watch;
  const schedule::Plan plan = schedule::make_plan(question, catalog, networks);
  std::cerr << fmt::format("{} configurations in {}\n", with_commas(plan.considered),
                           seconds_text(watch.seconds()));
  out << report::render(report::plan_document(question, plan, static_cast<size_t>(options.top)),
                        options.format);
  return 0;
}

Runner setup_plan(Args& args) {
  auto options = std::make_shared<PlanOptions>();
  options->network.declare_single(args);
  args.option("--data", options->data, "imagenet, cifar10, mnist, … or a number of images");
  args.option("--target-accuracy", options->target, "train until this accuracy, by --curve");
  args.option("--curve", options->curve, "a run directory, CSV file or published:NAME");
  args.option("--epochs", options->epochs, "train for this many epochs",
              between(0, predict::kMostEpochs));
  args.option("--deadline", options->deadline, "time limit, as 8h, 90min or 2d");
  args.option("--budget", options->budget, "cost limit in US dollars", at_least(0));
  args.option("--devices", options->devices, "only these devices, separated by commas");
  args.option("--clouds", options->clouds, "only offers of these clouds, separated by commas");
  args.option("--workers", options->workers, "numbers of devices to try");
  args.option("--batches", options->batches, "images per worker to try");
  args.option("--most-batch", options->most_batch, "largest global batch");
  args.option("--precision", options->precision, "fp64, fp32, tf32 or fp16");
  args.option("--link", options->link,
              "link between hosts instead of the instances' own, to see its effect");
  args.option("--error", options->error,
              "relative error assumed for predicted times (docs/results/validation.md)");
  args.option("--top", options->top, "choices to show, cheapest first", at_least(1));
  args.flag("--every-batch", options->every_batch,
            "list every batch size of an offer, not only the fastest");
  args.repeated("--catalog", options->catalogs,
                "a YAML file that adds to or overrides the catalog");
  args.format(options->format);
  return [options](std::ostream& out) { return plan_command(*options, out); };
}

}  // namespace

extern const Command kPlan = {
    .name = "plan",
    .group = "Plan",
    .summary = "Choose devices, their number and an offer under a deadline and a budget",
    .examples =
        "  trainyard plan resnet50 --epochs 90 --precision fp16 --deadline 8h --budget 500\n"
        "  trainyard plan resnet20-cifar --data cifar10 --target-accuracy 0.91 \\\n"
        "    --curve published:resnet20 --deadline 1h --budget 5\n"
        "  trainyard plan vgg16 --epochs 74 --devices v100,a100 --clouds AWS,GCP\n",
    .setup = setup_plan,
};

}  // namespace trainyard::cli
