#include "models/zoo/layers.h"
#include "studies/calibration/calibration.h"

namespace trainyard::measure {
namespace {

using models::Net;

constexpr int64_t kClasses = 40;

// What follows a convolution.
enum class Tail : uint8_t { kNorm, kNormRelu, kNormRelu6, kBias, kBiasRelu };

// Builds layer after layer, naming them in turn.
class Chain {
 public:
  Chain(int64_t batch, int64_t channels, int64_t side) : net_("calibration") {
    models::ModelOptions options;
    options.batch = batch;
    options.image = side;
    x_ = net_.image(options, channels);
  }

  ValueId value() const { return x_; }
  void set(ValueId x) { x_ = x; }
  int64_t channels() const { return net_.channels(x_); }

  void conv(int64_t out, int64_t kernel, int64_t stride, Tail tail, bool depthwise = false) {
    const models::ConvSpec spec{.out = out,
                                .kernel = kernel,
                                .stride = stride,
                                .pad = kernel / 2,
                                .group = depthwise ? channels() : 1};
    const std::string name = next("conv");
    if (tail == Tail::kBias || tail == Tail::kBiasRelu) {
      x_ = net_.conv(x_, name, spec);
    } else {
      x_ = net_.conv_norm(x_, name, next("norm"), spec);
    }
    if (tail == Tail::kNormRelu || tail == Tail::kBiasRelu) x_ = net_.relu(x_, next("relu"));
    if (tail == Tail::kNormRelu6) x_ = net_.relu6(x_, next("relu"));
  }
  void add(ValueId other) { x_ = net_.add(x_, other, next("add")); }
  void relu() { x_ = net_.relu(x_, next("relu")); }
  void norm() { x_ = net_.batch_norm(x_, next("norm")); }
  void max_pool(int64_t kernel, int64_t stride) {
    x_ = net_.max_pool(x_, next("pool"), {.kernel = kernel, .stride = stride, .pad = kernel / 2});
  }
  void average_pool(int64_t kernel, int64_t stride) {
    x_ = net_.average_pool(x_, next("pool"), {.kernel = kernel, .stride = stride});
  }
  void response_norm() { x_ = net_.local_response_norm(x_, next("response"), 5, 1.0, 1e-4, 0.75); }
  void concat(std::vector<ValueId> parts) { x_ = net_.concat(std::move(parts), next("concat")); }
  void flatten() { x_ = net_.flatten(x_, next("flatten")); }
  void linear(int64_t out) { x_ = net_.linear(x_, next("linear"), out); }

  Graph classify() {
    x_ = net_.global_average(x_, next("average"));
    flatten();
    return finish();
  }
  Graph finish() {
    linear(kClasses);
    return net_.finish({{x_, "logits"}});
  }

 private:
  std::string next(const std::string& kind) { return kind + "_" + std::to_string(count_++) + "_"; }

