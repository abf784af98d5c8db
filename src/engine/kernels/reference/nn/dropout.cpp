// Dropout. The n-th element of a node is kept or not by (seed, n) alone, so the same mask comes
// back in every run and on every thread.
#include "base/random.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

constexpr double kDefaultRatio = 0.5;

// Inputs: x, ratio, training_mode. Outputs: y, mask.
ops::Routine dropout(const NodeView& node) {
  const RandomStream random(static_cast<uint64_t>(node.attr_int("seed", 0)));
  return [random](ops::Views inputs, ops::Views outputs) {
    const auto given = [&](size_t i) { return i < inputs.size() && inputs[i].data != nullptr; };
    const bool training = given(2) && element_as_int(inputs[2], 0) != 0;
    const double asked = given(1) ? element_as_double(inputs[1], 0) : kDefaultRatio;
    TY_REQUIRE(!training || (0 <= asked && asked < 1), "Dropout: ratio {} is outside [0, 1)",
               asked);
    const double ratio = training ? asked : 0.0;
    bool* mask = outputs.size() > 1 ? outputs[1].as<bool>() : nullptr;
    for_float_type(inputs[0].dtype, [&]<typename T>(T) {
      for (int64_t i = 0; i < inputs[0].num_elements(); ++i) {
        const bool kept = random.uniform(static_cast<uint64_t>(i)) >= ratio;
        const double x = inputs[0].as<const T>()[i];
        outputs[0].as<T>()[i] = static_cast<T>(kept ? x / (1 - ratio) : 0.0);
        if (mask != nullptr) mask[i] = kept;
      }
    });
  };
}

}  // namespace

extern const KernelDef kDropout = routine_kernel<dropout>("Dropout");

}  // namespace trainyard::kernels::reference
