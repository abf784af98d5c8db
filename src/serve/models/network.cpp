#include "serve/models/network.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "data/picture_input.h"
#include "detect/exported.h"
#include "onnx_io/import.h"
#include "runtime/compiler.h"

namespace trainyard::serve {
namespace {

// Of shapes that only requests bring.
constexpr size_t kMostShapes = 16;
constexpr int64_t kDefaultMaxBatch = 8;
// For a dimension that is open while outputs are looked at; anything will do.
constexpr int64_t kProbeDim = 64;

std::vector<TensorSpec> specs_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<TensorSpec> specs;
  for (const ValueId id : ids) {
    const Value& value = graph.value(id);
    specs.push_back({value.name, value.type.dtype, value.type.shape.vector()});
  }
  return specs;
}

std::vector<TensorSpec> declared_specs(const std::vector<onnx_io::DeclaredInput>& declared) {
  std::vector<TensorSpec> specs;
  for (const onnx_io::DeclaredInput& input : declared) {
    TensorSpec spec{input.name, input.dtype, {}};
    TY_REQUIRE(input.dims.has_value(), "input '{}' has no shape, so it cannot be served",
               input.name);
    for (const onnx_io::DeclaredDim& dim : *input.dims) spec.dims.push_back(dim.value.value_or(-1));
    specs.push_back(std::move(spec));
  }
  return specs;
}

bool all_open_in_front(const std::vector<TensorSpec>& specs) {
  return !specs.empty() && std::all_of(specs.begin(), specs.end(), [](const TensorSpec& spec) {
    return !spec.dims.empty() && spec.dims[0] < 0;
  });
}

Shapes probe_shapes(const std::vector<TensorSpec>& inputs, int64_t batch) {
  Shapes shapes;
  for (const TensorSpec& spec : inputs) {
    std::vector<int64_t> dims = spec.dims;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0) dims[i] = i == 0 ? batch : kProbeDim;
    }
    shapes.emplace_back(std::move(dims));
  }
  return shapes;
}

// Dimensions that differ between two sizes are open; nothing if the first does not count rows.
std::optional<std::vector<TensorSpec>> open_outputs(std::vector<TensorSpec> one,
                                                    const std::vector<TensorSpec>& two) {
  for (size_t i = 0; i < one.size(); ++i) {
    std::vector<int64_t>& dims = one[i].dims;
    if (dims.empty() || two[i].dims.size() != dims.size()) return std::nullopt;
    if (dims[0] != 1 || two[i].dims[0] != 2) return std::nullopt;
    if (!std::equal(dims.begin() + 1, dims.end(), two[i].dims.begin() + 1)) return std::nullopt;
    if (std::find(dims.begin(), dims.end(), Shape::kUnknown) != dims.end()) return std::nullopt;
    dims[0] = -1;
  }
  return one;
}

// Whether steps are long enough, on average, for a second thread. On a busy machine it may come
// late, and then a short step waits many times its own length: LeNet-5 took 80 ms in place of 0.04.
bool worth_threads(const runtime::Executable& executable) {
  constexpr double kLeastFlops = 1e6;  // some 50 us of one core
  double flops = 0;
  for (const runtime::StepInfo& step : executable.steps()) {
    flops += static_cast<double>(step.cost.flops);
  }
  return flops >= kLeastFlops * static_cast<double>(executable.steps().size());
}

std::vector<int64_t> powers_of_two(int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < most; size *= 2) sizes.push_back(size);
  sizes.push_back(most);
  return sizes;
}

}  // namespace

Network::Network(NetworkSource source, ModelConfig& config, int threads)
    : source_(std::move(source)), threads_(threads) {
  inputs_ = declared_specs(source_.declared);
  for (const TensorSpec& spec : inputs_) {
    const auto rest = spec.dims.begin() + (spec.dims.empty() ? 0 : 1);
    has_open_dims_ = has_open_dims_ || std::find(rest, spec.dims.end(), -1) != spec.dims.end();
  }
  probe(config);
  check_types();
  check_declared(config);
  check_training();
  if (max_batch_ > 0) {
    sizes_ =
        config.preferred_batches.empty() ? powers_of_two(max_batch_) : config.preferred_batches;
    for (const int64_t size : sizes_) {
      TY_REQUIRE(size >= 1 && size <= max_batch_,
                 "model '{}': preferred_batch_size {} is not in 1 to max_batch_size {}",
                 config.name, size, max_batch_);
    }
    sizes_.insert(sizes_.end(), {1, max_batch_});
    std::sort(sizes_.begin(), sizes_.end());
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  }
  config.max_batch = max_batch_;
  config.preferred_batches = max_batch_ > 0 ? sizes_ : std::vector<int64_t>{};
  config.inputs = inputs_;
  config.outputs = outputs_;
  for (TensorSpec& spec : config.inputs) {
    if (max_batch_ > 0) spec.dims.erase(spec.dims.begin());
  }
  for (TensorSpec& spec : config.outputs) {
    if (max_batch_ > 0) spec.dims.erase(spec.dims.begin());
  }
}