  Net net_;
  ValueId x_;
  int64_t count_ = 0;
};

struct Layer {
  int64_t out;
  int64_t kernel = 3;
  int64_t stride = 1;
};

struct Input {
  int64_t channels;
  int64_t side;
};

std::function<Graph(int64_t)> convs(Input input, Tail tail, const std::vector<Layer>& layers) {
  return [=](int64_t batch) {
    Chain chain(batch, input.channels, input.side);
    for (const Layer& layer : layers) chain.conv(layer.out, layer.kernel, layer.stride, tail);
    return chain.classify();
  };
}

// A first layer on pictures, and what often follows it.
std::function<Graph(int64_t)> stem(int64_t side, Layer layer, Tail tail, int64_t pool,
                                   bool response) {
  return [=](int64_t batch) {
    Chain chain(batch, 3, side);
    chain.conv(layer.out, layer.kernel, layer.stride, tail);
    if (pool > 0) chain.max_pool(pool, 2);
    if (response) chain.response_norm();
    chain.conv(layer.out, 1, 1, tail);
    return chain.classify();
  };
}

// Narrow in the middle, with a sum around it; the first one of two changes the size.
std::function<Graph(int64_t)> residual(Input input, int64_t middle, int64_t out, int64_t stride) {
  return [=](int64_t batch) {
    Chain chain(batch, input.channels, input.side);
    for (const int64_t step : {stride, int64_t{1}}) {
      const ValueId begin = chain.value();
      chain.conv(middle, 1, 1, Tail::kNormRelu);
      chain.conv(middle, 3, step, Tail::kNormRelu);
      chain.conv(out, 1, 1, Tail::kNorm);
      const ValueId branch = chain.value();
      chain.set(begin);
      if (step != 1 || chain.channels() != out) chain.conv(out, 1, step, Tail::kNorm);
      const ValueId shortcut = chain.value();
      chain.set(branch);
      chain.add(shortcut);
      chain.relu();
    }
    return chain.classify();
  };
}

// Wide and depthwise in the middle, likewise.
std::function<Graph(int64_t)> inverted(Input input, int64_t middle, int64_t out, int64_t stride) {
  return [=](int64_t batch) {
    Chain chain(batch, input.channels, input.side);
    for (const int64_t step : {stride, int64_t{1}}) {
      const ValueId begin = chain.value();
      const bool sums = step == 1 && chain.channels() == out;
      chain.conv(middle, 1, 1, Tail::kNormRelu6);
      chain.conv(middle, 3, step, Tail::kNormRelu6, /*depthwise=*/true);
      chain.conv(out, 1, 1, Tail::kNorm);
      if (sums) chain.add(begin);
    }
    return chain.classify();
  };
}

// Branches of different kernels side by side, with biases.
std::function<Graph(int64_t)> branches(Input input, int64_t width) {
  return [=](int64_t batch) {
    Chain chain(batch, input.channels, input.side);
    chain.conv(4 * width, 1, 1, Tail::kBiasRelu);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const ValueId begin = chain.value();
      std::vector<ValueId> parts;
      for (const int64_t kernel : {1, 3, 5}) {
        chain.set(begin);
        if (kernel > 1) chain.conv(kernel == 3 ? width : width / 4, 1, 1, Tail::kBiasRelu);
        chain.conv(kernel == 3 ? 2 * width : width / 2, kernel, 1, Tail::kBiasRelu);
        parts.push_back(chain.value());
      }
      chain.set(begin);
      chain.max_pool(3, 1);
      chain.conv(width / 2, 1, 1, Tail::kBiasRelu);
      parts.push_back(chain.value());
      chain.concat(std::move(parts));
    }
    chain.max_pool(3, 2);
    chain.conv(width, 1, 1, Tail::kBiasRelu);
    return chain.classify();
  };
}

// Operators that nothing is fused with, and pools.
std::function<Graph(int64_t)> plain(Input input) {
  return [=](int64_t batch) {
    Chain chain(batch, input.channels, input.side);
    chain.conv(input.channels, 1, 1, Tail::kBias);
    const ValueId first = chain.value();
    chain.max_pool(2, 1);
    chain.average_pool(2, 2);
    chain.norm();
    chain.relu();
    const ValueId second = chain.value();
    chain.set(first);
    chain.average_pool(2, 1);
    chain.max_pool(2, 2);
    chain.relu();
    chain.add(second);
    return chain.classify();
  };
}

std::function<Graph(int64_t)> linears(Input input, const std::vector<int64_t>& widths) {
  return [=](int64_t batch) {
    Chain chain(batch, input.channels, input.side);
    chain.max_pool(2, 2);
    chain.flatten();
    for (const int64_t width : widths) {
      chain.linear(width);
      chain.relu();
    }
    return chain.finish();
  };
}

}  // namespace

