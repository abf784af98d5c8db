// Mixtures of experts: several feed-forward parts side by side.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr int64_t kOnnxFloat = 1;  // TensorProto.FLOAT
constexpr int64_t kRowAxis = 0;
constexpr int64_t kExpertAxis = 1;

}  // namespace

ExpertRows Net::experts(ValueId x, const std::string& name, const ExpertSpec& spec) {
  const auto node = [&](std::string_view op, std::vector<ValueId> inputs, const char* suffix,
                        Attributes attributes = {}) {
    return builder_.add(op, std::move(inputs), std::move(attributes), name + suffix);
  };
  const auto ints = [&](const char* suffix, std::vector<int64_t> values) {
    return builder_.constant_ints(name + suffix, values);
  };
  const ValueId share = node("Softmax", {linear_no_bias(x, name + ".gate", spec.experts)}, ".share",
                             {{"axis", kExpertAxis}});
  // Which are chosen has no gradient; how much they count has.
  const std::vector<ValueId> best = builder_.add_multi(
      "TopK", {share, ints(".active", {spec.active})}, 2, {{"axis", kExpertAxis}}, name + ".best");
  const ValueId least =
      slice(best[0], name + ".least",
            {{.axis = kExpertAxis, .begin = spec.active - 1, .end = spec.active}});
  const ValueId chosen = node("Cast", {node("GreaterOrEqual", {share, least}, ".is_chosen")},
                              ".chosen", {{"to", kOnnxFloat}});
  const ValueId kept = node("Mul", {share, chosen}, ".kept");
  const ValueId sum = node("ReduceSum", {kept, ints(".axis", {kExpertAxis})}, ".sum");
  const ValueId weight = node("Div", {kept, sum}, ".weight");

  const int64_t width = spec.experts * spec.inner;
  const ValueId gate =
      activate(linear_no_bias(x, name + ".experts.gate_proj", width), "Swish", name + ".act_fn");
  const ValueId hidden =
      multiply(gate, linear_no_bias(x, name + ".experts.up_proj", width), name + ".gated");
  const ValueId weighted =
      multiply(reshape(hidden, name + ".by_expert", {-1, spec.experts, spec.inner}),
               reshape(weight, name + ".weights", {-1, spec.experts, 1}), name + ".weighted");
  const ValueId rows = linear_no_bias(reshape(weighted, name + ".side_by_side", {-1, width}),
                                      name + ".experts.down_proj", channels(x));

  const auto mean = [&](ValueId of, const char* suffix) {
    return node("ReduceMean", {of}, suffix,
                {{"axes", std::vector<int64_t>{kRowAxis}}, {"keepdims", int64_t{0}}});
  };
  const ValueId product =
      multiply(mean(chosen, ".load"), mean(share, ".mean_share"), name + ".load_by_share");
  const ValueId total =
      node("ReduceSum", {product, ints(".all", {0})}, ".product", {{"keepdims", int64_t{0}}});
  const float even = static_cast<float>(spec.experts) / static_cast<float>(spec.active);
  return {rows, scale(total, name + ".balance", even)};
}

}  // namespace trainyard::models
