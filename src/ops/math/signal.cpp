// Fourier transforms of signals, and the windows and filters that go with them.
#include <bit>
#include <cmath>
#include <complex>
#include <initializer_list>
#include <numbers>

#include <fmt/format.h>

#include "base/error.h"
#include "ops/layout/dtype_code.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

using Complex = std::complex<double>;

constexpr AttrSpec kDftAttributes[] = {{"inverse", AttrKind::kInt}, {"onesided", AttrKind::kInt}};
constexpr AttrSpec kStftAttributes[] = {{"onesided", AttrKind::kInt}};
constexpr AttrSpec kWindowAttributes[] = {{"output_datatype", AttrKind::kInt},
                                          {"periodic", AttrKind::kInt}};
constexpr AttrSpec kMelAttributes[] = {{"output_datatype", AttrKind::kInt}};
constexpr int64_t kLongest = int64_t{1} << 24;

int64_t checked_length(int64_t length) {
  TY_REQUIRE(0 < length && length <= kLongest, "a length of {} is not possible", length);
  return length;
}

int64_t length_at(const TensorView& view) {
  return checked_length(element_as_int(view, 0));
}

// Of the inputs that are given, each is one number.
void require_numbers(const NodeView& node, std::initializer_list<size_t> inputs) {
  for (const size_t i : inputs) {
    TY_REQUIRE(!node.has_input(i) || !node.input_shape(i).is_static() ||
                   node.input_shape(i).num_elements() == 1,
               "input {} has shape {}, expected one number", i, node.input_shape(i).to_string());
  }
}

void require_parts(int64_t parts) {
  TY_REQUIRE(parts == 1 || parts == 2 || parts == Shape::kUnknown,
             "the last axis has {} parts, expected 1 (real) or 2 (complex)", parts);
}

// exp(-+ pi i k / n); k is any number below 2 n.
Complex root_of(size_t k, size_t n, bool inverse) {
  const double angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return std::polar(1.0, inverse ? angle : -angle);
}

// In place, of a power of two, not scaled.
void transform_halves(std::vector<Complex>& x, bool inverse) {
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t half = 1; half < n; half *= 2) {
    for (size_t k = 0; k < half; ++k) {
      const Complex root = root_of(k, half, inverse);
      for (size_t i = k; i < n; i += 2 * half) {
        const Complex other = x[i + half] * root;
        x[i + half] = x[i] - other;
        x[i] += other;
      }
    }
  }
}

// Bluestein: 2 j k = j^2 + k^2 - (j - k)^2, so the sums are a convolution.
std::vector<Complex> transform_long(const std::vector<Complex>& x, bool inverse) {
  const size_t n = x.size();
  const size_t padded = std::bit_ceil(2 * n);
  std::vector<Complex> chirp(n);
  for (size_t k = 0; k < n; ++k) chirp[k] = root_of(k * k % (2 * n), n, inverse);
  std::vector<Complex> line(padded);
  std::vector<Complex> filter(padded);
  for (size_t k = 0; k < n; ++k) {
    line[k] = x[k] * chirp[k];
    filter[k] = std::conj(chirp[k]);
    if (k > 0) filter[padded - k] = filter[k];
  }
  transform_halves(line, false);
  transform_halves(filter, false);
  for (size_t i = 0; i < padded; ++i) line[i] *= filter[i];
  transform_halves(line, true);
  std::vector<Complex> y(n);
  const double scale = static_cast<double>(padded) * (inverse ? static_cast<double>(n) : 1.0);
  for (size_t k = 0; k < n; ++k) y[k] = line[k] * chirp[k] / scale;
  return y;
}

// sum of x[k] exp(-+ 2 pi i j k / n), by definition unless that would take minutes: lengths are
// arbitrary, and come with requests.
std::vector<Complex> transform(const std::vector<Complex>& x, bool inverse) {
  constexpr size_t kLong = 1 << 11;
  if (x.size() > kLong) return transform_long(x, inverse);
  const size_t n = x.size();
  std::vector<Complex> roots(n);
  for (size_t i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    roots[i] = std::polar(1.0, inverse ? angle : -angle);
  }
  std::vector<Complex> y(n);
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < n; ++k) y[j] += x[k] * roots[j * k % n];
    if (inverse) y[j] /= static_cast<double>(n);
  }
  return y;
}

