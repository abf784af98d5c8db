#include "train/run_log.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/printable.h"
#include "data/image.h"
#include "models/model_notes.h"
#include "models/onnx/metadata.h"
#include "runs/events.h"
#include "train/train_config.h"

namespace trainyard::train {
namespace {

// Every setting by its name.
std::map<std::string, runs::Setting> settings_for_tensorboard(TrainConfig config) {
  std::map<std::string, runs::Setting> all;
  const Settings settings = settings_of(config);
  for (const Settings::Setting& setting : settings.all()) {
    runs::Setting& value = all[setting.name];
    if (const auto* text = std::get_if<std::string*>(&setting.variable)) value = **text;
    if (const auto* flag = std::get_if<bool*>(&setting.variable)) value = **flag;
    if (const auto* number = std::get_if<double*>(&setting.variable)) value = **number;
    if (const auto* whole = std::get_if<int64_t*>(&setting.variable)) {
      value = static_cast<double>(**whole);
    }
  }
  return all;
}

// Rows are true classes, columns what the network said, each as a square: the darker, the larger
// its share of the row. `counts` is square.
data::Image confusion_picture(std::span<const int64_t> counts) {
  const auto classes = std::lround(std::sqrt(static_cast<double>(counts.size())));
  TY_CHECK(classes > 0 && static_cast<size_t>(classes * classes) == counts.size(),
           "{} counts are no square", counts.size());
  // A picture of a few hundred pixels, whatever the number of classes.
  const int64_t side = std::max<int64_t>(1, 320 / classes);
  data::Image image{.height = classes * side, .width = classes * side, .pixels = {}};
  image.pixels.resize(static_cast<size_t>(image.height * image.width * data::kColors));
  for (int64_t row = 0; row < classes; ++row) {
    int64_t sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += counts[static_cast<size_t>(row * classes + k)];
    for (int64_t y = row * side; y < (row + 1) * side; ++y) {
      for (int64_t x = 0; x < image.width; ++x) {
        const int64_t count = counts[static_cast<size_t>(row * classes + x / side)];
        const double share = sum > 0 ? static_cast<double>(count) / static_cast<double>(sum) : 0;
        // White to blue.
        uint8_t* pixel = image.pixels.data() + (y * image.width + x) * data::kColors;
        pixel[0] = static_cast<uint8_t>(std::lround(255 - 247 * share));
        pixel[1] = static_cast<uint8_t>(std::lround(255 - 207 * share));
        pixel[2] = static_cast<uint8_t>(std::lround(255 - 148 * share));
      }
    }
  }
  return image;
}

constexpr const char* kSecondsValue = "seconds";
constexpr std::string_view kBestPrefix = "best_";
constexpr const char* kBestEpochValue = "epoch_of_best";

}  // namespace

RunLog::RunLog(const TrainConfig& config, std::string hash, const runs::RunDirectory* directory,
               const TrainHooks& hooks)
    : config_(config), directory_(directory), hooks_(hooks) {
  info_.model = config.model;
  info_.config_hash = std::move(hash);
  info_.seed = static_cast<uint64_t>(config.seed);
  if (names_shapes(config.priors)) info_.notes.emplace(onnx_io::kPriorsKey, config.priors);
  if (leads()) checkpoints_.emplace(directory->checkpoints(), config.keep_checkpoints);
}

// Only the rank that leads reads and writes files; the others get the states from it afterwards.
std::optional<runs::Checkpoint> RunLog::restore(std::span<const runs::NamedType> types) {
  const auto latest = leads() ? checkpoints_->latest() : std::nullopt;
  if (!latest) return std::nullopt;
  std::optional<runs::Checkpoint> checkpoint(std::in_place, *latest);
  checkpoint->require_fits(config_.model, info_.config_hash, types);
  info_ = checkpoint->info();
  return checkpoint;
}

// After restore(), whose step tells the logs which lines of an interrupted run to drop.
void RunLog::begin() {
  if (leads()) {
    metrics_.emplace(directory_->metrics(), info_.step);
    utilization_.emplace(directory_->utilization(), info_.step);
    events_.emplace(directory_->path(), info_.step);
    events_->write_settings(settings_for_tensorboard(config_));
  }
  // Time of earlier parts of a resumed run counts towards the time to accuracy.
  seconds_before_ = info_.values[kSecondsValue];
  watch_ = {};
  if (leads()) sampler_.emplace();
}

bool RunLog::goes_on() const {
  const int64_t end =
      config_.stop_epoch > 0 ? std::min(config_.epochs, config_.stop_epoch) : config_.epochs;
  return info_.epoch < end && !result_.interrupted && !result_.seconds_to_target &&
         !out_of_steps() && !out_of_patience();
}

bool RunLog::out_of_patience() const {
  const auto best = info_.values.find(kBestEpochValue);
  return config_.patience > 0 && best != info_.values.end() &&
         static_cast<double>(info_.epoch) - best->second >= static_cast<double>(config_.patience);
}

void RunLog::save(const States& states, bool best) {
  if (!leads()) return;
  info_.values[kSecondsValue] = seconds();
  checkpoints_->save(info_, states(), best);
}

// Of the score that decides, by its name, so that a resumed run compares with it.
bool RunLog::note_best(const Evaluation& test) {
  const Score* now = find_score(test.scores, test.decides);
  TY_CHECK(now != nullptr, "the test has no '{}'", test.decides);
  const std::string key = std::string(kBestPrefix) + test.decides;
  const auto before = info_.values.find(key);
  const bool best =
      before == info_.values.end() ||
      (test.higher_is_better ? now->value > before->second : now->value < before->second);
  if (best) {
    info_.values[key] = now->value;
    info_.values[kBestEpochValue] = static_cast<double>(info_.epoch + 1);
  }
  result_.best = *now;
  result_.best->value = info_.values[key];
  return best;
}

void RunLog::write_line(const Json& line) {
  metrics_->append(line);
  // Samples taken since the last line are filed under its step.
  for (const Utilization& sample : sampler_->take()) {
    Json values = to_json(sample);
    values["step"] = line.at("step");
    values["at_s"] = seconds_before_ + sample.at_s;
    utilization_->append(values);
  }
}

void RunLog::write_epoch(const EpochReport& report) {
  Json line = Json::object(
      {{"step", report.step}, {"epoch", report.epoch}, {"train_loss", report.train_loss}});
  for (const Score& score : report.train_scores) line["train_" + score.name] = score.value;
  line["train_s"] = report.train_seconds;
  line["wait_s"] = report.wait_seconds;
  line["exposed_s"] = report.exposed_seconds;
  line["images_per_s"] = report.images_per_s;
  if (report.tokens > 0) {
    line["tokens_per_s"] = report.images_per_s * static_cast<double>(report.tokens);
  }
  line["seconds"] = report.seconds;
  std::vector<runs::Scalar> scalars;
  for (const Score& score : report.test.scores) {
    line["test_" + score.name] = score.value;
    scalars.push_back({"test/" + score.name, score.value});
  }
  if (!report.sample.empty()) line["sample"] = printable(report.sample);
  if (!report.worker_scores.empty()) {
    line["worker_" + report.test.decides] = Json::array_of(report.worker_scores);
  }
  if (!report.test.confusion.empty()) line["confusion"] = Json::array_of(report.test.confusion);
  write_line(line);
  for (const Score& score : report.train_scores) {
    scalars.push_back({"train/" + score.name, score.value});
  }
  scalars.push_back({"train/images_per_s", report.images_per_s});
  events_->write(report.step, scalars);
  if (!report.test.guesses.empty()) {
    runs::write_test_predictions(directory_->path(), report.step, report.test.guesses);
  }
  if (!report.test.confusion.empty()) {
    const data::Image image = confusion_picture(report.test.confusion);
    events_->write_picture(report.step, "test/confusion", data::encode_png(image), image.height,
                           image.width);
  }
}

void RunLog::write_histograms(int64_t step, const States& states) {
  for (const runs::StateTensor& state : states()) {
    if (state.type.dtype != DType::kF32) continue;
    const Tensor tensor = state.read();
    events_->write_histogram(step, "state/" + state.name, tensor.values<float>());
  }
}

// All ranks call it with the same scores, so all take the same decision to go on or stop; only the
// leader writes.
void RunLog::end_epoch(EpochReport report, const States& states) {
  report.seconds = seconds();
  report.best = note_best(report.test);
  if (leads()) write_epoch(report);
  report.test.guesses = {};  // they lie in a file, and would add up
  if (leads() && config_.histograms) write_histograms(report.step, states);
  // Before the checkpoint: what is saved is the state at the beginning of the next epoch.
  info_.epoch += 1;
  info_.epoch_step = 0;
  save(states, report.best);
  const Score* accuracy = find_score(report.test.scores, report.test.decides);
  if (config_.target_accuracy > 0 && accuracy->is_share &&
      accuracy->value >= config_.target_accuracy) {
    result_.seconds_to_target = report.seconds;
  }
  if (hooks_.on_epoch) hooks_.on_epoch(report);
  result_.epochs.push_back(std::move(report));
}

std::optional<std::filesystem::path> RunLog::exported_checkpoint() const {
  if (!leads() || config_.export_weights != "best") return std::nullopt;
  return checkpoints_->best();
}

std::map<std::string, std::string> RunLog::metadata() const {
  std::map<std::string, std::string> metadata = hooks_.metadata;
  if (const auto best = exported_checkpoint()) {
    const runs::CheckpointInfo info = runs::Checkpoint(*best).info();
    network::note_weights(fmt::format("those after step {} (epoch {}), the best of {}", info.step,
                                      info.epoch, info_.epoch),
                          metadata);
    return metadata;
  }
  const bool known = !result_.epochs.empty() && info_.epoch_step == 0;
  const bool best = known && result_.epochs.back().best;
  network::note_weights(fmt::format("those after step {}, the last{}", info_.step,
                                    best    ? " and the best"
                                    : known ? "; the best are checkpoints/best.safetensors"
                                            : ""),
                        metadata);
  return metadata;
}

TrainResult RunLog::result() {
  result_.steps = info_.step;
  result_.exports_best = exported_checkpoint().has_value();
  result_.out_of_patience = out_of_patience();
  const auto epoch = info_.values.find(kBestEpochValue);
  if (epoch != info_.values.end()) result_.best_epoch = static_cast<int64_t>(epoch->second);
  // A run that had nothing left to do still has a best epoch. What decides is a share, or the loss.
  for (const auto& [key, value] : info_.values) {
    if (result_.best || !key.starts_with(kBestPrefix)) continue;
    const std::string name = key.substr(kBestPrefix.size());
    result_.best = Score{.name = name, .value = value, .is_share = name != "loss"};
  }
  return std::move(result_);
}

}  // namespace trainyard::train
