#include "train/run_parts.h"

#include "base/error.h"
#include "base/text.h"
#include "onnx_io/export.h"
#include "onnx_io/metadata.h"
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

std::map<std::string, std::string> metadata_of_training(const data::Dataset& training,
                                                        const std::string& augment) {
  const data::Augmentations steps(augment, training);
  return {{onnx_io::kClassesKey, join(training.class_names(), "\n") + "\n"},
          {onnx_io::kStepsKey, steps.evaluation_text()},
          // Detectors take pictures of any size, whatever the training set's have in common.
          {onnx_io::kPictureKey, training.target_kind() == data::TargetKind::kBoxes
                                     ? "3x?x?"
                                     : training.shape().to_string()}};
}

bool takes_any_batch(const Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (node.op != "Reshape" && node.op != "Expand") continue;
    const auto& shape = graph.value(node.inputs[1]).constant;
    if (shape == nullptr || shape->num_elements() == 0) return false;
    if (shape->values<int64_t>()[0] == batch_of(graph)) return false;
  }
  return true;
}

void write_model(const std::filesystem::path& folder, const std::string& name, const Graph& trained,
                 std::span<const runs::NamedType> states,
                 const std::map<std::string, std::string>& metadata) {
  onnx_io::ExportOptions options;
  if (takes_any_batch(trained)) options.batch_name = "batch";
  options.metadata = metadata;
  onnx_io::export_model(trained, folder / "model.onnx", options);
  std::map<std::string, std::string> notes = {{"model", name}};
  const auto priors = metadata.find(onnx_io::kPriorsKey);
  if (priors != metadata.end()) notes.insert(*priors);
  runs::SafetensorsWriter writer(folder / "model.safetensors", {states.begin(), states.end()},
                                 notes);
  for (const runs::NamedType& state : states) {
    const ValueId id = trained.find_value(state.name);
    TY_CHECK(id.valid(), "'{}' is not in the network", state.name);
    writer.write(*trained.value(id).constant);
  }
  writer.commit();
}

}  // namespace trainyard::train
