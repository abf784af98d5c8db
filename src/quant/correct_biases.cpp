#include "ops/passes/edit.h"
#include "quant/repair.h"

namespace trainyard::quant {
namespace {

// Of each input of the layer; the means of channels stand for all positions of a flattened one.
std::vector<double> input_means(const NodeView& layer, const Plan& plan, const ObservedValues& seen,
                                int64_t inputs) {
  const std::vector<double>* means = nullptr;
  if (const auto own = seen.channel_means.find(layer.input(0)); own != seen.channel_means.end()) {
    means = &own->second;
  } else {
    // A view: of what has the same steps and was made last.
    const size_t group = plan.group.at(layer.input(0));
    for (const auto& [id, found] : seen.channel_means) {
      const auto its = plan.group.find(id);
      if (its != plan.group.end() && its->second == group) means = &found;
    }
  }
  if (means == nullptr || means->empty()) return {};
  const auto known = static_cast<int64_t>(means->size());
  if (inputs % known != 0) return {};
  std::vector<double> all;
  for (int64_t i = 0; i < inputs; ++i) {
    all.push_back((*means)[static_cast<size_t>(i / (inputs / known))]);
  }
  return all;
}

// rounded - exact weights times the means, for each output.
std::vector<double> shift_of(const NodeView& layer, const Tensor& rounded,
                             const std::vector<double>& means) {
  const Tensor& exact = *layer.input_constant(1);
  const Shape& shape = exact.shape();
  const bool conv = layer.op() == "Conv";
  const int64_t outputs = shape[output_axis(layer)];
  const int64_t inputs = shape[input_axis(layer)];
  const int64_t inner = conv ? shape.num_elements(2, shape.rank()) : 1;
  const int64_t per_group = outputs / (conv ? layer.attr_int("group", 1) : 1);
  std::vector<double> shift(static_cast<size_t>(outputs), 0.0);
  const std::span<const float> w = exact.values<float>();
  const std::span<const float> q = rounded.values<float>();
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      const int64_t first = output_axis(layer) == 0 ? (o * inputs + i) * inner : i * outputs + o;
      const int64_t source = conv ? o / per_group * inputs + i : i;
      for (int64_t k = 0; k < inner; ++k) {
        const auto at = static_cast<size_t>(first + k);
        shift[static_cast<size_t>(o)] +=
            (double{q[at]} - double{w[at]}) * means[static_cast<size_t>(source)];
      }
    }
  }
  return shift;
}

}  // namespace

int64_t correct_biases(Graph& graph, const Plan& plan, const ObservedValues& seen,
                       const WeightScheme& scheme, const ValueSteps& steps) {
  int64_t corrected = 0;
  for (const NodeId id : plan.layers) {
    const NodeView layer(graph, id);
    if (!plan.is_int8(id) || layer.op() == "MatMul") continue;
    const Shape& shape = layer.input_constant(1)->shape();
    const int64_t inputs =
        layer.op() == "Conv" ? layer.input_shape(0)[1] : shape[input_axis(layer)];
    const std::vector<double> means = input_means(layer, plan, seen, inputs);
    if (means.empty()) continue;
    const QuantizedLayer rounded = quantize_layer(layer, steps.at(layer.input(0)), scheme);
    const std::vector<double> shift =
        shift_of(layer, rounded.weights.reals(output_axis(layer)), means);
    Tensor bias(DType::kF32, Shape{static_cast<int64_t>(shift.size())});
    const Tensor* old = layer.has_input(2) ? layer.input_constant(2) : nullptr;
    for (size_t o = 0; o < shift.size(); ++o) {
      const double before = old != nullptr ? element_as_double(*old, static_cast<int64_t>(o)) : 0;
      bias.values<float>()[o] = static_cast<float>(before - shift[o]);
    }
    const std::string name = layer.name() + ".corrected_bias";
    passes::set_input(graph, id, 2, passes::add_constant(graph, name, std::move(bias)));
    ++corrected;
  }
  passes::drop_unused_initializers(graph);
  return corrected;
}

}  // namespace trainyard::quant
