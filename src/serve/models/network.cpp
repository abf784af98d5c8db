#include "serve/models/network.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "data/picture_input.h"
#include "engine/compiler.h"
#include "engine/device/device_list.h"
#include "models/detection/exported.h"
#include "models/onnx/import.h"

namespace trainyard::serve {
namespace {

// Of shapes that only requests bring.
constexpr size_t kMostShapes = 16;
constexpr int64_t kDefaultMaxBatch = 8;
// For a dimension that is open while outputs are looked at that the file says nothing of; one that
// does not fit does no harm.
constexpr int64_t kProbeDim = 64;

std::vector<TensorSpec> specs_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<TensorSpec> specs;
  for (const ValueId id : ids) {
    const Value& value = graph.value(id);
    specs.push_back({value.name, value.type.dtype, value.type.shape.vector()});
  }
  return specs;
}

// Of a file; where it leaves even the rank open, none.
std::vector<int64_t> dims_of(const onnx_io::DeclaredInput& declared) {
  std::vector<int64_t> dims;
  if (!declared.dims) return dims;
  for (const onnx_io::DeclaredDim& dim : *declared.dims) dims.push_back(dim.value.value_or(-1));
  return dims;
}

const TensorSpec* find_spec(const std::vector<TensorSpec>& specs, std::string_view name) {
  for (const TensorSpec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

// What the configuration says of a tensor, with the batch in front that it leaves out.
TensorSpec with_batch(TensorSpec spec, size_t rank, const ModelConfig& config) {
  const bool batch = config.max_batch ? *config.max_batch > 0 : spec.dims.size() + 1 == rank;
  if (batch) spec.dims.insert(spec.dims.begin(), -1);
  if (batch && spec.outside) spec.outside->insert(spec.outside->begin(), -1);
  return spec;
}

// Dimensions that the file leaves open are as the configuration says; others must agree. `file` has
// those of an output in the file: what it leaves open the configuration may leave open too,
// whatever the shapes of inputs make of it.
void take_declared(const TensorSpec& declared, const ModelConfig& config, std::string_view kind,
                   TensorSpec& real, const std::vector<int64_t>& file = {}) {
  TY_REQUIRE(real.dtype == declared.dtype,
             "model '{}': {} '{}' is {} in the configuration and {} in the network", config.name,
             kind, declared.name, protocol_name(declared.dtype), protocol_name(real.dtype));
  if (declared.dims.empty() && !declared.outside) return;  // it says nothing
  TensorSpec given = with_batch(declared, real.dims.size(), config);
  bool fits = given.dims.size() == real.dims.size();
  for (size_t i = 0; fits && i < real.dims.size(); ++i) {
    const bool both_open = given.dims[i] < 0 && i < file.size() && file[i] < 0;
    fits = real.dims[i] < 0 || given.dims[i] == real.dims[i] || both_open;
  }
  TY_REQUIRE(fits, "model '{}': {} '{}' has dims {} in the configuration{}, and {} in the network",
             config.name, kind, declared.name, dims_text(given.dims),
             config.max_batch.value_or(0) > 0 ? " (with the batch of max_batch_size in front)" : "",
             dims_text(real.dims));
  real.dims = std::move(given.dims);
  real.outside = std::move(given.outside);
}

void check_names(const std::vector<TensorSpec>& declared, const std::vector<TensorSpec>& actual,
                 const ModelConfig& config, std::string_view kind) {
  std::vector<std::string> names;
  for (const TensorSpec& known : actual) names.push_back(known.name);
  for (const TensorSpec& spec : declared) {
    TY_REQUIRE(find_spec(actual, spec.name) != nullptr,
               "model '{}': the configuration has the {} '{}', the network has {}", config.name,
               kind, spec.name, join(names, ", "));
  }
}

std::vector<TensorSpec> input_specs(const std::vector<onnx_io::DeclaredInput>& declared,
                                    const ModelConfig& config) {
  std::vector<TensorSpec> specs;
  for (const onnx_io::DeclaredInput& input : declared) {
    TensorSpec spec{input.name, input.dtype, dims_of(input)};
    const TensorSpec* const given = find_spec(config.inputs, input.name);
    TY_REQUIRE(input.dims || (given != nullptr && !given->dims.empty()),
               "input '{}' has no shape in the file; give its dims in the configuration, or a "
               "shape at the start (`shape` {}=…)",
               input.name, input.name);
    if (!input.dims) spec.dims.assign(with_batch(*given, 0, config).dims.size(), -1);
    if (given != nullptr) take_declared(*given, config, "input", spec);
    specs.push_back(std::move(spec));
  }
  check_names(config.inputs, specs, config, "input");
  return specs;
}

bool all_open_in_front(const std::vector<TensorSpec>& specs) {
  return !specs.empty() && std::all_of(specs.begin(), specs.end(), [](const TensorSpec& spec) {
    return !spec.dims.empty() && spec.dims[0] < 0;
  });
}

bool is_open(int64_t dim) {
  return dim < 0;
}

// Beside a batch in front of all of them.
bool any_open(const std::vector<TensorSpec>& specs) {
  const ptrdiff_t from = all_open_in_front(specs) ? 1 : 0;
  return std::any_of(specs.begin(), specs.end(), [&](const TensorSpec& spec) {
    return std::any_of(spec.dims.begin() + from, spec.dims.end(), is_open);
  });
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
    : source_(std::move(source)),
      device_(device::open_network_device(config.device)),
      precision_(kernels::precision_named(config.precision)),
      threads_(threads) {
  inputs_ = input_specs(source_.declared, config);
  has_open_dims_ = any_open(inputs_);
  probe(config);
  check_types();
  check_names(config.outputs, outputs_, config, "output");
  for (TensorSpec& spec : outputs_) {
    const TensorSpec* const given = find_spec(config.outputs, spec.name);
    if (given == nullptr) continue;
    const auto in_file = std::find_if(source_.outputs.begin(), source_.outputs.end(),
                                      [&](const auto& output) { return output.name == spec.name; });
    const bool known = in_file != source_.outputs.end();
    take_declared(*given, config, "output", spec,
                  known ? dims_of(*in_file) : std::vector<int64_t>{});
  }
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
  for (auto* specs : {&config.inputs, &config.outputs}) {
    for (TensorSpec& spec : *specs) {
      if (max_batch_ == 0) continue;
      spec.dims.erase(spec.dims.begin());
      if (spec.outside) spec.outside->erase(spec.outside->begin());
    }
  }
}

// Detectors are asked with one picture at a time: what they find has no rows.
void Network::prepare_detector(const Graph& graph) {
  decodes_ = detect::is_detector(graph);
  finds_objects_ = decodes_ || (detect::gives_detections(graph) && takes_pictures());
  if (!finds_objects_) return;
  TY_REQUIRE(!source_.picture.given,
             "the network is a detector, whose pictures are prepared as its file says; leave out "
             "`mean`, `std` and `resize`");
  inputs_[0].dims[0] = 1;
  if (!source_.picture.training) {
    source_.picture.training = detect::usual_preparation(inputs_[0].dims[2]);
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
  if (has_open_dims_) return describe_open(config);
  if (wants_batch && all_open_in_front(inputs_)) {
    const Graph one = build(probe_shapes(1));
    prepare_detector(one);
    if (finds_objects_) return probe_alone();
    const Graph two = build(probe_shapes(2));
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
  Graph graph = build(probe_shapes(1));
  if (!finds_objects_) {
    prepare_detector(graph);
    if (decodes_) graph = build(probe_shapes(1));
  }
  outputs_ = specs_of(graph, graph.outputs());
  if (!all_open_in_front(inputs_)) return;
  // What the outputs become depends on the request.
  has_open_dims_ = true;
  for (TensorSpec& spec : outputs_) std::fill(spec.dims.begin(), spec.dims.end(), -1);
}

// Whether the first dimension of all inputs and outputs, and no other of the inputs, has one name.
bool Network::names_say_batch() const {
  if (!all_open_in_front(inputs_) || source_.outputs.empty()) return false;
  const auto& first = source_.declared[0].dims;
  if (!first || (*first)[0].symbol.empty()) return false;
  const std::string& name = (*first)[0].symbol;
  const auto is_row = [&](const onnx_io::DeclaredInput& tensor) {
    return tensor.dims && !tensor.dims->empty() && (*tensor.dims)[0].symbol == name;
  };
  const auto is_elsewhere = [&](const onnx_io::DeclaredInput& tensor) {
    return std::any_of(tensor.dims->begin() + 1, tensor.dims->end(),
                       [&](const onnx_io::DeclaredDim& dim) { return dim.symbol == name; });
  };
  return std::all_of(source_.declared.begin(), source_.declared.end(), is_row) &&
         std::all_of(source_.outputs.begin(), source_.outputs.end(), is_row) &&
         std::none_of(source_.declared.begin(), source_.declared.end(), is_elsewhere);
}

// Shapes come with requests: the file tells what the outputs are, and a graph of some shape, if
// there is one, what it leaves out.
void Network::describe_open(const ModelConfig& config) {
  bool known = !source_.outputs.empty();
  for (const onnx_io::DeclaredInput& output : source_.outputs) {
    outputs_.push_back({output.name, output.dtype, dims_of(output)});
    known = known && output.dims.has_value();
  }
  const bool may_batch = config.max_batch.value_or(1) > 0 && all_open_in_front(inputs_);
  bool batch = may_batch && names_say_batch();
  if (!known || (may_batch && !batch)) {
    const auto one = try_build(probe_shapes(1));
    const auto two = try_build(probe_shapes(2));
    if (one && !known) {
      outputs_ = specs_of(*one, one->outputs());
      for (TensorSpec& spec : outputs_) std::fill(spec.dims.begin(), spec.dims.end(), -1);
    }
    batch = may_batch && one && two &&
            open_outputs(specs_of(*one, one->outputs()), specs_of(*two, two->outputs()));
  }
  if (outputs_.empty()) outputs_ = specs_of(build(probe_shapes(1)), {});  // says why it cannot be
  const bool rows = std::none_of(outputs_.begin(), outputs_.end(), [](const TensorSpec& spec) {
    return !spec.dims.empty() && spec.dims[0] >= 0;
  });
  TY_REQUIRE(rows || config.max_batch.value_or(0) == 0,
             "model '{}': max_batch_size is {}, but the first dimension of its outputs does not "
             "follow that of its inputs; set max_batch_size to 0",
             config.name, *config.max_batch);
  if (!may_batch || !rows || !(batch || config.max_batch)) return;
  max_batch_ = config.max_batch.value_or(kDefaultMaxBatch);
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
  return network::picture_tensor(picture, *training, {spec.dims[1], spec.dims[2], spec.dims[3]});
}

// Steps that do not fit the network are a reason not to load it, as far as they can be known.
void Network::check_training() const {
  const auto& training = source_.picture.training;
  if (!takes_pictures() || !training || !training->picture) return;
  const data::PictureShape& shape = *training->picture;
  if (!shape.is_fixed()) return;
  const auto bytes = static_cast<size_t>(shape.plane() * data::kColors);
  input_of({shape.height, shape.width, std::vector<uint8_t>(bytes)});
}

Shape Network::seen_shape(size_t output, const Shape& shape) const {
  const TensorSpec& spec = outputs_[output];
  if (!spec.outside || spec.dims.size() != static_cast<size_t>(shape.rank())) return shape;
  Shape seen(reshape_dims(shape.dims(), spec.dims, *spec.outside));
  // A network that gives something else than the configuration says keeps its own.
  return seen.num_elements() == shape.num_elements() ? seen : shape;
}

Shapes Network::shapes_of(int64_t rows) const {
  return probe_shapes(rows);
}

// Dimensions of one name have one size; that of the batch wherever its name stands in front.
Shapes Network::probe_shapes(int64_t batch) const {
  std::map<std::string, int64_t> sizes;
  const auto name_of = [&](size_t input, size_t dim) -> std::string {
    const auto& dims = source_.declared[input].dims;
    return dims && dim < dims->size() ? (*dims)[dim].symbol : "";
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].dims.empty() && inputs_[i].dims[0] < 0) sizes.emplace(name_of(i, 0), batch);
  }
  sizes.erase("");
  Shapes shapes;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::vector<int64_t> dims = inputs_[i].dims;
    for (size_t k = 0; k < dims.size(); ++k) {
      if (dims[k] >= 0) continue;
      const auto named = sizes.find(name_of(i, k));
      dims[k] = named != sizes.end() ? named->second : k == 0 ? batch : kProbeDim;
    }
    shapes.emplace_back(std::move(dims));
  }
  return shapes;
}

std::optional<Graph> Network::try_build(const Shapes& shapes) const {
  try {
    return build(shapes);
  } catch (const onnx_io::UnsupportedOperators&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
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
  options.device = device_;
  options.precision = precision_;
  options.share_constants = true;
  options.compact_constants = form.compact;
  Graph graph = build(shapes);
  for (size_t i = 0; i < graph.value_limit() && !has_texts_; ++i) {
    has_texts_ = graph.value(ValueId{static_cast<int32_t>(i)}).type.dtype == DType::kText;
  }
  runtime::Executable executable = runtime::compile(std::move(graph), options);
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
