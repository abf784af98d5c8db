// `trainyard optimus`: loss curves, speeds, and the time to accuracy that follows from them.
#include "report/optimus.h"

#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/within.h"
#include "cli/command.h"
#include "cli/count_list.h"
#include "cli/model_argument.h"
#include "predict/limits.h"
#include "predict/predict.h"
#include "schedule/published.h"
#include "schedule/speed/run_speed.h"

namespace trainyard::cli {
namespace {

struct OptimusOptions {
  std::string action;
  std::vector<std::string> files;
  double threshold = 0.01;
  double target = 0;
  bool depths = false;
  std::optional<double> depth;
  std::string form = "sync";
  double batch = 128;
  bool relative = false;
  int64_t next = 3;
  std::string network;
  std::string device = "k80";
  std::string link;
  std::string loss;
  std::string speed;
  std::string servers = "2,4";
  std::string workers = "1..20";
  double epoch_steps = 391;
  double price = 0.9;
  double server_price = 0.1;
  report::Format format = report::Format::kText;
};

// Depth 0: not known.
schedule::DepthCurve load_curve(const std::string& name) {
  if (name.starts_with(schedule::kPublished)) {
    return schedule::published_curve(name.substr(schedule::kPublished.size()));
  }
  return {0, schedule::read_curve(name)};
}

// Convergence is that of the last stage: earlier ones ended when the rate fell.
report::LossReport fit_report(const OptimusOptions& options, schedule::Curve curve) {
  report::LossReport made;
  made.fit = schedule::fit_curve(curve);
  made.threshold = options.threshold;
  made.convergence = schedule::convergence_k(made.fit.stages.back(), options.threshold);
  made.target_accuracy = options.target;
  if (options.target > 0) made.target = schedule::k_of_accuracy(curve, options.target);
  made.curve = std::move(curve);
  return made;
}

// The first stages of curves whose depth is known.
report::DepthReport depth_report(const OptimusOptions& options,
                                 std::span<const schedule::DepthCurve> curves) {
  report::DepthReport made;
  for (const schedule::DepthCurve& one : curves) {
    TY_REQUIRE(one.depth > 0, "--depths: the depth of {} is not known; use published curves",
               one.curve.name);
    const schedule::StageRange first = schedule::find_stages(one.curve).front();
    made.curves.push_back({one.depth, one.curve.part(first.first, first.last)});
  }
  made.model = schedule::fit_depths(made.curves);
  made.errors = schedule::leave_one_depth_out(made.curves);
  made.wanted = options.depth;
  return made;
}

int loss_command(const OptimusOptions& options, std::ostream& out) {
  TY_REQUIRE(!options.files.empty(),
             "optimus loss: no curve; give run directories, CSV files, TensorBoard files or {}NAME",
             schedule::kPublished);
  TY_REQUIRE(options.threshold > 0 && options.threshold < 1,
             "--threshold is {:g}, expected a share between 0 and 1", options.threshold);
  TY_REQUIRE(options.target >= 0 && options.target < 1,
             "--target is {:g}, expected an accuracy between 0 and 1", options.target);
  std::vector<schedule::DepthCurve> curves;
  std::vector<report::LossReport> reports;
  for (const std::string& name : options.files) {
    curves.push_back(load_curve(name));
    reports.push_back(fit_report(options, curves.back().curve));
  }
  report::Document document = report::loss_document(reports);
  if (options.depths || options.depth) {
    report::add_depths(document, depth_report(options, curves));
  }
  out << report::render(document, options.format);
  return 0;
}

// Speeds that the predictor gives for parameter servers.
schedule::PublishedSpeeds predicted_speeds(const OptimusOptions& options) {
  const predict::Catalog catalog = predict::Catalog::built_in();
  predict::Networks networks([](const std::string& name) { return ModelArgument().load(name); });
  predict::Request request;
  request.network = &networks.get(options.network);
  request.device = &catalog.device(options.device);
  request.stack = &catalog.default_stack(*request.device);
  // Optimus' batch is that of all workers together.
  request.scaling = predict::Scaling::kStrong;
  request.batch = static_cast<int64_t>(options.batch);
  request.cluster.per_host = 1;
  request.cluster.inside = catalog.link(request.device->inside);
  request.cluster.between = catalog.between(*request.device, options.link);
  request.cluster.comm = &predict::find_comm_model("ps");
  schedule::PublishedSpeeds made{.batch = options.batch, .points = {}};
  for (const int64_t servers : parse_counts(options.servers, "--servers")) {
    request.cluster.servers = servers;
    request.workers = parse_counts(options.workers, "--workers");
    for (const predict::Row& row : predict::predict(request)) {
      made.points.push_back({servers, row.workers, 1 / row.step});
    }
  }
  return made;
}

schedule::PublishedSpeeds load_speeds(const OptimusOptions& options,
                                      std::span<const std::string> files) {
  if (!options.network.empty()) return predicted_speeds(options);
  TY_REQUIRE(!files.empty(),
             "no speeds; give a CSV file (servers,workers,speed), run directories, {}MODEL or "
             "--predict MODEL",
             schedule::kPublished);
  if (files[0].starts_with(schedule::kPublished)) {
    return schedule::published_speeds(files[0].substr(schedule::kPublished.size()));
  }
  schedule::PublishedSpeeds made{.batch = options.batch, .points = {}};
  for (const std::string& file : files) {
    if (std::filesystem::is_directory(file)) {
      made.points.push_back(schedule::speed_of_run(file));
      continue;
    }
    const auto points = schedule::speed_points_from_csv(read_file(file), file, options.batch);
    made.points.insert(made.points.end(), points.begin(), points.end());
  }
  return made;
}

report::SpeedReport speed_report(const OptimusOptions& options,
                                 const schedule::PublishedSpeeds& speeds) {
  const schedule::SpeedForm form = schedule::speed_form_from_name(options.form);
  const auto fit = [&](bool relative) {
    return schedule::fit_speed(
        form, speeds.batch, speeds.points,
        relative ? schedule::SpeedError::kRelative : schedule::SpeedError::kTime);
  };
  report::SpeedReport made;
  made.points = speeds.points;
  made.estimator = options.relative ? "relative time" : "time";
  made.model = fit(options.relative);
  // Only what was measured stands in place of the formula.
  made.predicted = !options.network.empty();
  if (made.predicted) made.model.measured.clear();
  made.mape = schedule::speed_mape(made.model, made.points);
  const schedule::SpeedModel other = fit(!options.relative);
  made.other_theta = other.theta;
  made.other_mape = schedule::speed_mape(other, made.points);
  int64_t p = 1;
  int64_t w = 1;
  for (const schedule::SpeedPoint& point : made.points) {
    p = std::max(p, point.servers);
    w = std::max(w, point.workers);
  }
  // Searching is quadratic in the range, so it ends at 32.
  made.next =
      schedule::pairs_to_measure(form, speeds.batch, made.points, std::min<int64_t>(p, 32),
                                 std::min<int64_t>(w, 32), static_cast<size_t>(options.next));
  return made;
}

int speed_command(const OptimusOptions& options, std::ostream& out) {
  const report::SpeedReport made = speed_report(options, load_speeds(options, options.files));
  out << report::render(report::speed_document(made), options.format);
  return 0;
}

int time_command(const OptimusOptions& options, std::ostream& out) {
  TY_REQUIRE(!options.loss.empty(), "optimus time: --loss is missing: a curve");
  const std::vector<std::string> speeds =
      options.speed.empty() ? std::vector<std::string>() : std::vector<std::string>{options.speed};
  const report::LossReport loss = fit_report(options, load_curve(options.loss).curve);
  const report::SpeedReport speed = speed_report(options, load_speeds(options, speeds));
  const schedule::StageFit& last = loss.fit.stages.back();
  report::TimeReport made;
  double k = 0;
  if (options.target > 0) {
    TY_REQUIRE(
        loss.target,
        "{} never reaches accuracy {:g}, and what was seen does not say when it would; try a "
        "lower --target, or leave it out to go until convergence",
        loss.curve.name, options.target);
    k = loss.target->k;
    made.goal =
        fmt::format("Accuracy {:g} of {} at {} {:g} ({})", options.target, loss.curve.name,
                    loss.curve.unit, k, loss.target->measured ? "measured" : "extrapolated");
    made.question.steps_error = loss.target->measured ? 0 : last.tail_mape;
  } else {
    TY_REQUIRE(loss.convergence, "{} does not converge below {:g} per {}", loss.curve.name,
               options.threshold, loss.curve.unit);
    k = *loss.convergence;
    made.goal = fmt::format("Convergence of {} at {} {:g}", loss.curve.name, loss.curve.unit, k);
    made.question.steps_error = last.tail_mape;
  }
  // Curves by epoch need the length of an epoch; those by step have it.
  made.question.steps = loss.curve.unit == "epoch" ? k * options.epoch_steps : k;
  made.question.speed_error = speed.mape;
  made.question.servers = parse_counts(options.servers, "--servers");
  made.question.workers = parse_counts(options.workers, "--workers");
  made.question.usd_per_worker_hour = options.price;
  made.question.usd_per_server_hour = options.server_price;
  made.price = fmt::format("Prices as given: ${:g} per worker and ${:g} per server and hour.",
                           options.price, options.server_price);
  made.answer = schedule::time_to_accuracy(speed.model, made.question);
  out << report::render(report::time_document(made), options.format);
  return 0;
}

void check_numbers(const OptimusOptions& options) {
  constexpr double kDeepest = 1e6;
  constexpr int64_t kMostPairs = 20;
  require_within("--batch", options.batch, 1.0, static_cast<double>(predict::kLargestBatch));
  require_within("--depth", options.depth.value_or(1), 1.0, kDeepest);
  require_within<int64_t>("--next", options.next, 0, kMostPairs);
  require_within("--price", options.price, 0.0, predict::kHighestPrice);
  require_within("--server-price", options.server_price, 0.0, predict::kHighestPrice);
}

int optimus_command(const OptimusOptions& options, std::ostream& out) {
  check_numbers(options);
  static const std::vector<std::string> kActions = {"loss", "speed", "time"};
  if (options.action == "loss") return loss_command(options, out);
  if (options.action == "speed") return speed_command(options, out);
  if (options.action == "time") return time_command(options, out);
  throw_error("optimus: '{}' is not one of {}.{}", options.action, join(kActions, ", "),
              did_you_mean(options.action, kActions));
}

Runner setup_optimus(Args& args) {
  auto options = std::make_shared<OptimusOptions>();
  args.positional("ACTION", options->action, "loss, speed or time");
  args.optional_positionals("FILES", options->files,
                            "loss: run directories, CSV, TensorBoard files, published:NAME; "
                            "speed: a CSV file, run directories, published:MODEL");
  args.option("--threshold", options->threshold,
              "loss: converged when it falls by less than this share of the largest per step");
  args.option("--target", options->target, "loss, time: an accuracy to reach, as 0.92");
  args.flag("--depths", options->depths, "loss: coefficients over the depth of published networks");
  args.option("--depth", options->depth, "loss: predict the curve of a network of this depth");
  args.choice("--form", options->form, {"sync", "async"}, "speed: the form that is fitted");
  args.option("--batch", options->batch, "speed: images of all workers together");
  args.flag("--relative", options->relative, "speed: fit shares of the time instead of seconds");
  args.option("--next", options->next, "speed: how many pairs to propose for measurement");
  args.option("--predict", options->network, "speed: predict this network instead of measurements");
  args.option("--device", options->device, "with --predict: a device of 'trainyard devices'");
  args.option("--link", options->link,
              "with --predict: link between hosts (the device's usual one if absent)");
  args.option("--loss", options->loss, "time: the curve");
  args.option("--speed", options->speed, "time: the speeds");
  args.option("--servers", options->servers, "time, --predict: numbers of servers");
  args.option("--workers", options->workers, "time, --predict: numbers of workers");
  args.option("--epoch-steps", options->epoch_steps, "time: steps of an epoch of the curve");
  args.option("--price", options->price, "time: dollars per worker and hour");
  args.option("--server-price", options->server_price, "time: dollars per server and hour");
  args.own_flags(
      [options] { return options->action; },
      {{{"loss"}, {"depths", "depth"}},
       {{"loss", "time"}, {"threshold", "target"}},
       {{"speed"}, {"next"}},
       {{"speed", "time"},
        {"form", "batch", "relative", "predict", "device", "link", "servers", "workers"}},
       {{"time"}, {"loss", "speed", "epoch-steps", "price", "server-price"}}});
  args.format(options->format);
  return [options](std::ostream& out) { return optimus_command(*options, out); };
}

}  // namespace

extern const Command kOptimus = {
    .name = "optimus",
    .group = "Plan",
    .summary = "Loss curves, speeds over servers and workers, time to accuracy",
    .examples =
        "  trainyard optimus loss published:resnet20 --target 0.9\n"
        "  trainyard optimus loss runs/lenet5 --threshold 0.001\n"
        "  trainyard optimus loss published:resnet20 published:resnet32 published:resnet56 --depth "
        "44\n"
        "  trainyard optimus speed published:resnet-50 --relative\n"
        "  trainyard optimus speed --predict resnet50 --device v100 --servers 1,2,4 --workers "
        "1..8\n"
        "  trainyard optimus time --loss published:resnet20 --speed published:resnext-110 \\\n"
        "    --target 0.91 --servers 2,4 --workers 1..20\n",
    .setup = setup_optimus,
};

}  // namespace trainyard::cli
