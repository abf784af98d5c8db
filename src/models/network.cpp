#include "models/network.h"

#include <filesystem>

#include "base/checked.h"
#include "base/error.h"
#include "models/hugging_face.h"
#include "models/onnx/import.h"
#include "models/zoo/model.h"
#include "runs/checkpoint.h"
#include "runs/run_directory.h"
#include "runs/weights/weights_file.h"

namespace trainyard::network {
namespace {

namespace fs = std::filesystem;

Graph load_file(const Request& request) {
  TY_REQUIRE(!request.classes && !request.image && !request.length && !request.width &&
                 !request.vocabulary && request.sizes == models::TransformerSizes{} &&
                 !request.auxiliary,
             "classes, image, length, width, sizes and auxiliary shape built-in networks; {} is a "
             "file, which "
             "takes batch and shape",
             request.model);
  return onnx_io::import_model(model_file(request.model),
                               {.batch = request.batch, .shapes = request.shapes});
}

Graph build(const Request& request) {
  TY_REQUIRE(request.shapes.empty(), "shape is for .onnx files; {} takes batch and image",
             request.model);
  TY_REQUIRE(!request.image || *request.image > 0, "image is {}, expected 1 or more",
             *request.image);
  TY_REQUIRE(!request.classes || *request.classes > 0, "classes is {}, expected 1 or more",
             *request.classes);
  TY_REQUIRE(!request.length || *request.length > 0, "length is {}, expected 1 or more",
             *request.length);
  models::ModelOptions options;
  options.batch = request.batch.value_or(1);
  options.classes = request.classes.value_or(0);
  options.image = request.image.value_or(0);
  options.length = request.length.value_or(0);
  options.rows = request.rows.value_or(0);
  options.vocabulary = request.vocabulary.value_or(0);
  options.end_of_text = request.end_of_text;
  options.sizes = request.sizes;
  options.form = request.form;
  options.token_scores = request.token_scores;
  options.span_scores = request.span_scores;
  options.width = request.width.value_or(1.0);
  options.auxiliary = request.auxiliary;
  return models::build_model(request.model, options);
}

// Sums of these bytes are taken in many places; none can leave 64 bits.
void require_countable(const Graph& graph) {
  int64_t bytes = 0;
  for (size_t i = 0; i < graph.value_limit(); ++i) {
    const TensorType& type = graph.value(ValueId{static_cast<int32_t>(i)}).type;
    if (type.shape.is_static()) checked_add(bytes, type.num_bytes());
  }
}

}  // namespace

bool is_path(const std::string& model) {
  return model.ends_with(".onnx") || model.find('/') != std::string::npos ||
         (models::find_model(model) == nullptr && fs::exists(model));
}

std::string model_file(const std::string& path) {
  TY_REQUIRE(fs::exists(path), "{}: cannot be opened: there is no such file or run.{}", path,
             runs::did_you_mean_run(path));
  if (!fs::is_directory(path)) return path;
  const fs::path file = fs::path(path) / "model.onnx";
  TY_REQUIRE(fs::exists(file) || !fs::exists(fs::path(path) / "config.yaml"),
             "{}: the run has no model.onnx yet; it is written when training ends "
             "(trainyard train --resume {})",
             path, path);
  TY_REQUIRE(fs::exists(file), "{}: a folder without model.onnx is no run directory", path);
  return file.string();
}

onnx_io::Metadata metadata_of(const std::string& model, const std::string& weights) {
  onnx_io::Metadata metadata;
  if (!weights.empty()) {
    const auto file = runs::open_weights(weights);
    for (const runs::WeightsNote& note : file->notes()) {
      if (note.name.starts_with(runs::kNotePrefix)) metadata.emplace(note.name, note.value);
    }
  }
  if (is_hugging_face(model)) {
    metadata.merge(hugging_face_metadata(model));
  } else if (is_path(model)) {
    metadata.merge(onnx_io::read_metadata(model_file(model)));
  }
  return metadata;
}

std::string label(const std::string& model) {
  if (!is_path(model)) return model;
  const fs::path path = fs::path(model).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

Graph load(const Request& request) {
  TY_REQUIRE(!request.model.empty(),
             "MODEL is empty; expected a name of 'trainyard models', an "
             ".onnx file or a run directory");
  TY_REQUIRE(!request.batch || *request.batch > 0, "`batch` is {}, expected 1 or more",
             *request.batch);
  Graph graph = is_hugging_face(request.model) ? load_hugging_face(request)
                : is_path(request.model)       ? load_file(request)
                                               : build(request);
  require_countable(graph);
  if (!request.weights.empty()) load_weights(graph, request.weights);
  return graph;
}

}  // namespace trainyard::network
