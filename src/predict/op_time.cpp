#include "predict/op_time.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "predict/catalog.h"

namespace trainyard::predict {
namespace {

// Products are cut into tiles of this size; what is left over runs at the cost of a whole tile.
constexpr double kColumnTile = 64;
constexpr double kRowTile = 32;
// Below this many rows a matrix product is done by kernels for vectors, which wait for memory only.
constexpr double kVectorRows = 8;
// Groups of fewer filters than this (depthwise convolutions) are computed directly, without tiles,
// at this share of a product's speed: what is loaded is used for few sums.
constexpr double kDirectColumns = 8;
constexpr double kDirectShare = 0.125;
// Sums that are split to keep the device busy where there are few outputs.
constexpr double kSplitDepth = 512;
// Spectra of real tiles of one of these sides, half of which is stored.
constexpr double kSmallSpectrum = 16;
constexpr double kLargeSpectrum = 32;
constexpr int64_t kFourierKernel = 3;
// Minimal filtering works on tiles of this side and transforms every channel, which costs as much
// as this many more of them.
constexpr double kWinogradTile = 2;
constexpr double kWinogradTransform = 24;

double tile_share(double size, double tile) {
  return size / (tile * std::ceil(size / tile));
}

}  // namespace

std::string_view bound_name(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kNone:
      break;
  }
  return "-";
}

std::string_view algorithm_name(ConvAlgorithm algorithm) {
  switch (algorithm) {
    case ConvAlgorithm::kWinograd:
      return "winograd";
    case ConvAlgorithm::kFourier:
      return "fourier";
    case ConvAlgorithm::kProduct:
      break;
  }
  return "product";
}

Roofline::Roofline(const Device& device, const Stack& stack, Precision precision)
    : measured_(stack.measured),
      efficiency_(measured_ ? Efficiency{} : stack.for_class(device_class(device))),
      winograd_(stack.winograd),
      fourier_(stack.fourier),
      image_by_image_(stack.image_by_image),
      peak_(device.peak(precision)),
      bytes_per_s_(device.bytes_per_s * efficiency_.memory),
      element_(bytes_per_element(precision)),
      lanes_(device.fp32 / (2 * device.clock_hz)),
      launch_(measured_ ? 0 : efficiency_.launch_us * 1e-6),
      synchronous_(device.is_cpu()) {
  TY_REQUIRE(peak_ > 0, "the catalog has no {} peak for device '{}'; give one with --catalog",
             precision_name(precision), device.id);
  TY_REQUIRE(!measured_ || device.stack == stack.id,
             "software stack '{}' was measured on one machine and cannot be moved to device '{}'",
             stack.id, device.id);
  TY_REQUIRE(!measured_ || precision == Precision::kFp32,
             "device '{}' was measured in fp32; there are no figures for {}", device.id,
             precision_name(precision));
  // Without matrix units half precision is stored but computed at the vector units' own rate.
  const double vector_half = device.fp16 > 0 ? device.fp16 : device.fp32;
  const bool has_matrix = precision == Precision::kFp16 && device.fp16_matrix > 0;
  product_peak_ = peak_;
  if (precision == Precision::kFp16 && !stack.matrix_units) product_peak_ = vector_half;
  if (has_matrix && stack.matrix_units) product_peak_ *= efficiency_.matrix;
  if ((precision == Precision::kTf32 && device.tf32 > 0) || precision == Precision::kInt8) {
    product_peak_ *= efficiency_.matrix;
  }
  product_peak_ *= stack.factor_for(device.id, device.kind);
  peak_ = device.peak(precision);
}

double Roofline::winograd_gain(const OpProfile& op) const {
  const bool applies = winograd_ && op.is_conv && op.kernel_h == 3 && op.kernel_w == 3 &&
                       op.stride == 1 && op.groups == 1;
  if (!applies) return 1;
  const double channels = op.inner / 9;
  const double transforms = 1 + kWinogradTransform / channels + kWinogradTransform / op.columns;
  return efficiency_.winograd * tile_share(op.output_h, kWinogradTile) *
         tile_share(op.output_w, kWinogradTile) / transforms;
}

