// Native kernels other than Winograd against oneDNN's: first convolutions, MobileNet v2's depthwise
// layers, fully connected layers on small batches.
//
//   native_bench [--threads T] [--seconds S per case]
#include <algorithm>
#include <cstring>
#include <string>

#include <dnnl.hpp>
#include <fmt/core.h>

#include "engine/kernels/native/conv/depthwise.h"
#include "engine/kernels/native/conv/stem_conv.h"
#include "engine/kernels/native/gemm/packed_linear.h"
#include "side_by_side.h"

namespace trainyard::bench {
namespace {

using namespace kernels::native;
using dnnl::memory;

constexpr auto kF32 = memory::data_type::f32;
constexpr auto kAny = memory::format_tag::any;

struct DepthwiseLayer {
  int64_t channels;
  int64_t size;
  int64_t stride;
};

constexpr DepthwiseLayer kDepthwise[] = {{32, 112, 1}, {96, 112, 2}, {144, 56, 1}, {144, 56, 2},
                                         {192, 28, 1}, {192, 28, 2}, {384, 14, 1}, {576, 14, 1},
                                         {576, 14, 2}, {960, 7, 1}};

dnnl::engine& engine() {
  static dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::stream& stream() {
  static dnnl::stream instance(engine());
  return instance;
}

memory zeros(const memory::desc& desc) {
  memory result(desc, engine());
  std::memset(result.get_data_handle(), 0, desc.get_size());
  return result;
}

void print_row(const std::string& name, const std::string& implementation, double flops,
               double bytes, const std::vector<double>& seconds) {
  fmt::print("| {} | {} | {:.3f} | {:.0f} | {:.1f} | {:.3f} | {:.0f} | {:.1f} | {:.2f} |\n", name,
             implementation, seconds[0] * 1e3, flops / seconds[0] * 1e-9, bytes / seconds[0] * 1e-9,
             seconds[1] * 1e3, flops / seconds[1] * 1e-9, bytes / seconds[1] * 1e-9,
             seconds[0] / seconds[1]);
  std::fflush(stdout);
}

void compare_stem(int64_t batch, int64_t kernel, int64_t stride, int64_t pad, int64_t out,
                  int threads, double budget) {
  const StemShape shape = {.batch = batch,
                           .out_channels = out,
                           .height = 224,
                           .width = 224,
                           .kernel = kernel,
                           .stride = stride,
                           .pad_top = pad,
                           .pad_left = pad,
                           .pad_bottom = pad,
                           .pad_right = pad};
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      {{batch, 3, 224, 224}, kF32, memory::format_tag::nchw},
      {{out, 3, kernel, kernel}, kF32, kAny}, {{out}, kF32, memory::format_tag::x},
      {{batch, out, shape.out_height(), shape.out_width()}, kF32, kAny}, {stride, stride},
      {pad, pad}, {pad, pad});
  const dnnl::convolution_forward::primitive_desc primitive(desc, engine());
  const dnnl::convolution_forward conv(primitive);
  memory src = zeros(primitive.src_desc());
  memory weights = zeros(primitive.weights_desc());
  memory bias = zeros(primitive.bias_desc());
  memory dst = zeros(primitive.dst_desc());

  const Floats plain = make_floats(out * 3 * kernel * kernel);
  const Floats result = make_floats(batch * out * shape.out_height() * shape.out_width());
  const StemConv ours(shape, plain.get(), nullptr, kIdentity);
  const Floats scratch = make_floats(ours.scratch_bytes(threads) / 4);
  const auto seconds = time_in_turns({[&](int) {
                                        conv.execute(stream(), {{DNNL_ARG_SRC, src},
                                                                {DNNL_ARG_WEIGHTS, weights},
                                                                {DNNL_ARG_BIAS, bias},
                                                                {DNNL_ARG_DST, dst}});
                                        stream().wait();
                                      },
                                      [&](int) {
                                        ours.run(static_cast<const float*>(src.get_data_handle()),
                                                 result.get(), scratch.get(), threads);
                                      }},
                                     threads, budget);
  const double outputs = static_cast<double>(batch * out * shape.out_height() * shape.out_width());
  print_row(fmt::format("{0}x{0} stride {1}, 3 to {2} channels, 224x224, batch {3}", kernel, stride,
                        out, batch),
            primitive.impl_info_str(), outputs * static_cast<double>(6 * kernel * kernel),
            4 * outputs, seconds);
}

void compare_depthwise(const DepthwiseShape& shape, int threads, double budget) {
  const memory::dims stride = {shape.stride, shape.stride};
  dnnl::post_ops ops;
  ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_clip, 0.0F, 6.0F);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      {{shape.batch, shape.channels, shape.height, shape.width}, kF32, kAny},
      {{shape.channels, 1, 1, 3, 3}, kF32, kAny}, {{shape.channels}, kF32, memory::format_tag::x},
      {{shape.batch, shape.channels, shape.out_height(), shape.out_width()}, kF32, kAny}, stride,
      {1, 1}, {1, 1});
  const dnnl::convolution_forward::primitive_desc primitive(desc, attributes, engine());
  const dnnl::convolution_forward conv(primitive);
  memory src = zeros(primitive.src_desc());
  memory weights = zeros(primitive.weights_desc());
  memory bias = zeros(primitive.bias_desc());
  memory dst = zeros(primitive.dst_desc());
  const Floats plain = make_floats(shape.channels * 9);
  const DepthwiseConv ours(shape, plain.get(), nullptr, {0.0F, 6.0F});
  const auto seconds =
      time_in_turns({[&](int) {
                       conv.execute(stream(), {{DNNL_ARG_SRC, src},
                                               {DNNL_ARG_WEIGHTS, weights},
                                               {DNNL_ARG_BIAS, bias},
                                               {DNNL_ARG_DST, dst}});
                       stream().wait();
                     },
                     [&](int) {
                       ours.run(static_cast<const float*>(src.get_data_handle()),
                                static_cast<float*>(dst.get_data_handle()), threads);
                     }},
                    threads, budget);
  const auto outputs =
      static_cast<double>(shape.batch * shape.channels * shape.out_height() * shape.out_width());
  print_row(fmt::format("depthwise 3x3 stride {}, {} channels, {}x{}, batch {}", shape.stride,
                        shape.channels, shape.height, shape.width, shape.batch),
            primitive.impl_info_str(), 18 * outputs, 4 * outputs, seconds);
}