Complex complex_at(const TensorView& x, int64_t place, int64_t parts) {
  const double real = element_as_double(x, place * parts);
  return {real, parts == 2 ? element_as_double(x, place * parts + 1) : 0.0};
}

void store_number(const TensorView& y, int64_t place, double value) {
  const Tensor one = Tensor::scalar(value);
  const Shape scalar;
  cast_elements(one.view(), {y.dtype, &scalar, y.as<std::byte>() + place * dtype_size(y.dtype)});
}

struct DftRule {
  bool inverse;
  bool onesided;

  explicit DftRule(const NodeView& node)
      : inverse(node.attr_int("inverse", 0) != 0), onesided(node.attr_int("onesided", 0) != 0) {}

  // Points that are transformed, from the length of x and the length that is asked for (0: none).
  int64_t points(int64_t x, int64_t given) const {
    if (given > 0) return given;
    return inverse && onesided ? 2 * (x - 1) : x;
  }
  int64_t result(int64_t points) const { return onesided && !inverse ? points / 2 + 1 : points; }
  int64_t parts() const { return onesided && inverse ? 1 : 2; }
};

std::vector<TensorType> infer_dft(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const DftRule rule(node);
  const int64_t rank = x.shape.rank();
  TY_REQUIRE(rank >= 2 && is_float(x.dtype),
             "input is {}, expected a signal of real or complex "
             "floats",
             x.to_string());
  require_parts(x.shape[rank - 1]);
  require_numbers(node, {1, 2});
  const auto axis = node.input_ints(2);
  const auto length = node.input_ints(1);
  if (length) checked_length((*length)[0]);
  TensorType y = x;
  y.shape[rank - 1] = rule.parts();
  if ((node.has_input(2) && !axis) || (node.has_input(1) && !length)) {
    y.shape = unknown_shape(rank);
    return {y};
  }
  const int64_t at = normalize_axis(axis ? (*axis)[0] : -2, rank, node.op());
  TY_REQUIRE(at != rank - 1, "axis {} holds the parts of complex numbers", at);
  if (x.shape[at] != Shape::kUnknown) {
    const int64_t points = rule.points(x.shape[at], length ? (*length)[0] : 0);
    TY_REQUIRE(0 < points && points <= kLongest, "a transform of {} points is not possible",
               points);
    y.shape[at] = rule.result(points);
  }
  return {y};
}

Routine routine_dft(const NodeView& node) {
  return [rule = DftRule(node)](Views in, Views out) {
    const Shape& x = *in[0].shape;
    const Shape& y = *out[0].shape;
    const bool has_axis = in.size() > 2 && in[2].data != nullptr;
    const int64_t axis = normalize_axis(has_axis ? element_as_int(in[2], 0) : -2, x.rank(), "DFT");
    const int64_t given = in.size() > 1 && in[1].data != nullptr ? length_at(in[1]) : 0;
    const int64_t points = rule.points(x[axis], given);
    const int64_t inner = x.num_elements(axis + 1, x.rank() - 1);
    const int64_t parts = x[x.rank() - 1];
    std::vector<Complex> line(static_cast<size_t>(points));
    for (int64_t i = 0; i < x.num_elements(0, axis) * inner; ++i) {
      const int64_t begin = i / inner * x[axis] * inner + i % inner;
      for (int64_t k = 0; k < points; ++k) {
        Complex value;
        const bool mirrored = rule.inverse && rule.onesided && k > points / 2;
        const int64_t from = mirrored ? points - k : k;
        if (from < x[axis]) value = complex_at(in[0], begin + from * inner, parts);
        line[static_cast<size_t>(k)] = mirrored ? std::conj(value) : value;
      }
      const std::vector<Complex> result = transform(line, rule.inverse);
      const int64_t to = i / inner * y[axis] * inner + i % inner;
      for (int64_t k = 0; k < y[axis]; ++k) {
        const Complex value = result[static_cast<size_t>(k)];
        const int64_t place = (to + k * inner) * rule.parts();
        store_number(out[0], place, value.real());
        if (rule.parts() == 2) store_number(out[0], place + 1, value.imag());
      }
    }
  };
}

