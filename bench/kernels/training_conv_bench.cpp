// The convolutions of a training step: our kernels against oneDNN's, with weights that change.
//
//   training_conv_bench [--net NAME] [--threads T] [--batch N] [--seconds S per kernel] [--op OP]
//
// Each layer's Conv, ConvGradInput and ConvGradWeight, every operand in the layout the kernel
// wants; reordering operands is not counted.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include <fmt/core.h>

#include "engine/kernels/kernel_table.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/builder.h"
#include "ops/op_def.h"
#include "side_by_side.h"

namespace trainyard::bench {
namespace {

using kernels::KernelDef;
using Ints = std::vector<int64_t>;

struct Layer {
  const char* net;
  int64_t batch, in, out, size, kernel, stride, group;
  int count;  // how many such layers the network has
};

constexpr Layer kLayers[] = {
    {"resnet18-cifar", 64, 3, 64, 32, 3, 1, 1, 1},
    {"resnet18-cifar", 64, 64, 64, 32, 3, 1, 1, 4},
    {"resnet18-cifar", 64, 64, 128, 32, 3, 2, 1, 1},
    {"resnet18-cifar", 64, 128, 128, 16, 3, 1, 1, 3},
    {"resnet18-cifar", 64, 128, 256, 16, 3, 2, 1, 1},
    {"resnet18-cifar", 64, 256, 256, 8, 3, 1, 1, 3},
    {"resnet18-cifar", 64, 256, 512, 8, 3, 2, 1, 1},
    {"resnet18-cifar", 64, 512, 512, 4, 3, 1, 1, 3},
    {"resnet20-cifar", 128, 3, 16, 32, 3, 1, 1, 1},
    {"resnet20-cifar", 128, 16, 16, 32, 3, 1, 1, 6},
    {"resnet20-cifar", 128, 16, 32, 32, 3, 2, 1, 1},
    {"resnet20-cifar", 128, 32, 32, 16, 3, 1, 1, 5},
    {"resnet20-cifar", 128, 32, 64, 16, 3, 2, 1, 1},
    {"resnet20-cifar", 128, 64, 64, 8, 3, 1, 1, 5},
    {"resnet50", 8, 3, 64, 224, 7, 2, 1, 1},
    {"resnet50", 8, 64, 64, 56, 3, 1, 1, 3},
    {"resnet50", 8, 64, 256, 56, 1, 1, 1, 4},
    {"resnet50", 8, 256, 64, 56, 1, 1, 1, 2},
    {"resnet50", 8, 128, 128, 56, 3, 2, 1, 1},
    {"resnet50", 8, 256, 512, 56, 1, 2, 1, 1},
    {"resnet50", 8, 128, 128, 28, 3, 1, 1, 3},
    {"resnet50", 8, 128, 512, 28, 1, 1, 1, 4},
    {"resnet50", 8, 512, 128, 28, 1, 1, 1, 3},
    {"resnet50", 8, 256, 256, 14, 3, 1, 1, 5},
    {"resnet50", 8, 256, 1024, 14, 1, 1, 1, 6},
    {"resnet50", 8, 1024, 256, 14, 1, 1, 1, 5},
    {"resnet50", 8, 512, 512, 7, 3, 1, 1, 2},
    {"resnet50", 8, 512, 2048, 7, 1, 1, 1, 3},
    {"resnet50", 8, 2048, 512, 7, 1, 1, 1, 2},
    {"vgg16", 8, 3, 64, 224, 3, 1, 1, 1},
    {"vgg16", 8, 64, 64, 224, 3, 1, 1, 1},
    {"vgg16", 8, 128, 128, 112, 3, 1, 1, 1},
    {"vgg16", 8, 256, 256, 56, 3, 1, 1, 2},
    {"vgg16", 8, 512, 512, 28, 3, 1, 1, 2},
    {"vgg16", 8, 512, 512, 14, 3, 1, 1, 3},
    {"mobilenet_v2", 16, 3, 32, 224, 3, 2, 1, 1},
    {"mobilenet_v2", 16, 32, 32, 112, 3, 1, 32, 1},
    {"mobilenet_v2", 16, 96, 96, 112, 3, 2, 96, 1},
    {"mobilenet_v2", 16, 144, 144, 56, 3, 1, 144, 1},
    {"mobilenet_v2", 16, 144, 144, 56, 3, 2, 144, 1},
    {"mobilenet_v2", 16, 192, 192, 28, 3, 1, 192, 2},
    {"mobilenet_v2", 16, 384, 384, 14, 3, 1, 384, 4},
    {"mobilenet_v2", 16, 960, 960, 7, 3, 1, 960, 3},
    {"mobilenet_v2", 16, 16, 96, 112, 1, 1, 1, 1},
    {"mobilenet_v2", 16, 24, 144, 56, 1, 1, 1, 2},
    {"mobilenet_v2", 16, 144, 24, 56, 1, 1, 1, 1},
    {"mobilenet_v2", 16, 64, 384, 14, 1, 1, 1, 4},
    {"mobilenet_v2", 16, 384, 64, 14, 1, 1, 1, 3},
    {"lenet5", 128, 1, 6, 28, 5, 1, 1, 1},
    {"lenet5", 128, 6, 16, 14, 5, 1, 1, 1},
};

struct Options {
  std::string net;
  std::string op;
  int threads = 2;
  int64_t batch = 0;
  double seconds = 0.2;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--net") options.net = value;
    if (flag == "--op") options.op = value;
    if (flag == "--threads") options.threads = std::stoi(value);
    if (flag == "--batch") options.batch = std::stoll(value);
    if (flag == "--seconds") options.seconds = std::stod(value);
  }
  return options;
}

// A graph of one node whose inputs all change between runs.
Graph node_graph(const Layer& layer, const std::string& op) {
  Graph graph;
  ops::Builder b(graph);
  const int64_t pad = layer.kernel / 2;
  const int64_t out_size = (layer.size + 2 * pad - layer.kernel) / layer.stride + 1;
  const TensorType x = {DType::kF32, {layer.batch, layer.in, layer.size, layer.size}};
  const TensorType w = {DType::kF32,
                        {layer.out, layer.in / layer.group, layer.kernel, layer.kernel}};
  const TensorType y = {DType::kF32, {layer.batch, layer.out, out_size, out_size}};
  Attributes attributes = {{"pads", Ints{pad, pad, pad, pad}},
                           {"strides", Ints{layer.stride, layer.stride}},
                           {"group", layer.group}};
  ValueId result;
  if (op == "Conv") {
    result = b.add(op, {b.input("x", x), b.input("w", w)}, attributes);
  } else if (op == "ConvGradInput") {
    attributes["input_shape"] = x.shape.vector();
    result = b.add(op, {b.input("dy", y), b.input("w", w)}, attributes);
  } else {
    attributes["weight_shape"] = w.shape.vector();
    result = b.add(op, {b.input("x", x), b.input("dy", y)}, attributes);
  }
  graph.set_outputs({result});
  return graph;
}

// The element (in row-major order) that lies at each place does not matter for time, but must for
// comparing results: operands are filled through their layouts.
Floats fill(const TensorType& type, const Layout& layout, uint32_t seed) {
  Floats data = make_floats(layout.span_elements(type.shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const Ints strides = type.shape.strides();
  Ints index(static_cast<size_t>(type.shape.rank()));
  for (int64_t i = 0; i < type.shape.num_elements(); ++i) {
    for (size_t axis = 0; axis < index.size(); ++axis) {
      index[axis] = i / strides[axis] % type.shape[static_cast<int64_t>(axis)];
    }
    data[layout.offset(type.shape, index)] = normal(random);
  }
  return data;
}

// One kernel with its operands.
class Candidate {
 public:
  Candidate(const KernelDef& def, const NodeView& node, const kernels::NodeLayouts& layouts)
      : type_(node.output_type(0)), layout_(layouts.outputs[0]) {
    kernel_ = def.create_in(node, layouts);
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      data_.push_back(fill(node.input_type(i), layouts.inputs[i], static_cast<uint32_t>(i)));
      inputs_.push_back(view(node.input_type(i), data_.back().get()));
    }
    data_.push_back(make_floats(layout_.span_elements(type_.shape)));
    outputs_.push_back(view(type_, data_.back().get()));
    data_.push_back(make_floats(kernel_->scratch_bytes() / 4 + 1));
    args_ = {inputs_,
             outputs_,
             {reinterpret_cast<std::byte*>(data_.back().get()),
              static_cast<size_t>(kernel_->scratch_bytes())}};
    bound_ = kernel_->bind(args_);
  }

  void run() {
    if (bound_) {
      bound_->run();
    } else {
      kernel_->run(args_);
    }
  }
  std::string detail() const { return kernel_->detail(); }
  double at(std::span<const int64_t> index) const {
    return double{outputs_[0].as<float>()[layout_.offset(type_.shape, index)]};
  }

 private:
  static TensorView view(const TensorType& type, float* data) {
    TensorView view;
    view.dtype = type.dtype;
    view.shape = &type.shape;
    view.data = data;
    return view;
  }

  TensorType type_;
  Layout layout_;
  std::unique_ptr<kernels::Kernel> kernel_;
  std::vector<Floats> data_;
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
  kernels::KernelArgs args_;
  std::unique_ptr<kernels::BoundKernel> bound_;
};

// Largest difference over a sample of outputs, in units of their root mean square.
double difference(const Candidate& a, const Candidate& b, const Shape& shape) {
  std::mt19937 random(2);
  double squares = 0;
  double largest = 0;
  constexpr int kSamples = 4000;
  for (int i = 0; i < kSamples; ++i) {
    Ints index;
    for (const int64_t size : shape.dims()) index.push_back(static_cast<int64_t>(random()) % size);
    squares += b.at(index) * b.at(index) / kSamples;
    largest = std::max(largest, std::abs(a.at(index) - b.at(index)));
  }
  return largest / std::sqrt(squares);
}

std::unique_ptr<Candidate> candidate(const NodeView& node, std::string_view library) {
  for (const KernelDef* def : kernels::kernels_of(node.op())) {
    if (def->library != library || def->layouts == nullptr) continue;
    if (def->refuses != nullptr && !def->refuses(node).empty()) continue;
    const std::vector<Layout> offered(node.num_inputs());
    if (const auto layouts = def->layouts(node, offered)) {
      return std::make_unique<Candidate>(*def, node, *layouts);
    }
  }
  return nullptr;
}

void compare(const Layer& layer, const std::string& op, const Options& options) {
  const Graph graph = node_graph(layer, op);
  const NodeView node(graph, graph.node_ids()[0]);
  const auto theirs = candidate(node, "onednn");
  const auto ours = candidate(node, "native");
  std::vector<std::function<void(int)>> candidates;
  for (Candidate* one : {theirs.get(), ours.get()}) {
    if (one != nullptr) candidates.emplace_back([one](int) { one->run(); });
  }
  if (candidates.empty()) return;
  const std::vector<double> seconds = time_in_turns(candidates, options.threads, options.seconds);
  const double flops = 2.0 * static_cast<double>(ops::node_cost(node).macs);
  fmt::print("| {:14} | {:14} | {:3} | {:4} | {:4} | {:3} | {} | {} | {:2} |", layer.net, op,
             layer.batch, layer.in, layer.out, layer.size, layer.kernel, layer.stride, layer.count);
  size_t next = 0;
  for (Candidate* one : {theirs.get(), ours.get()}) {
    if (one == nullptr) {
      fmt::print(" | | |");
      continue;
    }
    const double time = seconds[next++];
    fmt::print(" {:12} | {:7.3f} | {:4.0f} |", one->detail(), time * 1e3, flops / time * 1e-9);
  }
  if (candidates.size() == 2) {
    fmt::print(" {:4.2f} | {:.0e} |", seconds[0] / seconds[1],
               difference(*ours, *theirs, node.output_shape(0)));
  } else {
    fmt::print(" | |");
  }
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace trainyard::bench

int main(int argc, char** argv) {
  using namespace trainyard::bench;
  const Options options = parse(argc, argv);
  trainyard::kernels::set_threads(options.threads);
  fmt::print(
      "| network | op | batch | in | out | size | window | stride | layers | oneDNN | ms | GFLOP/s "
      "| native | ms | GFLOP/s | ratio | difference |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (Layer layer : kLayers) {
    if (!options.net.empty() && options.net != layer.net) continue;
    if (options.batch > 0) layer.batch = options.batch;
    for (const std::string op : {"Conv", "ConvGradInput", "ConvGradWeight"}) {
      if (!options.op.empty() && options.op != op) continue;
      if (op == "ConvGradInput" && layer.in < 4 && layer.group == 1) continue;
      compare(layer, op, options);
    }
  }
}
