#include "base/error.h"
#include "base/file.h"
#include "data/picture_input.h"
#include "detect/exported.h"
#include "onnx_io/import.h"
#include "onnx_io/metadata.h"
#include "onnx_io/model_reader.h"
#include "serve/models/network.h"

namespace trainyard::serve {

namespace {

void take_metadata(const onnx_io::Metadata& metadata, NetworkSource& source) {
  source.labels = onnx_io::class_names(metadata);
  source.shapes = detect::shapes_of(metadata);
  const auto steps = metadata.find(onnx_io::kStepsKey);
  const auto picture = metadata.find(onnx_io::kPictureKey);
  if (steps == metadata.end() || picture == metadata.end()) return;
  source.picture.training = {data::parse_picture_shape(picture->second), steps->second};
}

}  // namespace

NetworkSource file_source(const std::filesystem::path& path) {
  const auto bytes = std::make_shared<std::string>(read_file(path));
  NetworkSource source;
  try {
    const Bytes view = std::as_bytes(std::span(*bytes));
    source.declared = onnx_io::read_model(view, bytes, path.parent_path()).inputs;
    take_metadata(onnx_io::read_metadata(view, "metadata"), source);
  } catch (const Error& error) {
    throw_error("{}: {}", path.string(), error.what());
  }
  source.build = [bytes, path](const onnx_io::ImportOptions& options) {
    try {
      return onnx_io::import_bytes(*bytes, path.string(), options);
    } catch (const onnx_io::UnsupportedOperators&) {
      throw;
    } catch (const Error&) {
      // Bytes in memory have no files beside them; if that was not the trouble, this says the same.
      return onnx_io::import_model(path, options);
    }
  };
  return source;
}

NetworkSource model_source(const network::Request& request) {
  if (network::is_path(request.model) && request.weights.empty()) {
    return file_source(network::model_file(request.model));
  }
  NetworkSource source;
  take_metadata(network::metadata_of(request.model, request.weights), source);
  source.build = [request](const onnx_io::ImportOptions& options) {
    network::Request bound = request;
    bound.batch =
        options.shapes.empty() ? options.batch.value_or(1) : options.shapes.begin()->second[0];
    return network::load(bound);
  };
  const Graph graph = source.build({});
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    onnx_io::DeclaredInput input{.name = value.name, .dtype = value.type.dtype, .dims = {}};
    input.dims.emplace();
    for (const int64_t dim : value.type.shape.dims()) input.dims->push_back({dim, ""});
    if (!input.dims->empty()) input.dims->front() = {std::nullopt, "batch"};
    source.declared.push_back(std::move(input));
  }
  return source;
}

}  // namespace trainyard::serve