bool Roofline::fourier_applies(const OpProfile& op) const {
  return fourier_ && op.is_conv && op.stride == 1 && op.groups == 1 &&
         op.kernel_h >= kFourierKernel && op.kernel_w >= kFourierKernel && op.output_h > 1;
}

PassTime Roofline::traffic(double elements) const {
  return {elements * element_ / bytes_per_s_, Bound::kMemory, ConvAlgorithm::kProduct, 1};
}

PassTime Roofline::fourier(const OpProfile& op, double batch, double speed) const {
  const double cin = op.inner / static_cast<double>(op.kernel_h * op.kernel_w);
  const auto kernel = static_cast<double>(std::max(op.kernel_h, op.kernel_w));
  const bool small = std::max(op.output_h, op.output_w) + kernel - 1 <= kSmallSpectrum;
  const double side = small ? kSmallSpectrum : kLargeSpectrum;
  const double useful = side - kernel + 1;
  const double tiles = std::ceil(op.output_h / useful) * std::ceil(op.output_w / useful) * batch;
  const double points = side * side;
  const double planes = tiles * (cin + op.columns) + cin * op.columns;
  const double transforms = planes * 2.5 * points * std::log2(points);
  // Complex multiply-adds over half of the spectrum.
  const double products = 4 * points * tiles * cin * op.columns;
  const double bytes = planes * points * element_ * 2;
  const double compute = (transforms + products) / (speed * efficiency_.fourier);
  const double memory = bytes / bytes_per_s_;
  return {std::max(compute, memory), compute > memory ? Bound::kCompute : Bound::kMemory,
          ConvAlgorithm::kFourier, 4};
}

double Roofline::shape_share(const OpProfile& op, const Product& p, double busy) const {
  if (!op.is_conv && p.rows < kVectorRows) return 1;
  if (op.groups > 1 && op.columns < kDirectColumns) return kDirectShare * busy;
  return tile_share(p.columns, kColumnTile) * tile_share(p.rows, kRowTile) * p.inner /
         (p.inner + efficiency_.depth) * busy;
}

PassTime Roofline::product(const OpProfile& op, const Product& p, double batch,
                           double share) const {
  const double sums = p.outputs * std::max(1.0, p.inner / kSplitDepth);
  const double busy = sums / (sums + efficiency_.occupancy * lanes_);
  const double shape = shape_share(op, p, busy);
  const double base = op.is_conv ? efficiency_.conv : efficiency_.gemm;
  const double speed = product_peak_ * base * share;
  double compute = p.flops / (speed * shape);
  PassTime best{0, Bound::kCompute, ConvAlgorithm::kProduct, 1};
  if (const double gain = winograd_gain(op); gain > 1) {
    compute /= gain;
    best.algorithm = ConvAlgorithm::kWinograd;
  }
  const double memory = p.elements * element_ / bytes_per_s_;
  best.seconds = std::max(compute, memory);
  best.bound = compute > memory ? Bound::kCompute : Bound::kMemory;
  if (fourier_applies(op)) {
    const PassTime other = fourier(op, batch, speed);
    if (other.seconds < best.seconds) best = other;
  }
  return best;
}

void Roofline::repeat(PassTime& pass, const OpProfile& op, double batch) const {
  if (pass.kernels == 0) return;
  // Each image's windows are laid out as a matrix first.
  const bool point = op.kernel_h == 1 && op.kernel_w == 1;
  const double layout = point ? 0 : traffic(2 * op.rows * op.inner * op.groups).seconds;
  pass.seconds = (pass.seconds + layout) * batch;
  pass.kernels = static_cast<int64_t>(static_cast<double>(pass.kernels + (point ? 0 : 1)) * batch);
}

