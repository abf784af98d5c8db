#include "program/model_argument.h"

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "models/zoo/model.h"

namespace trainyard::cli {
namespace {

constexpr const char* kModelHelp =
    "a name of 'trainyard models', a path to an .onnx file, or the directory of a run";

int64_t parse_dim(const std::string& text, const std::string& shape) {
  const auto dim = parse_number<int64_t>(text);
  TY_REQUIRE(dim && *dim > 0,
             "--shape {}: '{}' is not a positive dimension; expected NAME=1,3,224,224", shape,
             text);
  return *dim;
}

}  // namespace

std::pair<std::string, Shape> parse_shape(const std::string& text) {
  // The last one: names of inputs may contain "=".
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
  if (required) {
    args.positional("MODEL", text_, kModelHelp);
  } else {
    args.optional_positional("MODEL", text_, kModelHelp);
  }
  args.option("--batch", request_.batch, "images in a batch (default: 1)");
  declare_shape(args);
}

// For commands whose answer is about one picture, where --batch would mean nothing.
void ModelArgument::declare_single(Args& args) {
  args.positional("MODEL", text_, kModelHelp);
  request_.batch = 1;
  declare_shape(args);
}

void ModelArgument::declare_shape(Args& args) {
  args.option(
      "--weights", request_.weights,
      "a safetensors file: weights of a run or a checkpoint (default: the weights in MODEL)");
  args.repeated("--shape", shapes_, "shape of an input of a file, as NAME=1,3,224,224");
  args.option("--classes", request_.classes, "classes of a built-in network");
  args.option("--image", request_.image, "height and width of a built-in network's input");
  args.option("--length", request_.length, "tokens in the input of a built-in network of texts");
  args.option("--width", request_.width, "width multiplier for a built-in network");
  args.flag("--auxiliary", request_.auxiliary,
            "include the auxiliary classifiers of a built-in network");
}

network::Request ModelArgument::request(const std::string& model) const {
  network::Request request = request_;
  request.model = model;
  for (const std::string& shape : shapes_) request.shapes.insert(parse_shape(shape));
  return request;
}

bool ModelArgument::is_bare_name() const {
  const network::Request& r = request_;
  return models::find_model(text_) != nullptr && shapes_.empty() && r.weights.empty() &&
         r.batch.value_or(1) == 1 && !r.classes && !r.image && !r.length && !r.width &&
         !r.auxiliary;
}

Graph ModelArgument::load(const std::string& model) const {
  return network::load(request(model));
}

// --shape wins over shapes that were derived from input files: insert() leaves what is there.
Graph ModelArgument::load_for(const std::map<std::string, Shape>& shapes) const {
  network::Request wanted = request(text_);
  wanted.shapes.insert(shapes.begin(), shapes.end());
  return network::load(wanted);
}

}  // namespace trainyard::cli