// Detectors are asked with one picture at a time: what they find has no rows.
void Network::prepare_detector(const Graph& graph) {
  decodes_ = detect::is_detector(graph);
  finds_objects_ = decodes_ || (detect::gives_detections(graph) && takes_pictures());
  if (!finds_objects_) return;
  TY_REQUIRE(!source_.picture.given,
             "the network is a detector, whose pictures are prepared as its file says; leave out "
             "--mean, --std and --resize");
  inputs_[0].dims[0] = 1;
  if (!source_.picture.training) {
    source_.picture.training = {data::parse_picture_shape("3x?x?"),
                                detect::default_steps(inputs_[0].dims[2])};
  }
}

void Network::probe(const ModelConfig& config) {
  const bool wants_batch = config.max_batch.value_or(1) > 0;
  if (wants_batch && !all_open_in_front(inputs_) && config.max_batch) {
    throw_error(
        "model '{}': max_batch_size is {}, but the first dimension of its inputs is fixed; "
        "set max_batch_size to 0",
        config.name, *config.max_batch);
  }
  if (wants_batch && all_open_in_front(inputs_)) {
    const Graph one = build(probe_shapes(inputs_, 1));
    prepare_detector(one);
    if (finds_objects_) return probe_alone();
    const Graph two = build(probe_shapes(inputs_, 2));
    const auto open = open_outputs(specs_of(one, one.outputs()), specs_of(two, two.outputs()));
    TY_REQUIRE(open || !config.max_batch,
               "model '{}': max_batch_size is {}, but the first dimension of its outputs does not "
               "follow that of its inputs; set max_batch_size to 0",
               config.name, *config.max_batch);
    if (open) {
      outputs_ = *open;
      max_batch_ = config.max_batch.value_or(kDefaultMaxBatch);
      return;
    }
  }
  probe_alone();
}

// Without a batch.
void Network::probe_alone() {
  Graph graph = build(probe_shapes(inputs_, 1));
  if (!finds_objects_) {
    prepare_detector(graph);
    if (decodes_) graph = build(probe_shapes(inputs_, 1));
  }
  outputs_ = specs_of(graph, graph.outputs());
  if (has_open_dims_ || all_open_in_front(inputs_)) {
    // What the outputs become depends on the request.
    for (TensorSpec& spec : outputs_) std::fill(spec.dims.begin(), spec.dims.end(), -1);
  }
  has_open_dims_ = has_open_dims_ || all_open_in_front(inputs_);
}

void Network::check_types() const {
  for (const auto* specs : {&inputs_, &outputs_}) {
    for (const TensorSpec& spec : *specs) {
      TY_REQUIRE(has_protocol_name(spec.dtype),
                 "'{}' has elements of type {}, which requests and answers cannot carry", spec.name,
                 dtype_name(spec.dtype));
    }
  }
}

void Network::check_declared(const ModelConfig& config) const {
  const auto check = [&](const std::vector<TensorSpec>& declared,
                         const std::vector<TensorSpec>& actual, std::string_view kind) {
    for (const TensorSpec& spec : declared) {
      std::vector<std::string> names;
      for (const TensorSpec& known : actual) names.push_back(known.name);
      const auto found = std::find(names.begin(), names.end(), spec.name);
      TY_REQUIRE(found != names.end(),
                 "model '{}': the configuration has the {} '{}', the network "
                 "has {}",
                 config.name, kind, spec.name, join(names, ", "));
      const TensorSpec& real = actual[static_cast<size_t>(found - names.begin())];
      TY_REQUIRE(real.dtype == spec.dtype,
                 "model '{}': {} '{}' is {} in the configuration and {} in the network",
                 config.name, kind, spec.name, protocol_name(spec.dtype),
                 protocol_name(real.dtype));
    }
  };
  check(config.inputs, inputs_, "input");
  check(config.outputs, outputs_, "output");
}

