// Convolutions of quantized networks in float and in int8, each as the compiler would run it, in
// turns: time, how many times faster, and which share of the int8 peak, which is measured in the
// same turns.
//
//   int8_bench [--threads T] [--seconds S per layer] [--json]
//
// With one thread the clock is processor time, so that other programs do not count.
#include <cstdlib>
#include <string>

#include <fmt/core.h>

#include "engine/bench.h"
#include "engine/compiler.h"
#include "engine/kernels/native/int8/byte_kernels.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/peak.h"
#include "ops/builder.h"
#include "side_by_side.h"

namespace trainyard::bench {
namespace {

struct Layer {
  const char* kind;
  int64_t in;
  int64_t out;
  int64_t size;
  int64_t window;
  int64_t stride = 1;
  int64_t groups = 1;

  int64_t result() const { return (size + 2 * (window / 2) - window) / stride + 1; }
  double products() const {
    const int64_t of_group = in / groups;
    return static_cast<double>(of_group * out * window * window * result() * result());
  }
};

constexpr Layer kLayers[] = {
    {"stem", 3, 64, 224, 7, 2},
    {"stem", 3, 32, 224, 3, 2},
    {"dense 3x3", 64, 64, 56, 3},
    {"dense 3x3", 128, 128, 28, 3},
    {"dense 3x3", 256, 256, 14, 3},
    {"dense 3x3", 512, 512, 7, 3},
    {"dense 3x3, stride 2", 128, 128, 56, 3, 2},
    {"1x1", 64, 256, 56, 1},
    {"1x1", 256, 64, 56, 1},
    {"1x1", 1024, 256, 14, 1},
    {"1x1", 512, 512, 14, 1},
    {"1x1", 512, 2048, 7, 1},
    {"1x1", 32, 64, 112, 1},
    {"1x1", 24, 144, 56, 1},
    {"1x1", 144, 24, 56, 1},
    {"grouped 3x3", 128, 128, 28, 3, 1, 4},
    {"depthwise 3x3", 32, 32, 112, 3, 1, 32},
    {"depthwise 3x3", 128, 128, 56, 3, 1, 128},
    {"depthwise 3x3", 512, 512, 14, 3, 1, 512},
    {"depthwise 3x3, stride 2", 64, 64, 112, 3, 2, 64},
    {"linear", 2048, 1000, 1, 1},
};

Tensor small_weights(const Shape& shape) {
  Tensor tensor(DType::kI8, shape);
  int64_t i = 0;
  for (int8_t& w : tensor.values<int8_t>()) w = static_cast<int8_t>(i++ * 37 % 129 - 64);
  return tensor;
}

// Input, convolution, Relu; between bytes for int8.
Graph graph_of(const Layer& layer, bool bytes) {
  Graph graph("layer");
  ops::Builder b(graph);
  const Shape w{layer.out, layer.in / layer.groups, layer.window, layer.window};
  const auto scale = [&](float value) {
    return b.constant_scalar(graph.unique_name("scale"), value);
  };
  const ValueId zero = bytes ? b.constant("zero", Tensor::scalar(uint8_t{3})) : kNoValue;
  ValueId x =
      b.input("x", {bytes ? DType::kU8 : DType::kF32, {1, layer.in, layer.size, layer.size}});
  ValueId weights;
  if (bytes) {
    x = b.add("DequantizeLinear", {x, scale(0.02F), zero});
    weights = b.add("DequantizeLinear", {b.constant("w", small_weights(w)), scale(0.01F)});
  } else {
    weights = b.constant("w", cast(small_weights(w), DType::kF32));
  }
  const int64_t pad = layer.window / 2;
  ValueId y = b.add("Conv", {x, weights},
                    {{"group", layer.groups},
                     {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                     {"strides", std::vector<int64_t>{layer.stride, layer.stride}}});
  y = b.add("Relu", {y});
  if (bytes) y = b.add("QuantizeLinear", {y, scale(0.05F), zero});
  graph.set_outputs({y});
  return graph;
}

// The step of the convolution alone, without the borders.
class LoneLayer {
 public:
  LoneLayer(const Layer& layer, bool bytes, int threads)
      : executable_(compiled(layer, bytes, threads)), context_(executable_) {
    context_.run();
    while (executable_.steps()[step_].cost.macs == 0) ++step_;
  }
  void run() { context_.run_steps(step_, step_ + 1); }
  const std::string& kernel() const { return executable_.steps()[step_].kernel; }

 private:
  static runtime::Executable compiled(const Layer& layer, bool bytes, int threads) {
    runtime::CompileOptions options;
    options.threads = threads;
    return runtime::compile(graph_of(layer, bytes), options);
  }
  runtime::Executable executable_;
  runtime::ExecutionContext context_;
  size_t step_ = 0;
};

int run_all(int threads, double seconds, bool json) {
  constexpr int64_t kRounds = 20'000;
  if (!json) {
    fmt::print("{:<24} {:>20} {:>10} {:>10} {:>7} {:>8} {:>6}  {}\n", "layer", "shape", "float us",
               "int8 us", "ratio", "GMAC/s", "peak", "kernels");
  }
  bool first = true;
  if (json) fmt::print("[");
  for (const Layer& layer : kLayers) {
    LoneLayer floats(layer, /*bytes=*/false, threads);
    LoneLayer bytes(layer, /*bytes=*/true, threads);
    const auto peak = [&](int) {
      kernels::native::parallel(threads, [&](int) { kernels::native::byte_loop(kRounds); });
    };
    const std::vector<double> best = time_in_turns(
        {[&](int) { floats.run(); }, [&](int) { bytes.run(); }, peak}, threads, seconds);
    const double rate = layer.products() / best[1] * 1e-9;
    const double most =
        kernels::native::byte_loop_operations(kRounds) / 2 * threads / best[2] * 1e-9;
    const std::string shape = fmt::format("{}-{} @{}", layer.in, layer.out, layer.size);
    if (json) {
      fmt::print(
          "{}{{\"kind\": \"{}\", \"shape\": \"{}\", \"float_us\": {:.2f}, \"int8_us\": {:.2f}, "
          "\"gmac_per_s\": {:.1f}, \"peak_gmac_per_s\": {:.1f}, \"float_kernel\": \"{}\", "
          "\"int8_kernel\": \"{}\"}}",
          first ? "" : ",\n", layer.kind, shape, best[0] * 1e6, best[1] * 1e6, rate, most,
          floats.kernel(), bytes.kernel());
    } else {
      fmt::print("{:<24} {:>20} {:>10.1f} {:>10.1f} {:>7.2f} {:>8.1f} {:>5.0f}%  {}; {}\n",
                 layer.kind, shape, best[0] * 1e6, best[1] * 1e6, best[0] / best[1], rate,
                 100 * rate / most, floats.kernel(), bytes.kernel());
    }
    first = false;
  }
  if (json) fmt::print("]\n");
  return 0;
}

}  // namespace
}  // namespace trainyard::bench

int main(int argc, char** argv) {
  int threads = 1;
  double seconds = 0.1;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--threads" && i + 1 < argc) threads = std::atoi(argv[++i]);
    if (flag == "--seconds" && i + 1 < argc) seconds = std::atof(argv[++i]);
    if (flag == "--json") json = true;
  }
  return trainyard::bench::run_all(threads, seconds, json);
}