std::vector<TensorType> infer_stft(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(x.shape.rank() == 3 || x.shape.rank() == 2,
             "the signal has shape {}, expected batch x length x parts", x.shape.to_string());
  if (x.shape.rank() == 3) require_parts(x.shape[2]);
  require_numbers(node, {1, 3});
  const auto step = node.input_ints(1);
  auto length = node.input_ints(3);
  TY_REQUIRE(node.has_input(2) || node.has_input(3),
             "neither a window nor a frame length is given");
  if (node.has_input(2) && node.input_shape(2).is_static()) {
    const Shape& window = node.input_shape(2);
    TY_REQUIRE(window.rank() == 1 && (!length || window[0] == (*length)[0]),
               "the window has shape {}, expected one number for each of a frame's{}",
               window.to_string(), length ? fmt::format(" {}", (*length)[0]) : "");
    if (!node.has_input(3)) length = std::vector<int64_t>{window[0]};
  }
  const int64_t batch = x.shape[0];
  if (!step || !length || x.shape[1] == Shape::kUnknown) {
    return {{x.dtype, {batch, Shape::kUnknown, Shape::kUnknown, 2}}};
  }
  TY_REQUIRE((*step)[0] > 0 && (*length)[0] > 0 && (*length)[0] <= x.shape[1],
             "frames of {} every {} do not fit into a signal of {}", (*length)[0], (*step)[0],
             x.shape[1]);
  const int64_t frames = (x.shape[1] - (*length)[0]) / (*step)[0] + 1;
  const bool onesided = node.attr_int("onesided", 1) != 0;
  return {{x.dtype, {batch, frames, onesided ? (*length)[0] / 2 + 1 : (*length)[0], 2}}};
}

Routine routine_stft(const NodeView&) {
  return [](Views in, Views out) {
    const Shape& x = *in[0].shape;
    const Shape& y = *out[0].shape;
    const bool has_window = in.size() > 2 && in[2].data != nullptr;
    const bool has_length = in.size() > 3 && in[3].data != nullptr;
    const int64_t length = has_length ? length_at(in[3]) : in[2].num_elements();
    const int64_t step = element_as_int(in[1], 0);
    const int64_t parts = x.rank() == 3 ? x[2] : 1;
    std::vector<Complex> frame(static_cast<size_t>(length));
    for (int64_t i = 0; i < y[0] * y[1]; ++i) {
      const int64_t begin = i / y[1] * x[1] + i % y[1] * step;
      for (int64_t k = 0; k < length; ++k) {
        const double weight = has_window ? element_as_double(in[2], k) : 1.0;
        frame[static_cast<size_t>(k)] = weight * complex_at(in[0], begin + k, parts);
      }
      const std::vector<Complex> result = transform(frame, false);
      for (int64_t k = 0; k < y[2]; ++k) {
        const Complex value = result[static_cast<size_t>(k)];
        store_number(out[0], (i * y[2] + k) * 2, value.real());
        store_number(out[0], (i * y[2] + k) * 2 + 1, value.imag());
      }
    }
  };
}

std::vector<TensorType> infer_window(const NodeView& node) {
  require_numbers(node, {0});
  const auto size = node.input_ints(0);
  const DType dtype = dtype_from_code(node.attr_int("output_datatype", 1));
  TY_REQUIRE(!size || ((*size)[0] >= 0 && (*size)[0] <= kLongest), "a window of {} is not possible",
             (*size)[0]);
  return {{dtype, {size ? (*size)[0] : Shape::kUnknown}}};
}

// Sums of cosines.
Routine routine_window(const NodeView& node) {
  double a[3] = {0.5, -0.5, 0};
  if (node.op() == "HammingWindow") {
    a[0] = 25.0 / 46;
    a[1] = -(1 - a[0]);
  } else if (node.op() == "BlackmanWindow") {
    a[0] = 0.42;
    a[2] = 0.08;
  }
  return [a0 = a[0], a1 = a[1], a2 = a[2], periodic = node.attr_int("periodic", 1) != 0](
             Views, Views out) {
    const int64_t size = out[0].num_elements();
    const auto length = static_cast<double>(periodic ? size : size - 1);
    for (int64_t i = 0; i < size; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / length;
      store_number(out[0], i, a0 + a1 * std::cos(angle) + a2 * std::cos(2 * angle));
    }
  };
}

