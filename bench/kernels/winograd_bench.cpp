// Winograd against oneDNN's direct convolution on the 3x3 and 5x5 stride-1 layers of the compared
// networks: time, effective GFLOP/s, ratio, and error against a sum in double.
//
//   winograd_bench [--net NAME] [--threads T] [--batch N] [--seconds S per layer] [--tiles 246]
//
// Weights rotate through copies that overflow the third-level cache, as they do in a network.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include <dnnl.hpp>
#include <fmt/core.h>

#include "engine/kernels/native/conv/winograd.h"
#include "side_by_side.h"

namespace trainyard::bench {
namespace {

using namespace kernels::native;

struct Layer {
  const char* net;
  int64_t in;
  int64_t out;
  int64_t size;
  int count;  // how many such layers the network has
  int64_t kernel = 3;
};

constexpr Layer kLayers[] = {
    {"vgg19", 3, 64, 224, 1},         {"vgg19", 64, 64, 224, 1},
    {"vgg19", 64, 128, 112, 1},       {"vgg19", 128, 128, 112, 1},
    {"vgg19", 128, 256, 56, 1},       {"vgg19", 256, 256, 56, 3},
    {"vgg19", 256, 512, 28, 1},       {"vgg19", 512, 512, 28, 3},
    {"vgg19", 512, 512, 14, 4},       {"resnet50", 64, 64, 56, 3},
    {"resnet50", 128, 128, 28, 3},    {"resnet50", 256, 256, 14, 5},
    {"resnet50", 512, 512, 7, 2},     {"googlenet", 64, 192, 56, 1},
    {"googlenet", 96, 128, 28, 1},    {"googlenet", 128, 192, 28, 1},
    {"googlenet", 96, 208, 14, 1},    {"googlenet", 112, 224, 14, 1},
    {"googlenet", 128, 256, 14, 1},   {"googlenet", 144, 288, 14, 1},
    {"googlenet", 160, 320, 14, 1},   {"googlenet", 160, 320, 7, 1},
    {"googlenet", 192, 384, 7, 1},    {"densenet121", 128, 32, 56, 6},
    {"densenet121", 128, 32, 28, 12}, {"densenet121", 128, 32, 14, 24},
    {"densenet121", 128, 32, 7, 16},  {"squeezenet", 16, 64, 55, 2},
    {"squeezenet", 32, 128, 27, 2},   {"squeezenet", 48, 192, 13, 2},
    {"squeezenet", 64, 256, 13, 2},   {"alexnet", 64, 192, 27, 1, 5},
    {"alexnet", 192, 384, 13, 1},     {"alexnet", 384, 256, 13, 1},
    {"alexnet", 256, 256, 13, 1},     {"googlenet", 16, 32, 28, 1, 5},
    {"googlenet", 32, 96, 28, 1, 5},  {"googlenet", 24, 64, 14, 2, 5},
    {"googlenet", 32, 128, 14, 2, 5}, {"googlenet", 48, 128, 7, 1, 5},
};

struct Options {
  std::string net;
  int threads = 2;
  int64_t batch = 1;
  double seconds = 0.5;
  std::string tiles = "24";
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--net") options.net = value;
    if (flag == "--threads") options.threads = std::stoi(value);
    if (flag == "--batch") options.batch = std::stoll(value);
    if (flag == "--seconds") options.seconds = std::stod(value);
    if (flag == "--tiles") options.tiles = value;
  }
  return options;
}

int copies_of(int64_t bytes) {
  constexpr int64_t kMoreThanTheCache = int64_t{64} << 20;
  return static_cast<int>(std::clamp<int64_t>(kMoreThanTheCache / bytes, 2, 16));
}

struct Data {
  Data(const Layer& layer, int64_t batch)
      : pixels(layer.size * layer.size),
        in_blocks((layer.in + 7) / 8),
        out_blocks((layer.out + 7) / 8),
        plain(make_floats(batch * layer.in * pixels)),
        src(make_floats(batch * in_blocks * 8 * pixels)),
        dst(make_floats(batch * out_blocks * 8 * pixels)),
        weights(make_floats(layer.in * layer.out * layer.kernel * layer.kernel)),
        bias(make_floats(layer.out)) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    // Weights as initialized by He et al., inputs as they are after a Relu.
    const float deviation =
        std::sqrt(2.0F / static_cast<float>(layer.in * layer.kernel * layer.kernel));
    const int64_t count = layer.in * layer.out * layer.kernel * layer.kernel;
    for (int64_t i = 0; i < count; ++i) weights[i] = normal(random) * deviation;
    for (int64_t i = 0; i < layer.out; ++i) bias[i] = normal(random) * 0.1F;
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t c = 0; c < layer.in; ++c) {
        for (int64_t i = 0; i < pixels; ++i) {
          const float value = std::max(0.0F, normal(random));
          plain[(n * layer.in + c) * pixels + i] = value;
          src[((n * in_blocks + c / 8) * pixels + i) * 8 + c % 8] = value;
        }
      }
    }
  }

  int64_t pixels, in_blocks, out_blocks;
  Floats plain, src, dst, weights, bias;
};