std::vector<CalibrationGraph> calibration_graphs() {
  constexpr Tail kNorm = Tail::kNormRelu;
  constexpr Tail kBias = Tail::kBiasRelu;
  return {
      {"stem 7x7", stem(192, {48, 7, 2}, kNorm, 3, false), {1, 8}, {6}},
      {"stem 7x7 with response norm", stem(192, {56, 7, 2}, kBias, 3, true), {1, 8}, {6}},
      {"stem 3x3 / 2", stem(208, {32, 3, 2}, Tail::kNormRelu6, 0, false), {1, 8}, {8}},
      {"stem 3x3", stem(192, {48, 3, 1}, kBias, 2, false), {1, 6}, {6}},
      {"stem 3x3, small", stem(32, {56, 3, 1}, kNorm, 0, false), {1, 8}, {24, 56}},
      {"3x3, 160", convs({40, 160}, kBias, {{48}, {72}}), {1, 4}, {4}},
      {"3x3, 104", convs({56, 104}, kBias, {{104}, {88}}), {1, 4}, {6}},
      {"3x3, 52", convs({80, 52}, kNorm, {{80}, {144}}), {1, 6}, {6}},
      {"3x3, 30", convs({144, 30}, kNorm, {{144}, {240}}), {1, 8}, {8}},
      {"3x3, 32", convs({48, 32}, kNorm, {{48}, {72}}), {1, 8}, {24, 48}},
      {"3x3, 16", convs({112, 16}, kNorm, {{112}, {144}}), {1, 8}, {24, 48}},
      {"3x3, 14", convs({288, 14}, kBias, {{288}, {448}}), {1, 8}, {8}},
      {"3x3, 8", convs({224, 8}, kNorm, {{224}, {288}}), {1, 8}, {24, 48}},
      {"3x3, 7", convs({320, 7}, kNorm, {{320}, {576}}), {1, 8}, {8}},
      {"3x3, 4", convs({384, 4}, kNorm, {{448}, {448}}), {1, 8}, {24, 48}},
      {"3x3 / 2, 56", convs({72, 56}, kNorm, {{144, 3, 2}, {208, 3, 2}}), {1, 8}, {8}},
      {"3x3 / 2, 28", convs({192, 28}, kNorm, {{224, 3, 2}, {448, 3, 2}}), {1, 8}, {8}},
      {"3x3 / 2, 32",
       convs({72, 32}, kNorm, {{144, 3, 2}, {224, 3, 2}, {352, 3, 2}}),
       {1, 8},
       {32}},
      {"1x1, 96", convs({24, 96}, kNorm, {{72, 1}, {16, 1}, {96, 1}}), {1, 8}, {8}},
      {"1x1, 52", convs({80, 52}, kNorm, {{224, 1}, {72, 1}, {224, 1, 2}}), {1, 8}, {8}},
      {"1x1, 26", convs({160, 26}, kBias, {{416, 1}, {144, 1}, {448, 1, 2}}), {1, 8}, {8}},
      {"1x1, 14", convs({288, 14}, kBias, {{896, 1}, {224, 1}, {640, 1}}), {1, 8}, {8, 24}},
      {"1x1, 7", convs({448, 7}, kNorm, {{1600, 1}, {416, 1}, {1152, 1}}), {1, 8}, {8, 24}},
      {"residual, 52", residual({80, 52}, 56, 208, 1), {1, 8}, {8}},
      {"residual, 28", residual({224, 28}, 112, 448, 2), {1, 8}, {8}},
      {"residual, 14", residual({448, 14}, 208, 832, 2), {1, 8}, {8, 32}},
      {"inverted, 96", inverted({24, 96}, 120, 32, 2), {1, 8}, {8}},
      {"inverted, 30", inverted({40, 30}, 208, 48, 1), {1, 8}, {8}},
      {"inverted, 15", inverted({72, 15}, 416, 104, 2), {1, 8}, {8, 32}},
      {"branches, 26", branches({160, 26}, 80), {1, 8}, {8}},
      {"branches, 13", branches({448, 13}, 112), {1, 8}, {8}},
      {"branches, 7", branches({640, 7}, 176), {1, 8}, {8}},
      {"plain, 96", plain({56, 96}), {1, 8}, {8}},
      {"plain, 24", plain({96, 24}), {1, 8}, {8}},
      {"linear, large", linears({320, 14}, {1536, 2048}), {1, 8}, {8}},
      {"linear, small", linears({160, 8}, {768, 1024}), {1, 8}, {8, 64}},
      // What small networks on small images are made of: here it counts what each kernel costs.
      {"stem 3x3, tiny", stem(28, {24, 3, 1}, kNorm, 0, false), {1, 8}, {4, 40}},
      {"stem 5x5, tiny", stem(20, {12, 5, 1}, kBias, 2, false), {1, 8}, {4, 40}},
      {"3x3, 28, tiny", convs({24, 28}, kNorm, {{24}, {40}}), {1, 8}, {6, 56}},
      {"3x3, 14, tiny", convs({40, 14}, kNorm, {{40}, {72}}), {1, 8}, {6, 56}},
      {"3x3, 7, tiny", convs({72, 7}, kNorm, {{72}, {104}}), {1, 8}, {6, 56}},
      {"3x3 / 2, tiny", convs({24, 28}, kNorm, {{40, 3, 2}, {72, 3, 2}}), {1, 8}, {6, 56}},
      {"residual, tiny", residual({24, 14}, 24, 40, 2), {1, 8}, {6, 40}},
      {"inverted, tiny", inverted({16, 14}, 56, 24, 1), {1, 8}, {6, 40}},
      {"plain, tiny", plain({24, 14}), {1, 8}, {6, 40}},
      {"linear, tiny", linears({8, 14}, {104, 56}), {1, 8}, {6, 56}},
  };
}

std::vector<CalibrationGraph> quick_calibration_graphs() {
  return {
      {"stem", stem(24, {16, 3, 1}, Tail::kNormRelu, 2, true), {1}, {2}},
      {"residual", residual({16, 8}, 16, 24, 2), {1, 2}, {2}},
      {"inverted", inverted({16, 8}, 24, 16, 1), {1}, {2}},
      {"branches", branches({32, 8}, 32), {1}, {2}},
      {"plain", plain({16, 8}), {1}, {2}},
      {"linear", linears({16, 8}, {64}), {1}, {2}},
  };
}

}  // namespace trainyard::measure
