// The time of one operator on one device with one software stack: a roofline whose roofs depend on
// the operator's family and shape.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "cluster/predict/device.h"
#include "cluster/predict/profile.h"
#include "cluster/predict/stack.h"

namespace trainyard::predict {

enum class Bound : uint8_t { kNone, kCompute, kMemory };
std::string_view bound_name(Bound bound);

enum class ConvAlgorithm : uint8_t { kProduct, kWinograd, kFourier };
std::string_view algorithm_name(ConvAlgorithm algorithm);

struct PassTime {
  double seconds = 0;
  Bound bound = Bound::kNone;
  ConvAlgorithm algorithm = ConvAlgorithm::kProduct;
  double kernels = 0;  // issued by the host
};

struct OpTime {
  PassTime forward;
  PassTime data_gradient;
  PassTime weight_gradient;
  double backward() const { return data_gradient.seconds + weight_gradient.seconds; }
};

// What a stack gets out of one device: its figures, and the factors of device and host.
struct Figures {
  Efficiency efficiency;
  double compute = 1;
  double memory = 1;
  double host = 1;
};
// As the catalog has them.
Figures figures_of(const Device& device, const Stack& stack, Precision precision);
// Whether products run on matrix units.
bool uses_matrix_units(const Device& device, const Stack& stack, Precision precision);

// Device, stack and precision together, with what does not change from operator to operator.
class Roofline {
 public:
  // Throws Error if the device has no peak for the precision (integers are for inference only) or
  // the stack no figures for the device.
  Roofline(const Device& device, const Stack& stack, Precision precision);
  // The same with other figures, for fits.
  Roofline(const Device& device, const Stack& stack, Precision precision, const Figures& figures);

  OpTime training(const OpProfile& op, double batch) const;
  PassTime inference(const OpProfile& op, double batch) const;
  // Reading gradients and optimizer state, writing weights: momentum SGD.
  double update_seconds(double parameters) const;
  // The host's time for a step that issues so many kernels forward and backward.
  double host_seconds(double forward, double backward) const;
  // The copy of the input, where the stack has it in the step.
  double copy_seconds(double input, double batch) const;
  // That the host issues for each tensor of parameters when it is updated, and when it is not.
  double update_kernels() const { return update_kernels_; }
  double zero_kernels() const { return zero_kernels_; }
  bool synchronous() const { return synchronous_; }
  double peak() const { return peak_; }

 private:
  struct Product {
    double flops, rows, columns, inner, groups;
    double elements;     // through memory, at least
    double outputs;      // independent sums, which keep the lanes busy
    double activations;  // of the elements, those that are not weights
  };
  // How much of a product's speed its shape allows.
  double shape_share(const OpProfile& op, const Product& p, double busy) const;
  PassTime product(const OpProfile& op, const Product& p, double batch, double share) const;
  // `resident`: elements that must stay in the cache for it to help.
  PassTime traffic(double elements, double resident) const;
  // The traffic of an operator that is not a product, less what is fused.
  PassTime element_wise(const OpProfile& op, double elements, double batch, bool inference) const;
  double bandwidth(double resident) const;
  // Speed-up of minimal filtering over the product; 1 where it does not apply.
  double winograd_gain(const OpProfile& op) const;
  // The part of what matrix units multiply that is not zeros.
  double filled_channels(const OpProfile& op) const;
  bool fourier_applies(const OpProfile& op) const;
  PassTime fourier(const OpProfile& op, double batch, double speed) const;
  PassTime forward(const OpProfile& op, double batch) const;
  // `pass` of one image, done for each image of a batch in turn.
  void repeat(PassTime& pass, const OpProfile& op, double batch) const;
  void add_bias(PassTime& time, double outputs) const;
  // The scores of attention, where they go through memory.
  void add_scores(PassTime& time, double scores, bool forward) const;
  // The conversion of weights, or of their gradient, between single and half precision.
  void add_cast(PassTime& time, double weights) const;
  OpTime gradients(const OpProfile& op, double batch) const;
  PassTime own_inference(const OpProfile& op, double batch) const;
  OpTime own_training(const OpProfile& op, double batch) const;
  // The same questions answered by measured costs.
  PassTime measured(const OpProfile& op, double batch, Phase phase, bool weights) const;

  std::shared_ptr<const MeasuredCosts> measured_;  // null: by efficiencies
  // In fp32, where the device has tf32: see the constructor. Else null.
  std::shared_ptr<const Roofline> tf32_;

  Efficiency efficiency_;
  bool winograd_;
  bool fourier_;
  bool image_by_image_;
  bool matrix_units_;
  bool converts_layout_;
  bool engine_;
  bool folds_;  // normalization into the product before it, in inference
  bool copies_input_;
  bool casts_;
  bool stores_scores_;
  double peak_;
  double conv_speed_;  // of a large convolution
  double gemm_speed_;  // of a large matrix product
  double bytes_per_s_;
  double cache_bytes_;
  double cache_gain_;  // the last cache's bandwidth over the memory's
  double host_bytes_per_s_;
  double element_;
  double lanes_;
  double direct_;  // share of a product's speed
  double host_;
  double update_kernels_;
  double zero_kernels_;
  double further_cores_;  // of a CPU
  bool synchronous_;
};

}  // namespace trainyard::predict
