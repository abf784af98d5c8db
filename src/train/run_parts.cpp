#include "train/run_parts.h"

#include "base/error.h"
#include "base/text.h"
#include "models/model_notes.h"
#include "models/onnx/export.h"
#include "models/onnx/metadata.h"
#include "models/table_input.h"
#include "runs/checkpoint.h"
#include "train/schedule.h"
#include "train/training_graph.h"

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
             "resize, pad or channels, or set `image`",
             input.to_string(), expected.to_string());
}

void require_input(const TensorType& input, const data::Loader& loader) {
  const TensorType given = loader.input_type();
  if (loader.has_rows()) {
    TY_REQUIRE(input == given, "the network takes {}, but the data gives rows, {}",
               input.to_string(), given.to_string());
    return;
  }
  if (loader.row_tokens() == 0) {
    require_input_shape(input.shape, given.shape[0], loader.augmentations());
    return;
  }
  TY_REQUIRE(input == given,
             "the network takes {}, but the data gives tokens, {}; set length, or choose a network "
             "that reads tokens",
             input.to_string(), given.to_string());
}

std::map<std::string, std::string> metadata_of_training(const data::Dataset& training,
                                                        const data::Augmentations& steps) {
  std::map<std::string, std::string> metadata;
  if (const auto& tokens = training.tokens()) {
    if (!tokens->tokenizer.empty()) {
      metadata[onnx_io::kTokenizerKey] =
          std::filesystem::path(tokens->tokenizer).filename().string();
    }
    if (tokens->end_of_text != data::kNoToken) {
      metadata[onnx_io::kEndOfTextKey] = fmt::format("{}", tokens->end_of_text);
    }
    return metadata;
  }
  if (training.num_classes() > 0) network::note_classes(training.class_names(), metadata);
  if (training.table()) {
    network::note_table(*training.table(), metadata);
    return metadata;
  }
  // Detectors take pictures of any size, whatever the training set's have in common.
  const bool any = training.target_kind() == data::TargetKind::kBoxes;
  network::note_preparation(
      {.steps = steps.evaluation_text(),
       .picture = any ? data::PictureShape{.channels = data::kColors} : training.shape()},
      metadata);
  return metadata;
}

void take_weights(const std::filesystem::path& checkpoint, std::span<const runs::NamedType> states,
                  Graph& trained) {
  const runs::Checkpoint file(checkpoint);
  const auto count = file.info().values.find(kAveragedValue);
  const bool averaged = count != file.info().values.end() && count->second > 0;
  const auto is_frozen = [&](const std::string& name) { return !file.has(kAveragePrefix + name); };
  for (const runs::NamedType& state : states) {
    const ValueId id = trained.find_value(state.name);
    TY_CHECK(id.valid(), "'{}' is not in the network", state.name);
    const bool kept = averaged && !is_frozen(state.name);
    const std::string name = kept ? kAveragePrefix + state.name : state.name;
    // A copy: the file is mapped and may be removed.
    trained.mutable_value(id).constant = std::make_shared<const Tensor>(file.tensor(name).clone());
  }
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
  std::vector<const Tensor*> tensors;
  std::vector<uint32_t> checksums;
  for (const runs::NamedType& state : states) {
    const ValueId id = trained.find_value(state.name);
    TY_CHECK(id.valid(), "'{}' is not in the network", state.name);
    tensors.push_back(trained.value(id).constant.get());
    checksums.push_back(runs::checksum_of(*tensors.back()));
  }
  runs::SafetensorsWriter writer(folder / "model.safetensors", {states.begin(), states.end()},
                                 notes, checksums);
  for (const Tensor* tensor : tensors) writer.write(*tensor);
  writer.commit();
}

}  // namespace trainyard::train