std::vector<TensorType> infer_mel(const NodeView& node) {
  require_numbers(node, {0, 1, 2, 3, 4});
  const auto bins = node.input_ints(0);
  const auto length = node.input_ints(1);
  const DType dtype = dtype_from_code(node.attr_int("output_datatype", 1));
  TY_REQUIRE(!bins || !length || ((*bins)[0] > 0 && (*length)[0] > 0 && (*bins)[0] <= kLongest),
             "{} bins of a transform of {} points are not possible", (*bins)[0], (*length)[0]);
  return {{dtype,
           {length ? (*length)[0] / 2 + 1 : Shape::kUnknown, bins ? (*bins)[0] : Shape::kUnknown}}};
}

// Triangles between points that lie evenly on the mel scale.
Routine routine_mel(const NodeView&) {
  return [](Views in, Views out) {
    const int64_t bins = element_as_int(in[0], 0);
    const auto length = static_cast<double>(element_as_int(in[1], 0));
    const auto rate = static_cast<double>(element_as_int(in[2], 0));
    const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double low = to_mel(element_as_double(in[3], 0));
    const double high = to_mel(element_as_double(in[4], 0));
    std::vector<int64_t> points;
    for (int64_t i = 0; i < bins + 2; ++i) {
      const double mel =
          low + static_cast<double>(i) * ((high - low) / static_cast<double>(bins + 2));
      const double hertz = 700 * (std::pow(10.0, mel / 2595) - 1);
      const double point = (length + 1) * hertz / rate;
      // Not true for what is no number, either.
      TY_REQUIRE(std::abs(point) < 0x1p53, "frequencies to {} Hz at a rate of {} are not possible",
                 hertz, rate);
      points.push_back(static_cast<int64_t>(point));
    }
    for (int64_t i = 0; i < out[0].num_elements(); ++i) {
      const int64_t row = i / bins;
      const auto bin = static_cast<size_t>(i % bins);
      const int64_t left = points[bin];
      const int64_t center = points[bin + 1];
      const int64_t right = points[bin + 2];
      double value = 0;
      if (left == center && row == center) {
        value = 1;
      } else if (left <= row && row <= center) {
        value = static_cast<double>(row - left) / static_cast<double>(center - left);
      }
      if (center < row && row < right) {
        value = static_cast<double>(right - row) / static_cast<double>(right - center);
      }
      store_number(out[0], i, value);
    }
  };
}

constexpr OpDef window_function(std::string_view name) {
  return {.name = name,
          .attributes = kWindowAttributes,
          .infer = infer_window,
          .routine = routine_window,
          .no_gradient = NoGradient::kNever};
}

}  // namespace

// Inputs: x (… x length x … x 1 or 2 parts), points, axis.
extern const OpDef kDFT = {.name = "DFT",
                           .kind = OpKind::kOther,
                           .inputs = {1, 3},
                           .attributes = kDftAttributes,
                           .infer = infer_dft,
                           .routine = routine_dft};
// Inputs: signal, step between frames, window, length of a frame.
extern const OpDef kSTFT = {.name = "STFT",
                            .kind = OpKind::kOther,
                            .inputs = {2, 4},
                            .attributes = kStftAttributes,
                            .infer = infer_stft,
                            .routine = routine_stft};
extern const OpDef kBlackmanWindow = window_function("BlackmanWindow");
extern const OpDef kHammingWindow = window_function("HammingWindow");
extern const OpDef kHannWindow = window_function("HannWindow");
// Inputs: bins, points of the transform, sample rate, lowest and highest frequency.
extern const OpDef kMelWeightMatrix = {.name = "MelWeightMatrix",
                                       .inputs = {5, 5},
                                       .attributes = kMelAttributes,
                                       .infer = infer_mel,
                                       .routine = routine_mel,
                                       .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
