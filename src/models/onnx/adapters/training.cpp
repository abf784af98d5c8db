// The optimizers of ai.onnx.preview.training, made of arithmetic: rate and step count come first,
// then for each kind of tensor (parameters, gradients, what is remembered) one for each parameter.
#include "models/onnx/adapters/adapter.h"

namespace trainyard::onnx_io {
namespace {

// The arithmetic of one node.
class Arithmetic {
 public:
  Arithmetic(ImportNode& node, Emitter& emitter, size_t remembered)
      : node_(node), emitter_(emitter), kinds_(2 + remembered) {
    TY_REQUIRE(node.inputs.size() > 2 && (node.inputs.size() - 2) % kinds_ == 0,
               "it has {} inputs, expected 2 and {} for each parameter", node.inputs.size(),
               kinds_);
    count_ = (node.inputs.size() - 2) / kinds_;
    TY_REQUIRE(node.outputs.size() == count_ * (1 + remembered), "it has {} outputs, expected {}",
               node.outputs.size(), count_ * (1 + remembered));
    norm_ = attribute("norm_coefficient", 0.0F);
  }

  size_t count() const { return count_; }
  float attribute(std::string_view name, float usual) {
    return take<float>(node_, name).value_or(usual);
  }
  ValueId rate() const { return input(node_, 0); }
  // The step count as a number.
  ValueId steps() { return op("Cast", {input(node_, 1)}, {{"to", int64_t{1}}}); }
  ValueId x(size_t i) const { return of(0, i); }
  // With what pulls the parameter towards zero.
  ValueId gradient(size_t i) {
    return norm_ == 0.0F ? of(1, i) : add(mul(number(norm_), x(i)), of(1, i));
  }
  ValueId memory(size_t which, size_t i) const { return of(2 + which, i); }

  ValueId number(float value) {
    return emitter_.add_constant(node_.name + ".number", Tensor::scalar(value));
  }
  ValueId add(ValueId a, ValueId b) { return op("Add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return op("Sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op("Mul", {a, b}); }
  ValueId div(ValueId a, ValueId b) { return op("Div", {a, b}); }
  ValueId sqrt(ValueId a) { return op("Sqrt", {a}); }
  ValueId pow(ValueId a, ValueId b) { return op("Pow", {a, b}); }
  // `later`, but `first` in step 0.
  ValueId unless_first(ValueId later, ValueId first) {
    return op("Where", {op("Greater", {steps(), number(0.0F)}), later, first});
  }
  // Output `kind` (0: the parameter) of parameter i.
  void give(size_t kind, size_t i, ValueId value) {
    emitter_.add_output("Identity", {value}, {}, node_.outputs[kind * count_ + i]);
  }

 private:
  ValueId of(size_t kind, size_t i) const { return input(node_, 2 + kind * count_ + i); }
  ValueId op(std::string_view name, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return emitter_.add_helper(name, std::move(inputs), std::move(attributes),
                               node_.name + ".part");
  }

  ImportNode& node_;
  Emitter& emitter_;
  size_t kinds_;
  size_t count_ = 0;
  float norm_ = 0;
};

void training_adagrad(ImportNode& node, Emitter& emitter) {
  Arithmetic a(node, emitter, 1);
  const ValueId decay = a.number(a.attribute("decay_factor", 0.0F));
  const ValueId epsilon = a.number(a.attribute("epsilon", 1e-6F));
  const ValueId rate = a.div(a.rate(), a.add(a.number(1.0F), a.mul(a.steps(), decay)));
  for (size_t i = 0; i < a.count(); ++i) {
    const ValueId g = a.gradient(i);
    const ValueId squares = a.add(a.memory(0, i), a.mul(g, g));
    const ValueId step = a.div(a.mul(rate, g), a.add(a.sqrt(squares), epsilon));
    a.give(0, i, a.sub(a.x(i), step));
    a.give(1, i, squares);
  }
  node.op.clear();
}

void training_adam(ImportNode& node, Emitter& emitter) {
  Arithmetic a(node, emitter, 2);
  const float alpha = a.attribute("alpha", 0.9F);
  const float beta = a.attribute("beta", 0.999F);
  const ValueId epsilon = a.number(a.attribute("epsilon", 1e-6F));
  const ValueId kept = a.number(1.0F - a.attribute("norm_coefficient_post", 0.0F));
  const auto bias = [&](float factor) {
    return a.sub(a.number(1.0F), a.pow(a.number(factor), a.steps()));
  };
  const ValueId rate =
      a.unless_first(a.mul(a.rate(), a.div(a.sqrt(bias(beta)), bias(alpha))), a.rate());
  const auto mix = [&](float factor, ValueId old, ValueId fresh) {
    return a.add(a.mul(a.number(factor), old), a.mul(a.number(1.0F - factor), fresh));
  };
  for (size_t i = 0; i < a.count(); ++i) {
    const ValueId g = a.gradient(i);
    const ValueId v = mix(alpha, a.memory(0, i), g);
    const ValueId h = mix(beta, a.memory(1, i), a.mul(g, g));
    const ValueId step = a.div(a.mul(rate, v), a.add(a.sqrt(h), epsilon));
    a.give(0, i, a.mul(kept, a.sub(a.x(i), step)));
    a.give(1, i, v);
    a.give(2, i, h);
  }
  node.op.clear();
}

void training_momentum(ImportNode& node, Emitter& emitter) {
  Arithmetic a(node, emitter, 1);
  const ValueId alpha = a.number(a.attribute("alpha", 0.0F));
  const ValueId beta = a.number(a.attribute("beta", 0.0F));
  const std::string mode = take<std::string>(node, "mode").value_or("standard");
  TY_REQUIRE(mode == "standard" || mode == "nesterov", "mode '{}' is not standard or nesterov",
             mode);
  const ValueId weight = a.unless_first(beta, a.number(1.0F));
  for (size_t i = 0; i < a.count(); ++i) {
    const ValueId g = a.gradient(i);
    const ValueId v = a.add(a.mul(alpha, a.memory(0, i)), a.mul(weight, g));
    const ValueId direction = mode == "standard" ? v : a.add(g, a.mul(alpha, v));
    a.give(0, i, a.sub(a.x(i), a.mul(a.rate(), direction)));
    a.give(1, i, v);
  }
  node.op.clear();
}

constexpr Adapter kTrainingAdapters[] = {
    {"ai.onnx.preview.training", "Adagrad", 1, kAnyOpset, training_adagrad},
    {"ai.onnx.preview.training", "Adam", 1, kAnyOpset, training_adam},
    {"ai.onnx.preview.training", "Momentum", 1, kAnyOpset, training_momentum},
};

}  // namespace

std::span<const Adapter> training_adapters() {
  return kTrainingAdapters;
}

}  // namespace trainyard::onnx_io