// oneDNN's own choice of layouts, with bias and Relu.
class Direct {
 public:
  Direct(const Layer& layer, int64_t batch, const Data& data) : stream_(engine_) {
    using namespace dnnl;
    const auto f32 = memory::data_type::f32;
    const auto any = memory::format_tag::any;
    const auto nchw = memory::format_tag::nchw;
    const memory::dims in = {batch, layer.in, layer.size, layer.size};
    const memory::dims filter = {layer.out, layer.in, layer.kernel, layer.kernel};
    const int64_t pad = layer.kernel / 2;
    post_ops ops;
    ops.append_eltwise(1.0F, algorithm::eltwise_relu, 0.0F, 0.0F);
    primitive_attr attributes;
    attributes.set_post_ops(ops);
    const convolution_forward::desc desc(
        prop_kind::forward_inference, algorithm::convolution_direct,
        {in, f32, layer.in == 3 ? nchw : any}, {filter, f32, any},
        {{layer.out}, f32, memory::format_tag::x},
        {{batch, layer.out, layer.size, layer.size}, f32, any}, {1, 1}, {pad, pad}, {pad, pad});
    const convolution_forward::primitive_desc primitive(desc, attributes, engine_);
    conv_ = convolution_forward(primitive);
    src_ = reordered({in, f32, nchw}, data.plain.get(), primitive.src_desc());
    dst_ = memory(primitive.dst_desc(), engine_);
    bias_ = memory(primitive.bias_desc(), engine_, data.bias.get());
    const int copies = copies_of(layer.in * layer.out * layer.kernel * layer.kernel * 4);
    for (int i = 0; i < copies; ++i) {
      weights_.push_back(reordered({filter, f32, memory::format_tag::oihw}, data.weights.get(),
                                   primitive.weights_desc()));
    }
  }

  void run(int round) {
    conv_.execute(stream_,
                  {{DNNL_ARG_SRC, src_},
                   {DNNL_ARG_WEIGHTS, weights_[static_cast<size_t>(round) % weights_.size()]},
                   {DNNL_ARG_BIAS, bias_},
                   {DNNL_ARG_DST, dst_}});
    stream_.wait();
  }

 private:
  dnnl::memory reordered(const dnnl::memory::desc& from, float* data,
                         const dnnl::memory::desc& to) {
    dnnl::memory plain(from, engine_, data);
    dnnl::memory result(to, engine_);
    dnnl::reorder(plain, result).execute(stream_, plain, result);
    stream_.wait();
    return result;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_;
  dnnl::convolution_forward conv_;
  dnnl::memory src_, dst_, bias_;
  std::vector<dnnl::memory> weights_;
};

class Ours {
 public:
  Ours(const Layer& layer, const Options& options, WinogradTile tile, Data& data)
      : threads_(options.threads), data_(data) {
    const WinogradShape shape = {.batch = options.batch,
                                 .in_channels = layer.in,
                                 .out_channels = layer.out,
                                 .height = layer.size,
                                 .width = layer.size,
                                 .kernel = layer.kernel,
                                 .pad_top = layer.kernel / 2,
                                 .pad_left = layer.kernel / 2,
                                 .pad_bottom = layer.kernel / 2,
                                 .pad_right = layer.kernel / 2};
    do {
      convs_.push_back(
          std::make_unique<WinogradConv>(shape, tile, data.weights.get(), data.bias.get(), kRelu));
    } while (static_cast<int>(convs_.size()) < copies_of(convs_[0]->weight_bytes()));
    scratch_ = make_floats(convs_[0]->scratch_bytes(threads_) / 4);
  }

  void run(int round) {
    convs_[static_cast<size_t>(round) % convs_.size()]->run(
        data_.src.get(), nullptr, data_.dst.get(), scratch_.get(), threads_);
  }

