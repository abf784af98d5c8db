#include "train/run_parts.h"

#include <cstring>

#include "base/error.h"
#include "onnx_io/export.h"
#include "train/schedule.h"

namespace trainyard::train {

double base_rate(const TrainConfig& config) {
  if (config.base_batch == 0) return config.learning_rate;
  return scale_with_batch(config.learning_rate, config.batch, config.base_batch);
}

void require_input_shape(const Shape& input, int64_t batch, const data::Augmentations& pictures) {
  const data::PictureShape& picture = pictures.output();
  const Shape expected{batch, picture.channels, picture.height, picture.width};
  TY_REQUIRE(input == expected,
             "the network takes {}, but the data gives {}; add augmentation steps such as "
             "resize, pad or channels, or set --image",
             input.to_string(), expected.to_string());
}

void copy_batch(const data::Batch& batch, TrainingStep& step) {
  const auto copy = [](const Tensor& from, Tensor& to) {
    TY_CHECK(from.type() == to.type(), "batch of {}, expected {}", from.type().to_string(),
             to.type().to_string());
    std::memcpy(to.data(), from.data(), static_cast<size_t>(from.num_bytes()));
  };
  copy(batch.images, step.input(0));
  copy(batch.labels, step.input(kLabelsInput));
}

void write_epoch(const EpochReport& report, runs::MetricsWriter& metrics,
                 runs::EventWriter& events) {
  metrics.append(Json::object({{"step", report.step},
                               {"epoch", report.epoch},
                               {"train_loss", report.train_loss},
                               {"train_accuracy", report.train_accuracy},
                               {"train_s", report.train_seconds},
                               {"wait_s", report.wait_seconds},
                               {"exposed_s", report.exposed_seconds},
                               {"images_per_s", report.images_per_s},
                               {"seconds", report.seconds},
                               {"test_loss", report.test.loss},
                               {"test_top1", report.test.top1},
                               {"test_top5", report.test.top5},
                               {"confusion", Json::array_of(report.test.confusion)}}));
  const runs::Scalar scalars[] = {{"test/loss", report.test.loss},
                                  {"test/top1", report.test.top1},
                                  {"test/top5", report.test.top5},
                                  {"train/accuracy", report.train_accuracy},
                                  {"train/images_per_s", report.images_per_s}};
  events.write(report.step, scalars);
}

void write_model(const std::filesystem::path& folder, const std::string& name, const Graph& trained,
                 std::span<const runs::NamedType> states) {
  onnx_io::export_model(trained, folder / "model.onnx", {});
  runs::SafetensorsWriter writer(folder / "model.safetensors", {states.begin(), states.end()},
                                 {{"model", name}});
  for (const runs::NamedType& state : states) {
    const ValueId id = trained.find_value(state.name);
    TY_CHECK(id.valid(), "'{}' is not in the network", state.name);
    writer.write(*trained.value(id).constant);
  }
  writer.commit();
}

}  // namespace trainyard::train
