// Normalization that was folded into weights gets statistics, and the network computes what it did.
#include "train/unfold.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ops/builder.h"

namespace trainyard::train {
namespace {

constexpr float kUnfoldEpsilon = 1e-3F;

// Ten pictures of one pixel: 0, 25, 50, … of 255.
class TenPixels final : public data::Dataset {
 public:
  TenPixels() : Dataset({.shape = {1, 1, 1}, .class_names = {"a"}, .source = "pixels"}) {}
  int64_t size() const override { return 10; }
  int64_t label(int64_t) const override { return 0; }
  data::PixelView pixels(int64_t index, data::Pixels& room) const override {
    room.reshape(shape());
    room.bytes[0] = static_cast<uint8_t>(25 * index);
    return room.view();
  }
};

TEST(Unfold, KeepsWhatTheLayerComputes) {
  constexpr int64_t kAtOnce = 4;  // the last batch is short
  Graph graph;
  ops::Builder b(graph);
  const auto number = [&](const char* name, float value) {
    return b.constant(name, Tensor::of<float>({1}, std::vector<float>{value}));
  };
  const ValueId x = b.input("x", {DType::kF32, {kAtOnce, 1, 1, 1}});
  const ValueId y = b.add(
      "BatchNormalization",
      {x, number("scale", 3), number("shift", 0.5F), number("mean", 0.25F), number("variance", 4)},
      {{"epsilon", kUnfoldEpsilon}});
  graph.set_outputs({b.add("Relu", {y})});
  const TenPixels set;
  data::Loader loader(set, {.batch = kAtOnce});
  const std::map<std::string, Tensor> made = unfolded_normalization(graph, loader, 1);
  const auto of = [&](const char* name) {
    return static_cast<double>(made.at(name).values<float>()[0]);
  };
  // Of 0, 1, … 9, in units of 25 / 255.
  const double unit = 25.0 / 255;
  EXPECT_NEAR(of("mean"), 4.5 * unit, 1e-6);
  EXPECT_NEAR(of("variance"), 8.25 * unit * unit, 1e-6);
  for (const double value : {0.0, 0.3, 1.0}) {
    const double before = 3 * (value - 0.25) / std::sqrt(4 + 1e-3) + 0.5;
    const double after =
        of("scale") * (value - of("mean")) / std::sqrt(of("variance") + 1e-3) + of("shift");
    EXPECT_NEAR(after, before, 1e-5);
  }
}

}  // namespace
}  // namespace trainyard::train
