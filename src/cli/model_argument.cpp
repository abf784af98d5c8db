#include "cli/model_argument.h"

#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "models/model.h"
#include "onnx_io/import.h"

namespace trainyard::cli {
namespace {

bool is_path(const std::string& model) {
  return model.ends_with(".onnx") || model.find('/') != std::string::npos ||
         (models::find_model(model) == nullptr && std::filesystem::exists(model));
}

int64_t parse_dim(const std::string& text, const std::string& shape) {
  int64_t dim = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, dim);
  TY_REQUIRE(result.ec == std::errc() && result.ptr == end && dim > 0,
             "--shape {}: '{}' is not a positive dimension; expected NAME=1,3,224,224", shape,
             text);
  return dim;
}

}  // namespace

std::pair<std::string, Shape> parse_shape(const std::string& text) {
  const size_t equals = text.rfind('=');
  TY_REQUIRE(equals != std::string::npos && equals > 0, "--shape {}: expected NAME=1,3,224,224",
             text);
  std::vector<int64_t> dims;
  for (const std::string& part : split(text.substr(equals + 1), ',')) {
    dims.push_back(parse_dim(part, text));
  }
  return {text.substr(0, equals), Shape(std::move(dims))};
}

void ModelArgument::declare(Args& args, bool required) {
  const char* const help = "a name of 'trainyard models', or a path to an .onnx file";
  if (required) {
    args.positional("MODEL", text_, help);
  } else {
    args.optional_positional("MODEL", text_, help);
  }
  args.option("--batch", batch_, "images in a batch (1 if absent)");
  declare_shape(args);
}

void ModelArgument::declare_single(Args& args) {
  args.positional("MODEL", text_, "a name of 'trainyard models', or a path to an .onnx file");
  batch_ = 1;
  declare_shape(args);
}

void ModelArgument::declare_shape(Args& args) {
  args.repeated("--shape", shapes_, "shape of an input of a file, as NAME=1,3,224,224");
  args.option("--classes", classes_, "classes of a built-in network");
  args.option("--image", image_, "height and width of a built-in network's input");
  args.option("--width", width_, "width multiplier of a built-in network");
  args.flag("--auxiliary", auxiliary_, "with the auxiliary classifiers of a built-in network");
}

Graph ModelArgument::load(const std::string& model) const {
  TY_REQUIRE(!batch_ || *batch_ > 0, "--batch is {}, expected 1 or more", *batch_);
  if (is_path(model)) return load_file(model);
  TY_REQUIRE(shapes_.empty(), "--shape is for .onnx files; {} takes --batch and --image", model);
  TY_REQUIRE(!image_ || *image_ > 0, "--image is {}, expected 1 or more", *image_);
  TY_REQUIRE(!classes_ || *classes_ > 0, "--classes is {}, expected 1 or more", *classes_);
  models::ModelOptions options;
  options.batch = batch_.value_or(1);
  options.classes = classes_.value_or(0);
  options.image = image_.value_or(0);
  options.width = width_.value_or(1.0);
  options.auxiliary = auxiliary_;
  return models::build_model(model, options);
}

Graph ModelArgument::load_file(const std::string& path) const {
  TY_REQUIRE(!classes_ && !image_ && !width_ && !auxiliary_,
             "--classes, --image, --width and --auxiliary shape built-in networks; {} is a file, "
             "which takes --batch and --shape",
             path);
  onnx_io::ImportOptions options;
  options.batch = batch_;
  for (const std::string& shape : shapes_) options.shapes.insert(parse_shape(shape));
  return onnx_io::import_model(path, options);
}

std::string model_label(const std::string& model) {
  return is_path(model) ? std::filesystem::path(model).filename().string() : model;
}

int64_t batch_of(const Graph& graph) {
  if (graph.inputs().empty()) return 1;
  const Shape& shape = graph.value(graph.inputs()[0]).type.shape;
  return shape.rank() == 0 ? 1 : shape[0];
}

}  // namespace trainyard::cli