 private:
  int threads_;
  Data& data_;
  std::vector<std::unique_ptr<WinogradConv>> convs_;
  Floats scratch_;
};

double exact(const Layer& layer, const Data& data, int64_t n, int64_t k, int64_t y, int64_t x) {
  const int64_t pad = layer.kernel / 2;
  double sum = double{data.bias[k]};
  for (int64_t c = 0; c < layer.in; ++c) {
    for (int64_t i = std::max<int64_t>(0, pad - y); i < layer.kernel; ++i) {
      for (int64_t j = std::max<int64_t>(0, pad - x); j < layer.kernel; ++j) {
        if (y + i - pad >= layer.size || x + j - pad >= layer.size) continue;
        const int64_t pixel = (y + i - pad) * layer.size + x + j - pad;
        const int64_t tap = ((k * layer.in + c) * layer.kernel + i) * layer.kernel + j;
        sum += double{data.weights[tap]} *
               double{data.plain[(n * layer.in + c) * data.pixels + pixel]};
      }
    }
  }
  return sum;
}

struct ErrorOfScale {
  double max = 0;
  double mean = 0;
};

// Of data.dst, over a sample of outputs, in units of the outputs' root mean square before Relu.
ErrorOfScale error_of(const Layer& layer, int64_t batch, const Data& data) {
  constexpr int kSamples = 2000;
  std::mt19937 random(2);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random()) % n; };
  ErrorOfScale error;
  double squares = 0;
  for (int i = 0; i < kSamples; ++i) {
    const int64_t n = below(batch);
    const int64_t k = below(layer.out);
    const int64_t y = below(layer.size);
    const int64_t x = below(layer.size);
    const double sum = exact(layer, data, n, k, y, x);
    const int64_t at = (n * data.out_blocks + k / 8) * data.pixels + y * layer.size + x;
    const double difference = std::abs(std::max(sum, 0.0) - double{data.dst[at * 8 + k % 8]});
    error.max = std::max(error.max, difference);
    error.mean += difference / kSamples;
    squares += sum * sum / kSamples;
  }
  const double scale = std::sqrt(squares);
  return {error.max / scale, error.mean / scale};
}

void compare(const Layer& layer, const Options& options) {
  Data data(layer, options.batch);
  Direct direct(layer, options.batch, data);
  std::vector<std::unique_ptr<Ours>> ours;
  std::vector<std::function<void(int)>> candidates = {[&](int round) { direct.run(round); }};
  for (const char edge : options.tiles) {
    if (edge == '6' && layer.kernel == 5) continue;
    const auto tile = static_cast<WinogradTile>(edge - '0');
    ours.push_back(std::make_unique<Ours>(layer, options, tile, data));
    candidates.emplace_back([conv = ours.back().get()](int round) { conv->run(round); });
  }
  const std::vector<double> seconds = time_in_turns(candidates, options.threads, options.seconds);
  const double flops = 2.0 * static_cast<double>(options.batch * data.pixels * layer.in *
                                                 layer.out * layer.kernel * layer.kernel);
  fmt::print("| {:11} | {} | {:3} | {:3} | {:3} | {:2} | {} | {:8.3f} | {:5.0f} |", layer.net,
             layer.kernel, layer.in, layer.out, layer.size, layer.count, options.batch,
             seconds[0] * 1e3, flops / seconds[0] * 1e-9);
  for (size_t i = 0; i < ours.size(); ++i) {
    ours[i]->run(0);
    const ErrorOfScale error = error_of(layer, options.batch, data);
    fmt::print(" {:8.3f} | {:5.0f} | {:4.2f} | {:.0e} | {:.0e} |", seconds[i + 1] * 1e3,
               flops / seconds[i + 1] * 1e-9, seconds[0] / seconds[i + 1], error.max, error.mean);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace trainyard::bench

int main(int argc, char** argv) {
  using namespace trainyard::bench;
  const Options options = parse(argc, argv);
  fmt::print("| network | window | in | out | size | layers | batch | oneDNN ms | GFLOP/s |");
  for (const char edge : options.tiles) {
    fmt::print(" F{} ms | GFLOP/s | ratio | max error | mean error |", edge);
  }
  fmt::print("\n|---|---|---|---|---|---|---|---|---|");
  for (size_t i = 0; i < options.tiles.size(); ++i) fmt::print("---|---|---|---|---|");
  fmt::print("\n");
  for (const Layer& layer : kLayers) {
    if (options.net.empty() || options.net == layer.net) compare(layer, options);
  }
}