void compare_linear(const LinearShape& shape, int threads, double budget) {
  const dnnl::inner_product_forward::desc desc(
      dnnl::prop_kind::forward_inference,
      {{shape.rows, shape.inputs}, kF32, memory::format_tag::nc},
      {{shape.outputs, shape.inputs}, kF32, kAny}, {{shape.outputs}, kF32, memory::format_tag::x},
      {{shape.rows, shape.outputs}, kF32, memory::format_tag::nc});
  const dnnl::inner_product_forward::primitive_desc primitive(desc, engine());
  const dnnl::inner_product_forward linear(primitive);
  memory src = zeros(primitive.src_desc());
  memory bias = zeros(primitive.bias_desc());
  memory dst = zeros(primitive.dst_desc());
  // Copies that overflow the third-level cache, as a network's other weights do.
  const int64_t bytes = shape.inputs * shape.outputs * 4;
  const auto copies = static_cast<size_t>(std::clamp<int64_t>((int64_t{64} << 20) / bytes, 2, 8));
  const Floats plain = make_floats(shape.inputs * shape.outputs);
  std::vector<memory> weights;
  std::vector<std::unique_ptr<PackedLinear>> ours;
  for (size_t i = 0; i < copies; ++i) {
    weights.push_back(zeros(primitive.weights_desc()));
    ours.push_back(
        std::make_unique<PackedLinear>(shape, plain.get(), shape.inputs, 1, nullptr, kIdentity));
  }
  const Floats scratch = make_floats(ours[0]->scratch_bytes(threads) / 4);
  const auto seconds = time_in_turns(
      {[&](int round) {
         linear.execute(stream(), {{DNNL_ARG_SRC, src},
                                   {DNNL_ARG_WEIGHTS, weights[static_cast<size_t>(round) % copies]},
                                   {DNNL_ARG_BIAS, bias},
                                   {DNNL_ARG_DST, dst}});
         stream().wait();
       },
       [&](int round) {
         ours[static_cast<size_t>(round) % copies]->run(
             static_cast<const float*>(src.get_data_handle()),
             static_cast<float*>(dst.get_data_handle()), scratch.get(), threads);
       }},
      threads, budget);
  print_row(fmt::format("linear {} to {}, batch {}", shape.inputs, shape.outputs, shape.rows),
            primitive.impl_info_str(),
            2 * static_cast<double>(shape.rows * shape.inputs * shape.outputs),
            static_cast<double>(bytes), seconds);
}

}  // namespace
}  // namespace trainyard::bench

int main(int argc, char** argv) {
  using namespace trainyard::bench;
  int threads = 2;
  double budget = 0.5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--threads") threads = std::stoi(argv[i + 1]);
    if (flag == "--seconds") budget = std::stod(argv[i + 1]);
  }
  fmt::print(
      "| layer | oneDNN | ms | GFLOP/s | GB/s | native ms | GFLOP/s | GB/s | ratio |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  for (const int64_t batch : {1, 8}) {
    compare_stem(batch, 11, 4, 2, 64, threads, budget);
    compare_stem(batch, 7, 2, 3, 64, threads, budget);
    compare_stem(batch, 3, 2, 1, 32, threads, budget);
    for (const auto& [channels, size, stride] : kDepthwise) {
      compare_depthwise(
          {.batch = batch, .channels = channels, .height = size, .width = size, .stride = stride},
          threads, budget);
    }
  }
  for (const int64_t rows : {1, 2, 4, 8, 16, 32}) {
    compare_linear({rows, 9216, 4096}, threads, budget);
    compare_linear({rows, 4096, 1000}, threads, budget);
    compare_linear({rows, 2048, 1000}, threads, budget);
  }
}
