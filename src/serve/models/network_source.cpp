#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "models/detection/exported.h"
#include "models/hugging_face.h"
#include "models/model_notes.h"
#include "models/onnx/metadata.h"
#include "models/onnx/model_reader.h"
#include "models/onnx/model_snapshot.h"
#include "models/table_input.h"
#include "serve/models/network.h"

namespace trainyard::serve {

namespace {

void take_metadata(const onnx_io::Metadata& metadata, NetworkSource& source) {
  source.labels = onnx_io::class_names(metadata);
  source.shapes = detect::shapes_of(metadata);
  source.picture.training = network::preparation_of(metadata);
  source.table = network::table_of(metadata);
}

// `origin` is what errors name.
NetworkSource held_source(const std::shared_ptr<const onnx_io::ModelSnapshot>& model,
                          const std::string& origin) {
  NetworkSource source;
  try {
    onnx_io::FileGraph graph = model->read();
    source.declared = std::move(graph.inputs);
    for (const onnx_io::FileOutput& output : graph.outputs) {
      source.outputs.push_back({.name = output.name,
                                .dtype = output.dtype.value_or(DType::kF32),
                                .dims = output.dims,
                                .form = output.form});
    }
    take_metadata(onnx_io::read_metadata(model->bytes(), "metadata"), source);
  } catch (const Error& error) {
    throw_error("{}: {}", origin, error.what());
  }
  source.build = [model](const onnx_io::ImportOptions& options) { return model->import(options); };
  return source;
}

}  // namespace

NetworkSource file_source(const std::filesystem::path& path) {
  return held_source(std::make_shared<const onnx_io::ModelSnapshot>(path), path.string());
}

NetworkSource bytes_source(std::string bytes, const std::string& origin) {
  return held_source(std::make_shared<const onnx_io::ModelSnapshot>(std::move(bytes), origin),
                     origin);
}

void fix_shapes(NetworkSource& source, const std::map<std::string, Shape>& shapes) {
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, shape] : shapes) {
    std::vector<std::string> names;
    for (const onnx_io::DeclaredInput& input : source.declared) names.push_back(input.name);
    const auto found = std::find(names.begin(), names.end(), name);
    TY_REQUIRE(found != names.end(), "`shape` {}: there is no such input; the inputs are {}.{}",
               name, join(names, ", "), did_you_mean(name, names));
    onnx_io::DeclaredInput& input = source.declared[static_cast<size_t>(found - names.begin())];
    if (!input.dims) input.dims.emplace(static_cast<size_t>(shape.rank()));
    TY_REQUIRE(shape.rank() == static_cast<int64_t>(input.dims->size()),
               "`shape` {} has {} dimensions, the input has {}", name, shape.rank(),
               input.dims->size());
    for (size_t i = 0; i < input.dims->size(); ++i) {
      onnx_io::DeclaredDim& dim = (*input.dims)[i];
      const int64_t size = shape[static_cast<int64_t>(i)];
      if (size < 0) continue;
      TY_REQUIRE(!dim.value || *dim.value == size,
                 "`shape` {}: dimension {} is {}, the file has {}", name, i, size, *dim.value);
      dim.value = size;
      if (!dim.symbol.empty()) sizes.emplace(dim.symbol, size);
    }
  }
  for (auto* tensors : {&source.declared, &source.outputs}) {
    for (onnx_io::DeclaredInput& tensor : *tensors) {
      if (!tensor.dims) continue;
      for (onnx_io::DeclaredDim& dim : *tensor.dims) {
        const auto size = sizes.find(dim.symbol);
        if (!dim.value && size != sizes.end()) dim.value = size->second;
      }
    }
  }
}

NetworkSource model_source(const network::Request& request) {
  if (network::is_path(request.model) && request.weights.empty() &&
      !network::is_hugging_face(request.model)) {
    NetworkSource source = file_source(network::model_file(request.model));
    fix_shapes(source, request.shapes);
    return source;
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
