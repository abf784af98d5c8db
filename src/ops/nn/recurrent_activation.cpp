#include "ops/nn/recurrent_activation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "ops/math/scalar_functions.h"

namespace trainyard::ops {
namespace {

struct KnownActivation {
  std::string_view name;
  bool takes_alpha = false;
  bool takes_beta = false;
  // Where it is not a unary operator of its own.
  double (*formula)(double x, double alpha, double beta) = nullptr;
  double alpha = 1;
  double beta = 0;
};

constexpr KnownActivation kActivations[] = {
    {"Affine", true, true, [](double x, double alpha, double beta) { return alpha * x + beta; }},
    {"Elu", true},
    {"HardSigmoid", true, true},
    {"LeakyRelu", true},
    {"Relu"},
    {"ScaledTanh", true, true,
     [](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); }, 1, 1},
    {"Sigmoid"},
    {"Softplus"},
    {"Softsign"},
    {"Tanh"},
    {"ThresholdedRelu", true},
};

const KnownActivation& find_activation(const std::string& name) {
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const KnownActivation& a) { return a.name == name; });
  if (found == std::end(kActivations)) {
    std::vector<std::string> names;
    for (const KnownActivation& known : kActivations) names.emplace_back(known.name);
    throw_error("activation '{}' is not known.{}", name, did_you_mean(name, names));
  }
  return *found;
}

std::vector<std::string> default_activations(std::string_view op) {
  if (op == "LSTM") return {"Sigmoid", "Tanh", "Tanh"};
  if (op == "GRU") return {"Sigmoid", "Tanh"};
  return {"Tanh"};
}

}  // namespace

std::vector<RecurrentActivation> recurrent_activations(const NodeView& node, int64_t directions) {
  const std::vector<std::string> defaults = default_activations(node.op());
  std::vector<std::string> names = node.attr_texts("activations");
  if (names.empty()) {
    for (int64_t i = 0; i < directions; ++i) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  const size_t expected = defaults.size() * static_cast<size_t>(directions);
  TY_REQUIRE(names.size() == expected, "it names {} activations, expected {}", names.size(),
             expected);
  // Functions that take a parameter take the next one given.
  const std::vector<float> alphas = node.attr_floats("activation_alpha", {});
  const std::vector<float> betas = node.attr_floats("activation_beta", {});
  size_t next_alpha = 0;
  size_t next_beta = 0;
  std::vector<RecurrentActivation> activations;
  for (const std::string& name : names) {
    const KnownActivation& known = find_activation(name);
    RecurrentActivation activation{known.formula, known.alpha, known.beta};
    if (known.formula == nullptr) {
      const UnaryFunction* unary = find_unary(name);
      TY_CHECK(unary != nullptr, "there is no unary operator {}", name);
      activation = {unary->real, unary->alpha, unary->beta};
    }
    if (known.takes_alpha && next_alpha < alphas.size()) activation.alpha = alphas[next_alpha++];
    if (known.takes_beta && next_beta < betas.size()) activation.beta = betas[next_beta++];
    activations.push_back(activation);
  }
  return activations;
}

}  // namespace trainyard::ops