PassTime Roofline::forward(const OpProfile& op, double batch) const {
  if (image_by_image_ && op.is_conv && batch > 1) {
    PassTime time = forward(op, 1);
    repeat(time, op, batch);
    return time;
  }
  const double rows = op.rows * batch;
  const double outputs = op.output * batch;
  PassTime time = product(op,
                          {2 * op.macs * batch, rows, op.columns, op.inner, op.groups,
                           op.input * batch + outputs + op.weights, outputs},
                          batch, 1.0);
  if (op.has_bias && op.is_conv) {
    time.seconds += traffic(2 * outputs).seconds;
    time.kernels += 1;
  }
  return time;
}

PassTime Roofline::measured(const OpProfile& op, double batch, Phase phase, bool weights) const {
  PassTime time;
  double computing = 0;
  for (const Term& term : operator_terms(op, batch, phase)) {
    if ((term.pass == Pass::kWeights) != weights) continue;
    const double flops = measured_->of(term.family, term.pass)[0] * term.flops;
    time.seconds += measured_->time(term);
    computing += flops;
    if (term.family == Family::kWinograd) time.algorithm = ConvAlgorithm::kWinograd;
  }
  if (time.seconds > 0) {
    time.bound = computing > time.seconds / 2 ? Bound::kCompute : Bound::kMemory;
  }
  return time;
}

PassTime Roofline::inference(const OpProfile& op, double batch) const {
  if (measured_) return measured(op, batch, Phase::kInference, /*weights=*/false);
  if (op.work == Work::kProduct) return forward(op, batch);
  if (op.forward_inference == 0) return {};
  return traffic(op.forward_inference * batch);
}

OpTime Roofline::training(const OpProfile& op, double batch) const {
  OpTime time;
  if (measured_) {
    time.forward = measured(op, batch, Phase::kForward, /*weights=*/false);
    time.data_gradient = measured(op, batch, Phase::kBackward, /*weights=*/false);
    time.weight_gradient = measured(op, batch, Phase::kBackward, /*weights=*/true);
    return time;
  }
  if (op.work == Work::kTraffic) {
    time.forward = traffic(op.forward_training * batch);
    time.data_gradient = traffic(op.backward * batch);
    return time;
  }
  time = gradients(op, image_by_image_ && op.is_conv ? 1 : batch);
  time.forward = forward(op, batch);
  if (image_by_image_ && op.is_conv) {
    repeat(time.data_gradient, op, batch);
    repeat(time.weight_gradient, op, batch);
  }
  return time;
}

OpTime Roofline::gradients(const OpProfile& op, double batch) const {
  OpTime time;
  const double flops = 2 * op.macs * batch;
  const double elements = (op.input + op.output) * batch + op.weights;
  const double inputs = op.input * batch;
  if (op.data_gradient) {
    const double columns = op.input / std::max(1.0, op.input_rows) / op.groups;
    const double inner = op.macs / std::max(1.0, op.input);
    time.data_gradient =
        product(op, {flops, op.input_rows * batch, columns, inner, op.groups, elements, inputs},
                batch, efficiency_.gradient);
  }
  if (op.weights > 0) {
    const double depth = op.rows * batch;
    const double outputs = op.inner * op.columns * op.groups;
    time.weight_gradient =
        product(op, {flops, op.inner, op.columns, depth, op.groups, elements, outputs}, batch,
                efficiency_.gradient);
    if (op.has_bias) {
      time.weight_gradient.seconds += traffic(op.output * batch).seconds;
      time.weight_gradient.kernels += 1;
    }
  }
  return time;
}

double Roofline::update_seconds(double parameters) const {
  if (measured_) return measured_->time(update_term(parameters));
  // Weight, gradient and momentum in; weight and momentum out; in single precision or better.
  constexpr double kElements = 5;
  return kElements * parameters * std::max(4.0, element_) / bytes_per_s_;
}

}  // namespace trainyard::predict
