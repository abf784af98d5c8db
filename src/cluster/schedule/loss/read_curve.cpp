// Curves from run directories, CSV and TensorBoard files.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/wire.h"
#include "base/yaml.h"
#include "cluster/schedule/loss/curve.h"
#include "runs/metrics.h"

namespace trainyard::schedule {
namespace {

// Scalars of a TensorBoard event file.
struct EventScalar {
  std::string tag = {};
  int64_t step = 0;
  double value = 0;
};

// The number of a varint field.
uint64_t varint_of(const WireField& field) {
  WireReader reader(field.whole);
  reader.varint();
  return reader.varint();
}

float float_at(Bytes bytes) {
  float value = 0;
  if (bytes.size() >= sizeof value) std::memcpy(&value, bytes.data() + bytes.size() - 4, 4);
  return value;
}

// TensorProto: float_val (5), or tensor_content (4) of one float.
std::optional<double> tensor_value(Bytes message) {
  WireReader reader(message);
  std::optional<double> value;
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.number == 5) value = float_at(field.whole);
    if (field.number == 4 && field.content.size() == 4) value = float_at(field.content);
  }
  return value;
}

// Summary.Value: tag (1), simple_value (2), tensor (8).
void add_value(Bytes message, int64_t step, std::vector<EventScalar>& out) {
  EventScalar scalar{.step = step};
  std::optional<double> value;
  WireReader reader(message);
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.number == 1) {
      scalar.tag.assign(reinterpret_cast<const char*>(field.content.data()), field.content.size());
    }
    if (field.number == 2) value = float_at(field.whole);
    if (field.number == 8) value = tensor_value(field.content);
  }
  if (!value) return;
  scalar.value = *value;
  out.push_back(std::move(scalar));
}

// Event: step (2), summary (5), whose field 1 are the values.
void add_event(Bytes message, size_t base, std::vector<EventScalar>& out) {
  int64_t step = 0;
  Bytes summary;
  WireReader reader(message, base);
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.number == 2 && field.type == WireType::kVarint) {
      step = static_cast<int64_t>(varint_of(field));
    }
    if (field.number == 5 && field.type == WireType::kBytes) summary = field.content;
  }
  WireReader values(summary, base);
  while (!values.done()) {
    const WireField field = values.next();
    if (field.number == 1 && field.type == WireType::kBytes) add_value(field.content, step, out);
  }
}

// Scalars written as simple values or as rank-0 float tensors (TensorFlow 2), in their order. A
// torn last record is left out. Throws Error with the byte of a malformed one.
std::vector<EventScalar> read_event_scalars(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  const Bytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
  std::vector<EventScalar> scalars;
  // A record is its length, a checksum, the event and a checksum.
  constexpr size_t kAround = 12 + 4;
  for (size_t at = 0; at + kAround <= bytes.size();) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    if (length > bytes.size() - at - kAround) break;
    try {
      add_event(bytes.subspan(at + 12, length), at + 12, scalars);
    } catch (const Error& error) {
      throw_error("{}: not a TensorBoard event file: {}", path.string(), error.what());
    }
    at += kAround + length;
  }
  return scalars;
}

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
