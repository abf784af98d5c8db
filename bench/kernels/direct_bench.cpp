// Direct convolutions of ResNet-50, MobileNet and others, beside oneDNN's for the same layout, with
// Relu.
//
//   direct_bench [--threads T] [--batch N] [--seconds S per layer]
//
// Weights rotate through copies that overflow the second-level cache, as they do in a network.
#include <string>

#include <dnnl.hpp>
#include <fmt/core.h>

#include "engine/kernels/native/conv/direct_conv.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/parallel/parallel.h"
#include "side_by_side.h"

namespace trainyard::bench {
namespace {

using namespace kernels::native;
using dnnl::memory;

constexpr auto kF32 = memory::data_type::f32;
constexpr int kCopies = 4;

struct Layer {
  int64_t in, out, size;
  int64_t kernel = 1;
  int64_t stride = 1;
};

constexpr Layer kLayers[] = {
    {64, 64, 56},         {64, 256, 56},        {256, 64, 56},          {256, 128, 56},
    {256, 512, 56, 1, 2}, {128, 512, 28},       {512, 128, 28},         {512, 1024, 28, 1, 2},
    {256, 1024, 14},      {1024, 256, 14},      {1024, 2048, 14, 1, 2}, {512, 2048, 7},
    {2048, 512, 7},       {128, 128, 56, 3, 2}, {256, 256, 28, 3, 2},   {512, 512, 14, 3, 2},
    {16, 96, 112},        {24, 144, 56},        {144, 24, 56},          {32, 192, 28},
    {192, 32, 28},        {96, 576, 14},        {576, 96, 14},          {160, 960, 7},
    {960, 160, 7},        {320, 1280, 7},       {64, 16, 55},           {192, 48, 27},
    {256, 64, 13}};

int64_t padding(const Layer& layer) {
  return layer.kernel / 2;
}

int64_t out_size(const Layer& layer) {
  return (layer.size + 2 * padding(layer) - layer.kernel) / layer.stride + 1;
}

dnnl::convolution_forward::primitive_desc describe(const Layer& layer, int64_t batch,
                                                   const dnnl::engine& engine) {
  dnnl::post_ops ops;
  ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  const auto blocked =
      channel_block() == 16 ? memory::format_tag::nChw16c : memory::format_tag::nChw8c;
  const int64_t size = out_size(layer);
  const int64_t pad = padding(layer);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      {{batch, layer.in, layer.size, layer.size}, kF32, blocked},
      {{layer.out, layer.in, layer.kernel, layer.kernel}, kF32, memory::format_tag::any},
      {{layer.out}, kF32, memory::format_tag::x}, {{batch, layer.out, size, size}, kF32, blocked},
      {layer.stride, layer.stride}, {pad, pad}, {pad, pad});
  return {desc, attributes, engine};
}

void compare(const Layer& layer, int64_t batch, int threads, double budget) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto primitive = describe(layer, batch, engine);
  const dnnl::convolution_forward conv(primitive);
  const DirectShape shape{.batch = batch,
                          .in_channels = layer.in,
                          .out_channels = layer.out,
                          .height = layer.size,
                          .width = layer.size,
                          .kernel = layer.kernel,
                          .stride = layer.stride,
                          .pad_top = padding(layer),
                          .pad_left = padding(layer),
                          .pad_bottom = padding(layer),
                          .pad_right = padding(layer),
                          .block = channel_block()};
  const int64_t filters = layer.in * layer.out * layer.kernel * layer.kernel;
  const Floats x = make_floats(batch * (layer.in + 15) * layer.size * layer.size);
  const Floats y = make_floats(batch * (layer.out + 15) * out_size(layer) * out_size(layer));
  const Floats zeros = make_floats(filters);
  memory src(primitive.src_desc(), engine, x.get());
  memory bias(primitive.bias_desc(), engine, zeros.get());
  memory dst(primitive.dst_desc(), engine, y.get());
  std::vector<Floats> packed;
  std::vector<DirectConv> ours;
  for (int i = 0; i < kCopies; ++i) {
    packed.push_back(
        make_floats(static_cast<int64_t>(primitive.weights_desc().get_size() / sizeof(float))));
    ours.emplace_back(shape, zeros.get(), zeros.get(), kRelu);
  }
  const Floats scratch = make_floats(
      std::max<int64_t>(16, ours[0].scratch_bytes(threads) / static_cast<int64_t>(sizeof(float))));
  const auto seconds =
      time_in_turns({[&](int round) {
                       const memory weights(primitive.weights_desc(), engine,
                                            packed[static_cast<size_t>(round % kCopies)].get());
                       conv.execute(stream, {{DNNL_ARG_SRC, src},
                                             {DNNL_ARG_WEIGHTS, weights},
                                             {DNNL_ARG_BIAS, bias},
                                             {DNNL_ARG_DST, dst}});
                       stream.wait();
                     },
                     [&](int round) {
                       ours[static_cast<size_t>(round % kCopies)].run(x.get(), nullptr, y.get(),
                                                                      scratch.get(), threads);
                     }},
                    threads, budget);
  const double flops =
      2e-9 * static_cast<double>(batch * filters * out_size(layer) * out_size(layer));
  fmt::print("| {}x{}{} {} to {}, {}x{} | {} | {:.3f} | {:.0f} | {:.3f} | {:.0f} | {:.2f} |\n",
             layer.kernel, layer.kernel, layer.stride == 1 ? "" : " stride 2", layer.in, layer.out,
             layer.size, layer.size, primitive.impl_info_str(), seconds[0] * 1e3,
             flops / seconds[0], seconds[1] * 1e3, flops / seconds[1], seconds[0] / seconds[1]);
  std::fflush(stdout);
}

}  // namespace
}  // namespace trainyard::bench

int main(int argc, char** argv) {
  using namespace trainyard::bench;
  int threads = 2;
  int64_t batch = 1;
  double budget = 0.5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--threads") threads = std::stoi(argv[i + 1]);
    if (flag == "--batch") batch = std::stoll(argv[i + 1]);
    if (flag == "--seconds") budget = std::stod(argv[i + 1]);
  }
  trainyard::kernels::set_threads(threads);
  fmt::print(
      "| layer | oneDNN | ms | GFLOP/s | native ms | GFLOP/s | ratio |\n"
      "|---|---|---:|---:|---:|---:|---:|\n");
  for (const Layer& layer : kLayers) compare(layer, batch, threads, budget);
}
