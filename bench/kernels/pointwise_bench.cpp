// 1x1 convolutions of SSD300 MobileNet v1 and of others, beside oneDNN's for the same layout
// (blocks of 8 channels), with Relu.
//
//   pointwise_bench [--threads T] [--batch N] [--seconds S per layer]
//
// Weights rotate through copies that overflow the second-level cache, as they do in a network.
#include <string>

#include <dnnl.hpp>
#include <fmt/core.h>

#include "engine/kernels/native/conv/pointwise.h"
#include "engine/kernels/parallel/parallel.h"
#include "side_by_side.h"

namespace trainyard::bench {
namespace {

using namespace kernels::native;
using dnnl::memory;

constexpr auto kF32 = memory::data_type::f32;
constexpr auto kBlocked = memory::format_tag::nChw8c;
constexpr int kCopies = 4;

struct Layer {
  int64_t in, out, size;
};

constexpr Layer kLayers[] = {{32, 64, 150},    {64, 128, 75},   {128, 128, 75}, {128, 256, 38},
                             {256, 256, 38},   {256, 512, 19},  {512, 512, 19}, {512, 1024, 10},
                             {1024, 1024, 10}, {1024, 256, 10}, {64, 256, 56},  {256, 64, 56},
                             {512, 128, 28},   {1024, 256, 14}, {96, 576, 14},  {2048, 512, 7}};

dnnl::convolution_forward::primitive_desc describe(const Layer& layer, int64_t batch,
                                                   const dnnl::engine& engine) {
  dnnl::post_ops ops;
  ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      {{batch, layer.in, layer.size, layer.size}, kF32, kBlocked},
      {{layer.out, layer.in, 1, 1}, kF32, memory::format_tag::any},
      {{layer.out}, kF32, memory::format_tag::x},
      {{batch, layer.out, layer.size, layer.size}, kF32, kBlocked}, {1, 1}, {0, 0}, {0, 0});
  return {desc, attributes, engine};
}

void compare(const Layer& layer, int64_t batch, int threads, double budget) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto primitive = describe(layer, batch, engine);
  const dnnl::convolution_forward conv(primitive);
  const PointwiseShape shape{.batch = batch,
                             .in_channels = layer.in,
                             .out_channels = layer.out,
                             .positions = layer.size * layer.size};
  const Floats x = make_floats(batch * layer.in * shape.positions);
  const Floats y = make_floats(batch * layer.out * shape.positions);
  const Floats zeros = make_floats(layer.in * layer.out);
  memory src(primitive.src_desc(), engine, x.get());
  memory bias(primitive.bias_desc(), engine, zeros.get());
  memory dst(primitive.dst_desc(), engine, y.get());
  std::vector<Floats> packed;
  std::vector<PointwiseConv> ours;
  for (int i = 0; i < kCopies; ++i) {
    packed.push_back(make_floats(layer.in * layer.out));
    ours.emplace_back(shape, zeros.get(), zeros.get(), kRelu);
  }
  const auto seconds = time_in_turns(
      {[&](int round) {
         const memory weights(primitive.weights_desc(), engine,
                              packed[static_cast<size_t>(round % kCopies)].get());
         conv.execute(stream, {{DNNL_ARG_SRC, src},
                               {DNNL_ARG_WEIGHTS, weights},
                               {DNNL_ARG_BIAS, bias},
                               {DNNL_ARG_DST, dst}});
         stream.wait();
       },
       [&](int round) {
         ours[static_cast<size_t>(round % kCopies)].run(x.get(), nullptr, y.get(), threads);
       }},
      threads, budget);
  const double flops = 2e-9 * static_cast<double>(batch * layer.in * layer.out * shape.positions);
  fmt::print("| {} to {}, {}x{} | {} | {:.3f} | {:.0f} | {:.3f} | {:.0f} | {:.2f} |\n", layer.in,
             layer.out, layer.size, layer.size, primitive.impl_info_str(), seconds[0] * 1e3,
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
