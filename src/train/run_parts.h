// What every way of training shares.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "data/loader.h"
#include "ir/graph.h"
#include "runs/safetensors.h"
#include "train/train_config.h"

namespace trainyard::train {

// The learning rate that the schedule starts from: that of the settings, scaled to their batch.
double base_rate(const TrainConfig& config);

// Throws Error unless a network whose input is `input` takes batches of these pictures.
void require_input_shape(const Shape& input, int64_t batch, const data::Augmentations& pictures);

// The same for whatever the loader gives.
void require_input(const TensorType& input, const data::Loader& loader);

// Whether no shape in the network has the batch as a number; those of the zoo have a 0 there.
bool takes_any_batch(const Graph& graph);

// Of CheckpointInfo::values: updates in the averages of weights; none or 0: there are no averages.
inline constexpr const char* kAveragedValue = "averaged";
// Of TrainingStep::loss_scale(), where there is one.
inline constexpr const char* kLossScaleValue = "loss_scale";
inline constexpr const char* kLossScaleAgeValue = "loss_scale_updates";

// Gives the initializers of `trained` that `states` names the numbers of a checkpoint, or its
// averages of them.
void take_weights(const std::filesystem::path& checkpoint, std::span<const runs::NamedType> states,
                  Graph& trained);

// What somebody needs who runs the network later; see models/model_notes.h.
std::map<std::string, std::string> metadata_of_training(const data::Dataset& training,
                                                        const data::Augmentations& steps);

// model.onnx, of any batch and with this metadata, and model.safetensors; the latter has the
// initializers of `trained` that `states` names.
void write_model(const std::filesystem::path& folder, const std::string& name, const Graph& trained,
                 std::span<const runs::NamedType> states,
                 const std::map<std::string, std::string>& metadata);

}  // namespace trainyard::train