bool Network::takes_pictures() const {
  if (inputs_.size() != 1 || inputs_[0].dtype != DType::kF32) return false;
  const std::vector<int64_t>& dims = inputs_[0].dims;
  return dims.size() == 4 && (dims[1] == 1 || dims[1] == 3) && dims[2] > 0 && dims[3] > 0;
}

Tensor Network::input_of(const data::Image& picture) const {
  const TensorSpec& spec = inputs_[0];
  const auto& training = source_.picture.training;
  if (!training) {
    return data::preprocess(picture, spec.dims[1], spec.dims[2], spec.dims[3],
                            source_.picture.preprocessing);
  }
  Tensor pixels = data::apply_steps(picture, training->shape, training->steps);
  TY_REQUIRE(std::equal(spec.dims.begin() + 1, spec.dims.end(), pixels.shape().dims().begin() + 1),
             "the preprocessing in the model's file, '{}' of pictures {}, gives {}, but input '{}' "
             "is {}; say --mean, --std or --resize",
             training->steps, training->shape.to_string(), pixels.type().to_string(), spec.name,
             dims_text(spec.dims));
  return pixels;
}

// Steps that do not fit the network are a reason not to load it, as far as they can be known.
void Network::check_training() const {
  const auto& training = source_.picture.training;
  if (!takes_pictures() || !training || !training->shape.is_fixed()) return;
  const auto bytes = static_cast<size_t>(training->shape.plane() * data::kColors);
  input_of({training->shape.height, training->shape.width, std::vector<uint8_t>(bytes)});
}

Shapes Network::shapes_of(int64_t rows) const {
  return probe_shapes(inputs_, rows);
}

Graph Network::build(const Shapes& shapes) const {
  TY_CHECK(source_.build != nullptr, "shapes asked for after the source was dropped");
  onnx_io::ImportOptions options;
  for (size_t i = 0; i < shapes.size(); ++i) {
    options.shapes.emplace(source_.declared[i].name, shapes[i]);
  }
  Graph graph = source_.build(options);
  if (decodes_) detect::detect_outputs(graph, source_.shapes, {});
  return graph;
}

runtime::Executable Network::executable(const Shapes& shapes, CompiledForm form) {
  const std::lock_guard lock(mutex_);
  form.threads = std::min(form.threads, threads_);
  const auto found = std::find_if(compiled_.begin(), compiled_.end(), [&](const Compiled& entry) {
    return entry.shapes == shapes && entry.form == form;
  });
  if (found != compiled_.end()) {
    compiled_.splice(compiled_.begin(), compiled_, found);
    return compiled_.front().executable;
  }
  runtime::CompileOptions options;
  options.threads = form.threads;
  options.share_constants = true;
  options.compact_constants = form.compact;
  runtime::Executable executable = runtime::compile(build(shapes), options);
  const bool small = !worth_threads(executable);
  if (form.threads > 1 && small) {
    options.threads = 1;
    executable = runtime::compile(build(shapes), options);
  }
  // The largest batch comes first, before anybody else asks.
  if (small && compiled_.empty() && !has_open_dims_) {
    small_ = true;
    threads_ = form.threads = 1;
  }
  compiled_.push_front({shapes, form, executable, !has_open_dims_});
  size_t passing = 0;
  for (auto it = compiled_.begin(); it != compiled_.end();) {
    passing += it->kept ? 0 : 1;
    it = !it->kept && passing > kMostShapes ? compiled_.erase(it) : std::next(it);
  }
  return executable;
}

void Network::drop_compiled(bool compact) {
  const std::lock_guard lock(mutex_);
  compiled_.remove_if([&](const Compiled& entry) { return entry.form.compact == compact; });
}

int64_t Network::constant_bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t most = 0;
  for (const Compiled& entry : compiled_) {
    most = std::max(most, entry.executable.constant_bytes());
  }
  return most;
}

void Network::drop_source() {
  if (!has_open_dims_) source_.build = nullptr;
}

}  // namespace trainyard::serve
