// What `quantize` finds, as plain numbers: all that reports see of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::quant {

// One network, before or after. What was not measured is absent.
struct Side {
  std::optional<double> top1;
  std::optional<double> output_sqnr_db;  // its outputs against those of the float network
  int64_t bytes = 0;                     // of the file
  double median_ms = 0;                  // of a batch of one; 0: not measured
};

// Counts of values between `low` and `high`, in bins of one width.
struct Bars {
  double low = 0;
  double high = 0;
  std::vector<int64_t> counts;
};

// The values of a layer's weights, or of what flows into it or out of it.
struct Spread {
  double min = 0;
  double max = 0;
  double mean = 0;
  double sigma = 0;
  double saturated = 0;  // the share that lies outside of what the steps reach
  double beyond = 0;     // the share that lies more than three sigma from 0
  Bars bars;
};

struct LayerResult {
  std::string name;
  std::string kind;    // the operator
  int64_t bits = 32;   // of its weights
  std::string scheme;  // "per channel, u8 activations"; empty in float
  int64_t parameters = 0;
  double weight_sqnr_db = 0;
  double activation_sqnr_db = 0;  // of its input
  // What this layer makes of the network's outputs if it alone is int8: the noise in them as a
  // share of their energy.
  std::optional<double> sensitivity;
  bool kept_float = false;
  std::string reason;  // why it is kept in float
  // In the network, measured after; and alone, timed before anything was quantized. 0: not
  // measured.
  double float_us = 0;
  double int8_us = 0;
  double predicted_float_us = 0;
  double predicted_int8_us = 0;
  // Scale and zero point of the input; scales of the weights from the least to the largest.
  double input_scale = 0;
  int64_t input_zero = 0;
  double least_scale = 0;
  double largest_scale = 0;
  Spread weights;
  Spread input;
  Spread output;  // before a Relu or whatever follows; zeros without pictures
};

// What was done one after the other, and how good the network was after it.
struct StepResult {
  std::string what;
  std::optional<double> top1;
  std::optional<double> output_sqnr_db;
};

// The network with so many bits for weights and activations.
struct BitsResult {
  int64_t weight_bits = 8;
  int64_t activation_bits = 8;  // 32: float
  std::optional<double> top1;
  std::optional<double> output_sqnr_db;
};

// Operators that stay in float as they have no int8 form, and how many of them.
struct FloatOperator {
  std::string op;
  int64_t nodes = 0;
};

struct QuantizeResult {
  Side before;
  Side after;
  int64_t calibration_images = 0;  // 0: ranges are those of batch normalization
  int64_t test_images = 0;
  double calibrate_s = 0;  // running the float network on the calibration pictures
  std::vector<LayerResult> layers;
  std::vector<StepResult> steps;
  std::vector<BitsResult> bits;
  std::vector<FloatOperator> float_operators;
  std::vector<std::string> notices;  // what weakens the result
};

}  // namespace trainyard::quant
