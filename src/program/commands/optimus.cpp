// `trainyard optimus`: loss curves, speeds, and the time to accuracy that follows from them.
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cluster/predict/limits.h"
#include "cluster/predict/predict.h"
#include "cluster/schedule/published.h"
#include "cluster/schedule/speed/run_speed.h"
#include "cluster/schedule/view.h"
#include "program/command.h"
#include "program/count_list.h"
#include "program/model_argument.h"
#include "program/optimus_collect.h"

namespace trainyard::cli {
namespace {

constexpr double kDeepest = 1e6;
constexpr int64_t kMostPairs = 20;
constexpr int64_t kMostTrainings = 100;
constexpr int64_t kMostCollectedEpochs = 100'000;

struct OptimusOptions {
  std::string action;
  std::vector<std::string> files;
  double threshold = 0.01;
  double target = 0;
  bool depths = false;
  std::optional<double> depth;
  std::vector<std::string> real;
  bool first_stage = false;
  CollectOptions collect;
  std::string form = "sync";
  double batch = 128;
  bool relative = false;
  int64_t next = 3;
  std::string network;
  std::string device = "k80";
  std::string link;
  std::vector<std::string> loss;
  std::string speed;
  std::string servers = "2,4";
  std::string workers = "1..20";
  double epoch_steps = 391;
  double price = 0.9;
  double server_price = 0.1;
  report::Format format = report::Format::kText;
};

// "depth=20,device=k80" behind a curve's name.
void set_origin(schedule::Curve& curve, std::string_view text, const std::string& name) {
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    TY_REQUIRE(equals != std::string::npos && (key == "depth" || key == "device"),
               "{}: '{}' behind '@', expected depth=NUMBER or device=NAME", name, part);
    const std::string value = part.substr(equals + 1);
    if (key == "device") {
      curve.device = value;
      continue;
    }
    const double depth = std::strtod(value.c_str(), nullptr);
    TY_REQUIRE(depth >= 1 && depth <= kDeepest, "{}: depth '{}', expected a number from 1 to {:g}",
               name, value, kDeepest);
    curve.depth = depth;
  }
}

// A file or published curve, with what stands behind an '@'.
schedule::Curve load_curve(const std::string& name) {
  const size_t at = std::filesystem::exists(name) ? std::string::npos : name.rfind('@');
  const std::string source = name.substr(0, at);
  schedule::Curve curve =
      source.starts_with(schedule::kPublished)
          ? schedule::published_curve(source.substr(schedule::kPublished.size()))
          : schedule::read_curve(source);
  if (at != std::string::npos) set_origin(curve, std::string_view(name).substr(at + 1), name);
  return curve;
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

schedule::Curve first_stage(const schedule::Curve& curve) {
  const schedule::StageRange first = schedule::find_stages(curve).front();
  return curve.part(first.first, first.last);
}

// The first stages of curves whose depth is known.
report::DepthReport depth_report(const OptimusOptions& options,
                                 std::span<const schedule::Curve> curves) {
  report::DepthReport made;
  for (const schedule::Curve& one : curves) {
    TY_REQUIRE(one.depth,
               "--depths: the depth of {} is not known; say it behind the curve, as {}@depth=20",
               one.name, one.name);
    made.curves.push_back(first_stage(one));
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
  std::vector<schedule::Curve> curves;
  std::vector<report::LossReport> reports;
  for (const std::string& name : options.files) {
    curves.push_back(load_curve(name));
    reports.push_back(fit_report(options, curves.back()));
  }
  report::Document document = report::loss_document(reports);
  if (options.depths || options.depth) {
    report::add_depths(document, depth_report(options, curves));
  }
  out << report::render(document, options.format);
  return 0;
}

// Files, and of folders that are no runs the CSV files in them.
std::vector<std::string> files_of(std::span<const std::string> names) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (!fs::is_directory(name) || fs::exists(fs::path(name) / "metrics.jsonl")) {
      files.push_back(name);
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : fs::directory_iterator(name)) {
      if (entry.path().extension() == ".csv") files.push_back(entry.path().string());
    }
    // A folder of TensorBoard's is one curve.
    if (files.size() == before) files.push_back(name);
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

std::vector<schedule::Curve> load_curves(std::span<const std::string> names,
                                         bool first_stage_alone) {
  std::vector<schedule::Curve> curves;
  for (const std::string& name : files_of(names)) {
    for (schedule::Curve& curve : std::filesystem::exists(name)
                                      ? schedule::read_curves(name)
                                      : std::vector<schedule::Curve>{load_curve(name)}) {
      curves.push_back(first_stage_alone ? first_stage(curve) : std::move(curve));
    }
  }
  return curves;
}

std::vector<schedule::CurveModel> models_of(std::span<const schedule::Curve> curves) {
  std::vector<schedule::CurveModel> models;
  for (const schedule::Curve& curve : curves) {
    TY_REQUIRE(curve.unit == curves[0].unit, "{} counts {}s and {} {}s; give curves of one kind",
               curves[0].name, curves[0].unit, curve.name, curve.unit);
    models.push_back(schedule::fit_model(curve));
  }
  return models;
}

int regress_command(const OptimusOptions& options, std::ostream& out) {
  TY_REQUIRE(!options.files.empty(),
             "optimus regress: no curve; give run directories or CSV files of several depths");
  std::vector<schedule::Curve> curves = load_curves(options.files, options.first_stage);
  report::RegressionReport made;
  made.wanted = options.depth;
  made.real = load_curves(options.real, options.first_stage);
  TY_REQUIRE(made.wanted || made.real.empty(), "--real needs --depth, the depth that is predicted");
  // A file may hold all depths: what is compared with is not fitted, and the rest is not compared.
  if (!made.real.empty()) {
    const auto is_wanted = [&](const schedule::Curve& curve) { return curve.depth == made.wanted; };
    std::erase_if(curves, is_wanted);
    std::erase_if(made.real, [&](const auto& curve) { return curve.depth && !is_wanted(curve); });
    TY_REQUIRE(!curves.empty(), "all curves are of depth {:g}, so none is left to predict it from",
               *made.wanted);
    TY_REQUIRE(!made.real.empty(), "--real: no curve of depth {:g}", *made.wanted);
  }
  made.models = models_of(curves);
  made.regression = schedule::fit_regression(made.models);
  made.unit = curves[0].unit;
  if (made.wanted) {
    for (const std::string& device : made.regression.devices) {
      made.predicted.push_back(made.regression.predict(*made.wanted, device));
    }
  }
  for (const schedule::Curve& curve : curves) made.last_k = std::max(made.last_k, curve.k.back());
  for (const schedule::Curve& real : made.real) {
    const std::string device =
        made.regression.devices.size() == 1 ? made.regression.devices[0] : real.device;
    made.errors.push_back(
        {real.name, device,
         schedule::curve_error(made.regression.predict(*made.wanted, device), real)});
  }
  out << report::render(report::regression_document(made), options.format);
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

// Steps of a network that was not trained, from the curves of others: the k at which its predicted
// loss is that of the accuracy.
void set_predicted_goal(const OptimusOptions& options, report::TimeReport& made) {
  TY_REQUIRE(options.target > 0,
             "--depth needs --target: the accuracy that the predicted network is to reach");
  const std::vector<schedule::Curve> curves = load_curves(options.loss, false);
  const std::vector<schedule::CurveModel> models = models_of(curves);
  const schedule::LossRegression regression = schedule::fit_regression(models);
  // Devices do not change what is learned in a step; of several, the first stands for all.
  const schedule::CurveModel predicted = regression.predict(*options.depth, regression.devices[0]);
  const std::optional<double> loss =
      schedule::loss_at_accuracy(curves, options.target, *options.depth);
  TY_REQUIRE(loss, "none of the {} curves reaches accuracy {:g}; try a lower --target",
             curves.size(), options.target);
  const std::optional<double> k = schedule::k_at_loss(predicted, *loss);
  TY_REQUIRE(k,
             "the predicted loss of depth {:g} never falls to {:g}, that of accuracy {:g}; try a "
             "lower --target",
             *options.depth, *loss, options.target);
  made.goal = fmt::format(
      "Accuracy {:g} of depth {:g} at {} {:.1f} (predicted from {} curves: loss {:.4g})",
      options.target, *options.depth, curves[0].unit, *k, curves.size(), *loss);
  double error = 0;
  for (const schedule::CurveModel& model : models)
    error += model.mape / static_cast<double>(models.size());
  made.question.steps_error = error;
  made.question.steps = curves[0].unit == "epoch" ? *k * options.epoch_steps : *k;
}

// Steps of the network whose curve is given.
void set_goal(const OptimusOptions& options, report::TimeReport& made) {
  const report::LossReport loss = fit_report(options, load_curve(options.loss[0]));
  const schedule::StageFit& last = loss.fit.stages.back();
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
}

int time_command(const OptimusOptions& options, std::ostream& out) {
  TY_REQUIRE(!options.loss.empty(), "optimus time: --loss is missing: a curve");
  TY_REQUIRE(options.depth || options.loss.size() == 1,
             "--loss: {} curves, expected one; with --depth the curve is predicted from several",
             options.loss.size());
  const std::vector<std::string> speeds =
      options.speed.empty() ? std::vector<std::string>() : std::vector<std::string>{options.speed};
  const report::SpeedReport speed = speed_report(options, load_speeds(options, speeds));
  report::TimeReport made;
  if (options.depth) {
    set_predicted_goal(options, made);
  } else {
    set_goal(options, made);
  }
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

int optimus_command(const OptimusOptions& options, std::ostream& out) {
  static const std::vector<std::string> kActions = {"collect", "loss", "regress", "speed", "time"};
  if (options.action == "collect") return collect_curves(options.collect, options.format, out);
  if (options.action == "loss") return loss_command(options, out);
  if (options.action == "regress") return regress_command(options, out);
  if (options.action == "speed") return speed_command(options, out);
  if (options.action == "time") return time_command(options, out);
  throw_error("optimus: '{}' is not one of {}.{}", options.action, join(kActions, ", "),
              did_you_mean(options.action, kActions));
}

Runner setup_optimus(Args& args) {
  auto options = std::make_shared<OptimusOptions>();
  args.positional("ACTION", options->action, "collect, loss, regress, speed or time");
  args.optional_positionals(
      "FILES", options->files,
      "loss, regress: run directories, CSV, TensorBoard files, published:NAME, each with "
      "@depth=20,device=k80 where it does not say so; "
      "speed: a CSV file, run directories, published:MODEL");
  args.option("--grid", options->collect.depths, "collect: depths of the ResNets that are trained");
  args.option("--runs", options->collect.runs,
              "collect: training runs per depth, with different seeds", between(1, kMostTrainings));
  args.option("--data", options->collect.data, "collect: a data set of 3x32x32 images");
  args.option("--epochs", options->collect.epochs, "collect: epochs of each training run",
              between(5, kMostCollectedEpochs));
  args.option("--train-batch", options->collect.batch, "collect: batch size");
  args.option("--learning-rate", options->collect.learning_rate,
              "collect: learning rate, constant so that a curve has one stage");
  args.option("--out", options->collect.folder, "collect: folder for the curves");
  args.option(
      "--threshold", options->threshold,
      "loss: converged when the loss falls by less than this share of the largest loss per step");
  args.option("--target", options->target, "loss, time: target accuracy, as 0.92");
  args.flag("--depths", options->depths, "loss: coefficients against depth for published networks");
  args.option("--depth", options->depth,
              "loss, regress, time: predict the curve of a network of this depth",
              between(1, kDeepest));
  args.repeated("--real", options->real,
                "regress: real curves of that depth, to compare the prediction with");
  args.flag("--first-stage", options->first_stage,
            "regress: fit the points before the learning rate falls");
  args.choice("--form", options->form, {"sync", "async"}, "speed: which form to fit");
  args.option("--batch", options->batch, "speed: global batch", between(1, predict::kLargestBatch));
  args.flag("--relative", options->relative, "speed: fit relative instead of absolute errors");
  args.option("--next", options->next, "speed: how many pairs to propose for measurement",
              between(0, kMostPairs));
  args.option("--predict", options->network, "speed: predict this network instead of measurements");
  args.option("--device", options->device, "with --predict: a device of 'trainyard devices'");
  args.option("--link", options->link,
              "with --predict: link between hosts (the device's usual one if absent)");
  args.repeated("--loss", options->loss,
                "time: the loss curve; with --depth, curves of other depths");
  args.option("--speed", options->speed, "time: the measured speeds");
  args.option("--servers", options->servers, "time, --predict: numbers of servers");
  args.option("--workers", options->workers, "time, --predict: numbers of workers");
  args.option("--epoch-steps", options->epoch_steps, "time: steps per epoch of the curve");
  args.option("--price", options->price, "time: dollars per worker and hour",
              between(0, predict::kHighestPrice));
  args.option("--server-price", options->server_price, "time: dollars per server and hour",
              between(0, predict::kHighestPrice));
  args.own_flags(
      [options] { return options->action; },
      {{{"collect"}, {"grid", "runs", "data", "epochs", "train-batch", "learning-rate", "out"}},
       {{"loss"}, {"depths"}},
       {{"loss", "regress", "time"}, {"depth"}},
       {{"regress"}, {"real", "first-stage"}},
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
    .summary = "Fit loss curves and speed over servers and workers; predict time to accuracy",
    .examples =
        "  trainyard optimus loss published:resnet20 --target 0.9\n"
        "  trainyard optimus loss runs/lenet5 --threshold 0.001\n"
        "  trainyard optimus loss published:resnet20 published:resnet32 published:resnet56 --depth "
        "44\n"
        "  trainyard optimus collect --grid 20,32,44 --runs 2 --out curves\n"
        "  trainyard optimus regress curves --depth 56\n"
        "  trainyard optimus regress k80-20.csv k80-56.csv v100-20.csv v100-56.csv --depth 50 "
        "--real k80-50.csv\n"
        "  trainyard optimus speed published:resnet-50 --relative\n"
        "  trainyard optimus speed --predict resnet50 --device v100 --servers 1,2,4 --workers "
        "1..8\n"
        "  trainyard optimus time --loss published:resnet20 --speed published:resnext-110 \\\n"
        "    --target 0.91 --servers 2,4 --workers 1..20\n",
    .setup = setup_optimus,
};

}  // namespace trainyard::cli
