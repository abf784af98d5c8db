// Curves from run directories, CSV and TensorBoard files.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "cluster/schedule/loss/curve.h"
#include "cluster/schedule/loss/event_file.h"
#include "runs/metrics.h"

namespace trainyard::schedule {
namespace {

namespace fs = std::filesystem;

// The number in the name of a run's network: 20 of resnet20-cifar.
std::optional<double> depth_of_run(const fs::path& folder) {
  const fs::path config = folder / "config.yaml";
  if (!fs::exists(config)) return std::nullopt;
  const auto document = YamlDocument::parse(read_file(config), config.string());
  const std::string model = document->root().text_or("model", "");
  const size_t first = model.find_first_of("0123456789");
  if (first == std::string::npos) return std::nullopt;
  const double depth = std::strtod(model.c_str() + first, nullptr);
  return depth >= 1 ? std::optional(depth) : std::nullopt;
}

// Epochs where the run has enough of them, or else its steps.
Curve curve_of_run(const fs::path& folder) {
  Curve steps{.name = folder.filename().string(), .unit = "step"};
  Curve epochs{.name = steps.name, .unit = "epoch"};
  for (const Json& line : runs::read_metrics(folder / "metrics.jsonl")) {
    const Json* loss = line.find("loss");
    const Json* epoch_loss = line.find("train_loss");
    if (loss != nullptr && loss->is_number()) {
      steps.k.push_back(line.at("step").as_number());
      steps.loss.push_back(loss->as_number());
      const Json* rate = line.find("learning_rate");
      steps.rate.push_back(rate != nullptr && rate->is_number() ? rate->as_number() : 0);
    }
    if (epoch_loss != nullptr && epoch_loss->is_number()) {
      epochs.k.push_back(line.at("epoch").as_number());
      epochs.loss.push_back(epoch_loss->as_number());
      epochs.rate.push_back(steps.rate.empty() ? 0 : steps.rate.back());
      const Json* top1 = line.find("test_top1");
      epochs.accuracy.push_back(top1 != nullptr && top1->is_number() ? top1->as_number() : NAN);
    }
  }
  TY_REQUIRE(!steps.k.empty() || !epochs.k.empty(), "{}: no losses in metrics.jsonl",
             folder.string());
  Curve curve = epochs.size() >= kFewestPoints ? std::move(epochs) : std::move(steps);
  curve.depth = depth_of_run(folder);
  return curve;
}

Curve curve_of_events(const fs::path& path) {
  Curve curve{.name = path.filename().string(), .unit = "step"};
  std::map<int64_t, double> loss;
  for (const EventScalar& scalar : read_event_scalars(path)) {
    const bool wanted = scalar.tag == "train/loss" || scalar.tag == "loss" ||
                        scalar.tag == "epoch_loss" || scalar.tag == "Loss/train";
    if (wanted) loss[scalar.step] = scalar.value;
  }
  TY_REQUIRE(!loss.empty(), "{}: no scalar named train/loss, loss, epoch_loss or Loss/train",
             path.string());
  for (const auto& [step, value] : loss) {
    curve.k.push_back(static_cast<double>(step));
    curve.loss.push_back(value);
  }
  return curve;
}

bool is_event_file(const fs::path& path) {
  return path.filename().string().find("tfevents") != std::string::npos;
}

Curve curve_of_folder(const fs::path& folder) {
  if (fs::exists(folder / "metrics.jsonl")) return curve_of_run(folder);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_event_file(entry.path())) files.push_back(entry.path());
  }
  TY_REQUIRE(!files.empty(), "{}: neither metrics.jsonl nor a TensorBoard file in it",
             folder.string());
  std::sort(files.begin(), files.end());
  Curve curve = curve_of_events(files.back());
  curve.name = folder.filename().string();
  return curve;
}

}  // namespace

Curve read_curve(const fs::path& path, size_t most_points) {
  const fs::path clean = path.has_filename() ? path : path.parent_path();
  TY_REQUIRE(fs::exists(clean),
             "{}: there is no such file or folder; expected a run directory, a CSV file or a "
             "TensorBoard file",
             clean.string());
  Curve curve;
  if (fs::is_directory(clean)) {
    curve = curve_of_folder(clean);
  } else if (is_event_file(clean)) {
    curve = curve_of_events(clean);
  } else {
    curve = curve_from_csv(read_file(clean), clean.string());
  }
  curve = averaged(curve, most_points);
  check_curve(curve);
  return curve;
}

std::vector<Curve> read_curves(const fs::path& path, size_t most_points) {
  if (path.extension() != ".csv" || !fs::is_regular_file(path))
    return {read_curve(path, most_points)};
  const std::string text = read_file(path);
  const std::vector<std::string> columns = CsvTable::parse(text, path.string()).columns();
  const auto has = [&](const char* name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  if (!has("device") || !has("depth")) return {read_curve(path, most_points)};
  std::vector<Curve> curves = curves_from_csv(text, path.string());
  for (Curve& curve : curves) curve = averaged(curve, most_points);
  return curves;
}

}  // namespace trainyard::schedule
