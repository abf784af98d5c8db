#include "program/judged_network.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "models/model_notes.h"
#include "models/network.h"
#include "program/model_argument.h"
#include "train/run_parts.h"
#include "train/training_network.h"
#include "train/training_set.h"

namespace trainyard::cli {

void JudgedNetwork::declare(Args& args, const std::string& data_help) {
  args.positional("MODEL", model,
                  "a name of 'trainyard models', a path to an .onnx file, or the directory of a "
                  "run");
  args.option(
      "--weights", weights,
      "a safetensors file: weights of a run or a checkpoint (default: the weights in MODEL)");
  args.option("--data", data, data_help);
  args.option("--augment", augment,
              "preprocessing steps without random ones (default: those MODEL was trained with, or "
              "normalize)");
  args.option("--batch", batch, "images in a batch", at_least(1));
  args.option("--classes", classes, "classes of a built-in network; 0: as many as the data has",
              at_least(0));
  args.option("--image", image,
              "height and width of a built-in network's input; 0: that of the pictures",
              at_least(0));
  args.option("--width", width, "width multiplier for a built-in network");
}

bool JudgedNetwork::take_data_of_run() {
  if (!data.empty() || !network::is_path(model)) return false;
  const std::filesystem::path config =
      std::filesystem::path(network::model_file(model)).replace_filename("config.yaml");
  if (!std::filesystem::exists(config)) return false;
  const auto document = YamlDocument::parse(read_file(config), config.string());
  data = document->root().text_or("data", "");
  const auto skip = document->root().find("skip_bad_files");
  skip_bad_files = skip && skip->boolean();
  loss = document->root().text_or("loss", "");
  delta = document->root().number_or("delta", delta);
  if (const auto tokens = document->root().find("length")) length = tokens->integer();
  val_split = document->root().number_or("val_split", 0);
  data_seed = document->root().count_or("data_seed", 1, 0, INT64_MAX);
  return !data.empty();
}

std::unique_ptr<data::Dataset> JudgedNetwork::open(data::Split split) const {
  train::TrainConfig config;
  config.model = model;
  config.weights = weights;
  config.data = data;
  config.skip_bad_files = skip_bad_files;
  config.val_split = val_split;
  config.data_seed = data_seed;
  config.length = length;
  return train::open_set(config, split);
}

onnx_io::Metadata JudgedNetwork::metadata() const {
  return network::metadata_of(model, weights);
}

std::string JudgedNetwork::steps(const onnx_io::Metadata& metadata,
                                 const data::Dataset& set) const {
  if (set.tokens() || set.table()) return "";
  const auto own = network::preparation_of(metadata);
  if (augment.empty() && own) {
    return data::Augmentations(network::steps_for(*own, set), set).evaluation_text();
  }
  if (set.target_kind() == data::TargetKind::kBoxes) {
    const std::string usual = image > 0 ? fmt::format("ssd:{}", image) : "ssd";
    return data::Augmentations(augment.empty() ? usual : augment, set).evaluation_text();
  }
  const auto training = open(data::Split::kTrain);
  return data::Augmentations(augment.empty() ? "normalize" : augment, *training).evaluation_text();
}

std::map<std::string, Shape> JudgedNetwork::given_shapes() const {
  std::map<std::string, Shape> given;
  for (const std::string& text : shapes) {
    auto [name, shape] = parse_shape(text);
    shape[0] = batch;
    given.emplace(std::move(name), std::move(shape));
  }
  return given;
}

Graph JudgedNetwork::load(const std::string& steps, const data::Dataset& set) const {
  if (network::is_path(model)) {
    TY_REQUIRE(classes == 0 && image == 0 && width == 1.0,
               "--classes, --image and --width shape built-in networks; {} is a file", model);
    return network::load(
        {.model = model, .weights = weights, .batch = batch, .shapes = given_shapes()});
  }
  TY_REQUIRE(
      classes == 0 || set.target_kind() != data::TargetKind::kClass || classes == set.num_classes(),
      "--classes is {}, but the data has {}", classes, set.num_classes());
  train::TrainConfig config;
  config.model = model;
  config.augment = steps;
  config.classes = classes;
  config.image = image;
  config.width = width;
  config.auxiliary_weight = 0;  // heads that only training has
  Graph graph = train::build_training_network(config, set, batch);
  if (!weights.empty()) network::load_weights(graph, weights);
  return graph;
}

void JudgedNetwork::require_fit(const Graph& graph, const data::Augmentations& pictures) const {
  TY_REQUIRE(graph.inputs().size() == 1, "{} has {} inputs, expected one for pictures", model,
             graph.inputs().size());
  train::require_input_shape(graph.value(graph.inputs()[0]).type.shape, batch, pictures);
}

}  // namespace trainyard::cli
