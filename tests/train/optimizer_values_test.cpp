// Three updates of each optimizer beside the values that optimizer_values.py computes in PyTorch.
#include <cmath>

#include <gtest/gtest.h>

#include "train/training_step.h"
#include "train/update_nodes.h"

namespace trainyard::train {
namespace {

struct Expected {
  std::string_view optimizer;
  std::vector<double> values;  // of all parameters, one after the other
};

// Printed by optimizer_values.py.
const Expected kExpected[] = {
    {"adamw", {0.9671926,  0.8451620,  0.5094277,  0.0424721,  -0.4406124, -0.8201228,
               -1.0011581, -0.9370073, -0.6464270, -0.1816632, 0.3124290,  0.7364105,
               0.5112487,  0.0459857,  -0.4342291, -0.8096375, -0.9867975, -0.9069311,
               -0.6226687, -0.1803947, -0.4221244, -0.7956161, -0.9592586}},
    {"lion", {0.9670330,  0.8449824,  0.5087130,  0.0405552,  -0.4248697, -0.8087126,
              -0.9770155, -0.9236401, -0.6416747, -0.1801940, 0.3127821,  0.7365159,
              0.5087130,  0.0605552,  -0.4248697, -0.7887326, -0.9770155, -0.9036801,
              -0.6217146, -0.1801940, -0.4048897, -0.7887326, -0.9570555}},
    {"lamb", {0.9745718,  0.8524601,  0.5164067,  0.0489243,  -0.4349003, -0.8154419,
              -0.9979397, -0.9358556, -0.6468009, -0.1882561, 0.3059529,  0.7301698,
              0.5184331,  0.0523461,  -0.4291156, -0.8063538, -0.9858566, -0.9141837,
              -0.6301643, -0.1877171, -0.4205345, -0.7931015, -0.9608127}},
    {"muon", {0.9933173,  0.8713734,  0.5355302,  0.0680803,  -0.4222018, -0.8020452,
              -0.9860336, -0.9284523, -0.6532910, -0.2089785, 0.2866837,  0.7127577,
              0.5112487,  0.0459857,  -0.4342291, -0.8096375, -0.9867975, -0.9069311,
              -0.6226687, -0.1803947, -0.4221244, -0.7956161, -0.9592586}},
    {"adafactor", {0.9759868,  0.8544834,  0.5205359,  0.0561378,  -0.4298668, -0.8045740,
                   -0.9835408, -0.9213727, -0.6378691, -0.1900489, 0.3071435,  0.7329149,
                   0.5257952,  0.0628805,  -0.4182701, -0.7934508, -0.9812677, -0.9130700,
                   -0.6326719, -0.1873142, -0.4096360, -0.7899346, -0.9632811}},
};

const std::vector<runs::NamedType> kParameters = {
    {"a", {DType::kF32, {3, 4}}}, {"b", {DType::kF32, {4, 2}}}, {"c", {DType::kF32, {3}}}};
constexpr int kUpdates = 3;

template <typename F>
void fill_values(Tensor& tensor, const F& value) {
  const std::span<float> values = tensor.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(value(static_cast<double>(i)));
  }
}

std::vector<float> after_updates(std::string_view kind, bool reference) {
  OptimizerOptions options;
  options.kind = kind;
  options.weight_decay = 0.1;
  const TrainingGraph made = make_update_graph(kParameters, options);
  const runtime::Executable executable =
      compile_step(made, {.threads = 1, .reference_only = reference});
  runtime::ExecutionContext context(executable);
  for (size_t k = 0; k < kParameters.size(); ++k) {
    Tensor start = Tensor::zeros(kParameters[k].type);
    fill_values(start, [&](double i) { return std::cos(0.5 * i + static_cast<double>(k)); });
    context.set_state(k, start);
  }
  const size_t rate = kParameters.size();
  for (int t = 1; t <= kUpdates; ++t) {
    for (size_t k = 0; k < kParameters.size(); ++k) {
      fill_values(context.input(k),
                  [&](double i) { return std::sin(0.3 * i + 0.7 * t + static_cast<double>(k)); });
    }
    context.input(rate).values<float>()[0] = 0.01F;
    context.input(rate + 1).values<int64_t>()[0] = t;
    context.run();
  }
  std::vector<float> values;
  for (size_t k = 0; k < kParameters.size(); ++k) {
    const Tensor now = context.state(k);
    values.insert(values.end(), now.values<float>().begin(), now.values<float>().end());
  }
  return values;
}

TEST(OptimizerValues, AreThoseOfPyTorch) {
  for (const Expected& row : kExpected) {
    for (const bool reference : {true, false}) {
      const std::vector<float> values = after_updates(row.optimizer, reference);
      ASSERT_EQ(values.size(), row.values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(values[i], row.values[i], 2e-6) << row.optimizer << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::train
