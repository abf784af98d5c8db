#include "cluster/predict/op_time.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cluster/predict/catalog.h"

namespace trainyard::predict {
namespace {

// Products are cut into tiles of this size; what is left over runs at the cost of a whole tile.
constexpr double kColumnTile = 64;
constexpr double kRowTile = 32;
// Below this many rows a matrix product is done by kernels for vectors, which wait for memory only.
constexpr double kVectorRows = 8;
// Groups of fewer filters than this (depthwise convolutions) are computed directly, without tiles:
// what is loaded is used for few sums.
constexpr double kDirectColumns = 8;
// A kernel that only moves values needs less than a product's time however small it is.
constexpr double kTrafficKernel = 0.3;
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
// Matrix units take the channels of an image in pieces of this many bytes; the three of a picture
// are filled up with zeros.
constexpr double kChannelBytes = 16;

// Loads, addresses and waiting cost a product in double precision what they cost it in single (all
// that `conv` is short of the peak), for twice the bytes. Boards with few units for double
// precision hide them behind the arithmetic. `fp64` is what is left beyond that.
double double_share(const Device& device, const Efficiency& e) {
  constexpr double kBytes = 2;
  const double beside = kBytes * (1 / e.conv - 1) * device.fp64 / device.fp32;
  return e.fp64 / (1 + beside);
}

// A last cache that holds what a layer leaves for the next one serves it at its own bandwidth: half
// a line per multiprocessor and cycle, of which kernels reach a share. Smaller caches hold so
// little that the kernels concerned wait for their launch instead.
double cache_gain(const Device& device) {
  constexpr double kLarge = 20e6;
  constexpr double kBytesPerCycle = 64;
  constexpr double kReached = 0.4;
  if (device.is_cpu() || device.cache_bytes < kLarge) return 1;
  const double cache =
      kReached * kBytesPerCycle * static_cast<double>(device.multiprocessors) * device.clock_hz;
  return std::max(1.0, cache / device.bytes_per_s);
}

// The peak that products are measured by, and the share of it that a large convolution reaches.
std::pair<double, double> product_peak(const Device& device, const Efficiency& e,
                                       Precision precision, bool matrix_units) {
  switch (precision) {
    case Precision::kFp64:
      return {device.fp64, double_share(device, e)};
    case Precision::kInt8:
      return {device.peak(precision), e.int8};
    case Precision::kTf32:
      if (matrix_units) return {device.tf32, e.tf32};
      break;
    case Precision::kFp16:
      if (matrix_units) return {device.fp16_matrix, e.matrix};
      // Half precision is stored, and computed at the vector units' own rate.
      return {device.fp16 > device.fp32 ? device.fp16 : device.fp32,
              device.fp16 > device.fp32 ? e.conv : e.conv * e.half};
    case Precision::kFp32:
      break;
  }
  return {device.fp32, e.conv};
}

// Bytes that an element costs on its way. On boards without arithmetic for half precision (Maxwell,
// most of Pascal) networks that wait for memory gain nothing from it: as if each thread loaded one
// element, however wide.
double moved_bytes(const Device& device, Precision precision, bool matrix_units) {
  const bool stored_only =
      precision == Precision::kFp16 && !matrix_units && device.fp16 <= device.fp32;
  return bytes_per_element(stored_only ? Precision::kFp32 : precision);
}

// Multiply-adds in one cycle. Boards that are made for single precision have few units for double.
double lanes_of(const Device& device, Precision precision) {
  const double peak = precision == Precision::kFp64 ? device.fp64 : device.fp32;
  return peak / (2 * device.clock_hz);
}

// What a direct convolution reaches of a product's speed. It waits for loads, not for arithmetic,
// so where double precision has few units the loads are of less account.
double direct_share(const Device& device, Precision precision, double direct) {
  if (precision != Precision::kFp64 || device.fp64 <= 0) return direct;
  const double twice_the_bytes = 2 * device.fp64;
  return std::min(1.0, direct * std::max(1.0, device.fp32 / twice_the_bytes));
}

// The cores of a CPU beside the first.
double further_cores(const Device& device) {
  return device.is_cpu() ? std::max(0.0, static_cast<double>(device.cores) - 1) : 0;
}

const PassTime& slower(const PassTime& a, const PassTime& b) {
  return a.seconds < b.seconds ? b : a;
}

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

bool uses_matrix_units(const Device& device, const Stack& stack, Precision precision) {
  if (precision == Precision::kFp16) return stack.matrix_units && device.fp16_matrix > 0;
  return precision == Precision::kInt8 || (precision == Precision::kTf32 && device.tf32 > 0);
}

Figures figures_of(const Device& device, const Stack& stack, Precision precision) {
  if (stack.measured) return {};
  const bool matrix = uses_matrix_units(device, stack, precision);
  return {stack.for_class(device_class(device)),
          stack.factor_for(device.id) * (matrix ? device.matrix_factor : device.vector_factor),
          device.memory_factor, stack.host_factor_for(device.id)};
}

// tf32 allows matrix units and does not forbid the others, so what was measured with it is the most
// that fp32 can be. No source measured fp32 on a device that has tf32: alone it would be
// extrapolated from older devices.
Roofline::Roofline(const Device& device, const Stack& stack, Precision precision)
    : Roofline(device, stack, precision, figures_of(device, stack, precision)) {
  if (precision == Precision::kFp32 && device.tf32 > 0 && measured_ == nullptr) {
    tf32_ = std::make_shared<const Roofline>(device, stack, Precision::kTf32);
  }
}

Roofline::Roofline(const Device& device, const Stack& stack, Precision precision,
                   const Figures& figures)
    : measured_(stack.measured),
      efficiency_(figures.efficiency),
      // cuDNN has minimal filtering for single and half precision only.
      winograd_(stack.winograd && precision != Precision::kFp64),
      fourier_(stack.fourier),
      image_by_image_(stack.image_by_image),
      matrix_units_(uses_matrix_units(device, stack, precision)),
      converts_layout_(matrix_units_ && !stack.channels_last),
      engine_(stack.engine),
      folds_(stack.engine || stack.compiled),
      copies_input_(stack.copies_input),
      casts_(stack.casts_weights && precision == Precision::kFp16),
      stores_scores_(!stack.flash_attention),
      peak_(device.peak(precision)),
      bytes_per_s_(device.bytes_per_s * efficiency_.memory * figures.memory),
      cache_bytes_(device.cache_bytes),
      cache_gain_(cache_gain(device)),
      host_bytes_per_s_(device.host_bytes_per_s),
      element_(moved_bytes(device, precision, matrix_units_)),
      lanes_(lanes_of(device, precision)),
      direct_(direct_share(device, precision, efficiency_.direct)),
      host_(figures.host),
      update_kernels_(stack.update_kernels),
      zero_kernels_(stack.zero_kernels),
      further_cores_(further_cores(device)),
      synchronous_(device.is_cpu()) {
  TY_REQUIRE(peak_ > 0, "the catalog has no {} peak for device '{}'; give one with `catalog`",
             precision_name(precision), device.id);
  TY_REQUIRE(!measured_ || device.stack == stack.id,
             "software stack '{}' was measured on one machine and cannot be moved to device '{}'",
             stack.id, device.id);
  TY_REQUIRE(!measured_ || precision == Precision::kFp32,
             "device '{}' was measured in fp32; there are no figures for {}", device.id,
             precision_name(precision));
  const auto [peak, share] = product_peak(device, efficiency_, precision, matrix_units_);
  // Amdahl's law: the further cores wait while one works alone.
  const double alone = 1 + efficiency_.serial * further_cores_;
  bytes_per_s_ /= alone;
  conv_speed_ = peak * share * figures.compute / alone;
  gemm_speed_ = conv_speed_ * efficiency_.gemm / efficiency_.conv;
}

double Roofline::winograd_gain(const OpProfile& op) const {
  const bool applies = winograd_ && !matrix_units_ && op.is_conv && op.kernel_h == 3 &&
                       op.kernel_w == 3 && op.stride == 1 && op.groups == 1;
  if (!applies) return 1;
  const double channels = op.inner / 9;
  const double transforms = 1 + kWinogradTransform / channels + kWinogradTransform / op.columns;
  return efficiency_.winograd * tile_share(op.output_h, kWinogradTile) *
         tile_share(op.output_w, kWinogradTile) / transforms;
}

double Roofline::filled_channels(const OpProfile& op) const {
  if (!matrix_units_ || !op.is_conv || op.groups > 1) return 1;
  const double channels = op.inner / static_cast<double>(op.kernel_h * op.kernel_w);
  return tile_share(channels, kChannelBytes / element_);
}

bool Roofline::fourier_applies(const OpProfile& op) const {
  return fourier_ && !matrix_units_ && op.is_conv && op.stride == 1 && op.groups == 1 &&
         op.kernel_h >= kFourierKernel && op.kernel_w >= kFourierKernel && op.output_h > 1;
}

double Roofline::bandwidth(double resident) const {
  if (cache_bytes_ <= 0) return bytes_per_s_;
  const double crowding = resident * element_ / cache_bytes_;
  const double held = 1 / (1 + crowding * crowding);
  return bytes_per_s_ * (1 + (efficiency_.cache - 1) * held) / (1 - held + held / cache_gain_);
}

PassTime Roofline::traffic(double elements, double resident) const {
  const double least = synchronous_ ? 0 : kTrafficKernel * efficiency_.kernel_us * 1e-6;
  return {elements * element_ / bandwidth(resident) + least, Bound::kMemory,
          ConvAlgorithm::kProduct, 1};
}

PassTime Roofline::element_wise(const OpProfile& op, double elements, double batch,
                                bool inference) const {
  const bool norm = op.op == "BatchNormalization";
  const bool follows = op.chain != Chain::kNone;
  double kept = 1;
  if (norm && !inference) {
    kept = efficiency_.normalization;
  } else if (follows && (!norm || folds_)) {
    kept = efficiency_.fused;
  }
  PassTime time = traffic(elements * batch * kept, (op.input + op.output) * batch);
  // What is fused away is not issued either.
  time.kernels = std::min(1.0, kept);
  if (!synchronous_) {
    time.seconds -= (1 - time.kernels) * kTrafficKernel * efficiency_.kernel_us * 1e-6;
  }
  return time;
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
          ConvAlgorithm::kFourier, 1};
}

double Roofline::shape_share(const OpProfile& op, const Product& p, double busy) const {
  if (!op.is_conv && p.rows < kVectorRows) return 1;
  if (op.groups > 1 && op.columns < kDirectColumns) return direct_ * busy;
  return tile_share(p.columns, kColumnTile) * tile_share(p.rows, kRowTile) * p.inner /
         (p.inner + efficiency_.depth) * busy;
}

PassTime Roofline::product(const OpProfile& op, const Product& p, double batch,
                           double share) const {
  const double sums = p.outputs * std::max(1.0, p.inner / kSplitDepth);
  const double busy = sums / (sums + efficiency_.occupancy * lanes_);
  const double shape = shape_share(op, p, busy);
  const double speed = (op.is_conv ? conv_speed_ : gemm_speed_) * share;
  double compute = p.flops / (speed * shape * filled_channels(op));
  PassTime best{0, Bound::kCompute, ConvAlgorithm::kProduct, 1};
  if (const double gain = winograd_gain(op); gain > 1) {
    compute /= gain;
    best.algorithm = ConvAlgorithm::kWinograd;
  }
  const double bytes_per_s = bandwidth(p.activations);
  const double memory = p.elements * element_ / bytes_per_s;
  best.seconds = std::max(compute, memory);
  best.bound = compute > memory ? Bound::kCompute : Bound::kMemory;
  if (fourier_applies(op)) {
    const PassTime other = fourier(op, batch, speed);
    if (other.seconds < best.seconds) best = other;
  }
  if (converts_layout_ && op.is_conv) {
    best.seconds += efficiency_.layout * p.activations * element_ / bytes_per_s;
  }
  if (!synchronous_) best.seconds += efficiency_.kernel_us * 1e-6;
  return best;
}

void Roofline::repeat(PassTime& pass, const OpProfile& op, double batch) const {
  if (pass.kernels == 0) return;
  // Each image's windows are laid out as a matrix first.
  const bool point = op.kernel_h == 1 && op.kernel_w == 1;
  const double windows = 2 * op.rows * op.inner * op.groups;
  const double layout = point ? 0 : windows * element_ / bytes_per_s_;
  pass.seconds = (pass.seconds + layout) * batch;
  pass.kernels = (pass.kernels + (point ? 0 : 1)) * batch;
}

PassTime Roofline::forward(const OpProfile& op, double batch) const {
  const bool repeats = image_by_image_ && op.is_conv;
  const double images = repeats ? 1 : batch;
  const double outputs = op.output * images;
  const double activations = op.input * images + outputs;
  PassTime time = product(op,
                          {2 * op.macs * images, op.rows * images, op.columns, op.inner, op.groups,
                           activations + op.weights, outputs, activations},
                          images, 1.0);
  if (repeats) repeat(time, op, batch);
  if (op.has_bias && op.is_conv) add_bias(time, op.output * batch);
  add_scores(time, op.scores * batch, /*forward=*/true);
  add_cast(time, op.weights);
  return time;
}

void Roofline::add_bias(PassTime& time, double outputs) const {
  const double kept = engine_ ? efficiency_.fused : 1;
  const PassTime bias = traffic(2 * outputs * kept, 2 * outputs);
  time.seconds += bias.seconds;
  time.kernels += std::min(1.0, kept);
}

void Roofline::add_scores(PassTime& time, double scores, bool forward) const {
  if (!stores_scores_ || scores <= 0) return;
  // Each of scale and softmax reads and writes what the first product writes and the second reads.
  // Mixed precision has the softmax in single precision, and conversions before and after it. Back
  // it is the same once more, and the stored scores are read.
  const double passes = (casts_ ? 10 : 6) + (forward ? 0 : 2);
  const double kernels = casts_ ? 5 : 3;
  time.seconds += traffic(passes * scores, passes * scores).seconds;
  time.kernels += kernels;
}

void Roofline::add_cast(PassTime& time, double weights) const {
  if (!casts_ || weights <= 0) return;
  // Four bytes of the one and two of the other are three elements' worth.
  constexpr double kElements = 3;
  time.seconds += traffic(kElements * weights, kElements * weights).seconds;
  time.kernels += 1;
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
  const PassTime own = own_inference(op, batch);
  return tf32_ ? slower(own, tf32_->own_inference(op, batch)) : own;
}

OpTime Roofline::training(const OpProfile& op, double batch) const {
  const OpTime own = own_training(op, batch);
  if (!tf32_) return own;
  const OpTime other = tf32_->own_training(op, batch);
  return {slower(own.forward, other.forward), slower(own.data_gradient, other.data_gradient),
          slower(own.weight_gradient, other.weight_gradient)};
}

PassTime Roofline::own_inference(const OpProfile& op, double batch) const {
  if (measured_) return measured(op, batch, Phase::kInference, /*weights=*/false);
  if (op.work == Work::kProduct) return forward(op, batch);
  // Engines have the operators before a concatenation write to their places in it.
  const bool in_place = engine_ && op.op == "Concat";
  if (op.forward_inference == 0 || in_place) return {};
  return element_wise(op, op.forward_inference, batch, /*inference=*/true);
}

OpTime Roofline::own_training(const OpProfile& op, double batch) const {
  OpTime time;
  if (measured_) {
    time.forward = measured(op, batch, Phase::kForward, /*weights=*/false);
    time.data_gradient = measured(op, batch, Phase::kBackward, /*weights=*/false);
    time.weight_gradient = measured(op, batch, Phase::kBackward, /*weights=*/true);
    return time;
  }
  if (op.work == Work::kTraffic) {
    time.forward = element_wise(op, op.forward_training, batch, /*inference=*/false);
    time.data_gradient = element_wise(op, op.backward, batch, /*inference=*/false);
    return time;
  }
  time = gradients(op, image_by_image_ && op.is_conv ? 1 : batch);
  time.forward = forward(op, batch);
  if (image_by_image_ && op.is_conv) {
    repeat(time.data_gradient, op, batch);
    repeat(time.weight_gradient, op, batch);
  }
  if (op.weights > 0 && op.has_bias) {
    time.weight_gradient.seconds += traffic(op.output * batch, op.output * batch).seconds;
    time.weight_gradient.kernels += 1;
  }
  return time;
}

OpTime Roofline::gradients(const OpProfile& op, double batch) const {
  OpTime time;
  const double flops = 2 * op.macs * batch;
  // Of two activations each has a gradient.
  const double data_flops = op.weights > 0 ? flops : 2 * flops;
  const double activations = (op.input + op.output) * batch;
  const double elements = activations + op.weights;
  const double inputs = op.input * batch;
  if (op.data_gradient) {
    const double columns = op.input / std::max(1.0, op.input_rows) / op.groups;
    const double inner = op.macs / std::max(1.0, op.input);
    time.data_gradient = product(op,
                                 {data_flops, op.input_rows * batch, columns, inner, op.groups,
                                  elements, inputs, activations},
                                 batch, efficiency_.gradient);
    add_scores(time.data_gradient, op.scores * batch, /*forward=*/false);
  }
  if (op.weights > 0) {
    const double depth = op.rows * batch;
    const double outputs = op.inner * op.columns * op.groups;
    time.weight_gradient =
        product(op, {flops, op.inner, op.columns, depth, op.groups, elements, outputs, activations},
                batch, efficiency_.gradient);
    add_cast(time.weight_gradient, op.weights);
  }
  return time;
}

double Roofline::host_seconds(double forward, double backward) const {
  if (measured_) return 0;
  const double kernels = forward + efficiency_.backward_launch * backward;
  const double barrier = efficiency_.kernel_us * further_cores_;
  const double step = synchronous_ ? 0 : efficiency_.step_us;
  return (kernels * (efficiency_.launch_us + barrier) + step) * 1e-6 * host_;
}

double Roofline::copy_seconds(double input, double batch) const {
  if (!copies_input_) return 0;
  // Engines take single precision, whatever they compute in.
  constexpr double kSingle = 4;
  const double element = engine_ ? kSingle : element_;
  return input * batch * element / (host_bytes_per_s_ * efficiency_.copy);
}

double Roofline::update_seconds(double parameters) const {
  if (measured_) return measured_->time(update_term(parameters));
  // Weight, gradient and momentum in; weight and momentum out; in single precision or better.
  constexpr double kElements = 5;
  return kElements * parameters * std::max(4.0, element_) / bytes_per_s_;
}

}  // namespace trainyard::predict
