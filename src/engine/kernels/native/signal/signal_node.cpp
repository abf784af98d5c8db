// DFT and STFT by fast transforms.
#include <algorithm>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/signal/fourier.h"

namespace trainyard::kernels::native {
namespace {

// Lines of a tensor, each to be transformed, with scratch memory for each thread.
class LineTransform : public Kernel {
 public:
  int64_t scratch_bytes() const override {
    return threads_ * line_floats() * static_cast<int64_t>(sizeof(float));
  }

 protected:
  LineTransform(int64_t points, int64_t lines)
      : points_(points), lines_(lines), fourier_(points), threads_(kernels::threads()) {}

  // Calls f(line, memory for it, scratch memory).
  template <typename F>
  void for_each_line(const KernelArgs& args, const F& f) const {
    auto* scratch = reinterpret_cast<float*>(args.scratch.data());
    parallel(threads_, [&](int id) {
      float* own = scratch + id * line_floats();
      const Range part = part_of(lines_, threads_, id);
      for (int64_t line = part.begin; line < part.end; ++line) {
        f(line, ComplexSpan{own, own + points_}, own + 2 * points_);
      }
    });
  }
  int64_t line_floats() const { return 2 * points_ + fourier_.work_floats(); }

  int64_t points_;
  int64_t lines_;
  Fourier fourier_;
  int threads_;
};

std::optional<int64_t> known_number(const NodeView& node, size_t input, int64_t fallback) {
  if (!node.has_input(input)) return fallback;
  const auto numbers = node.input_ints(input);
  if (!numbers) return std::nullopt;
  return (*numbers)[0];
}

// What a DFT does along its axis.
struct DftLines {
  bool inverse = false;
  bool onesided = false;
  int64_t x_length = 1;
  int64_t y_length = 1;
  int64_t points = 1;
  int64_t inner = 1;  // elements between neighbors of a line
  int64_t x_parts = 1;
  int64_t y_parts = 2;
};

std::optional<DftLines> dft_lines(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const Shape& y = node.output_shape(0);
  const auto axis = known_number(node, 2, -2);
  const auto length = known_number(node, 1, 0);
  if (!axis || !length) return std::nullopt;
  const int64_t at = normalize_axis(*axis, x.rank(), node.op());
  DftLines lines;
  lines.inverse = node.attr_int("inverse", 0) != 0;
  lines.onesided = node.attr_int("onesided", 0) != 0;
  lines.x_length = x[at];
  lines.y_length = y[at];
  lines.points = *length > 0 ? *length : lines.inverse && lines.onesided ? 2 * (x[at] - 1) : x[at];
  lines.inner = x.num_elements(at + 1, x.rank() - 1);
  lines.x_parts = x.dim(-1);
  lines.y_parts = y.dim(-1);
  return lines;
}

std::string_view refuses_dft(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.output_shape(0).num_elements() == 0 || node.input_shape(0).num_elements() == 0)
    return "input or result is empty";
  return dft_lines(node) ? "" : "axis or length are not known before the run";
}

class Dft final : public LineTransform {
 public:
  Dft(const NodeView& node, const DftLines& lines)
      : LineTransform(lines.points,
                      node.input_shape(0).num_elements() / lines.x_parts / lines.x_length),
        shape_(lines) {}

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<const float>();
    auto* y = args.outputs[0].as<float>();
    for_each_line(args, [&](int64_t line, ComplexSpan z, float* work) {
      const int64_t outer = line / shape_.inner;
      const int64_t inner = line % shape_.inner;
      load(x + (outer * shape_.x_length * shape_.inner + inner) * shape_.x_parts, z);
      fourier_.run(z, shape_.inverse, work);
      store(z, y + (outer * shape_.y_length * shape_.inner + inner) * shape_.y_parts);
    });
  }

 private:
  // Of half a spectrum, the other half is its mirror image.
  void load(const float* x, ComplexSpan z) const {
    const bool half = shape_.inverse && shape_.onesided;
    const int64_t step = shape_.inner * shape_.x_parts;
    for (int64_t k = 0; k < points_; ++k) {
      const bool mirrored = half && k > points_ / 2;
      const int64_t from = mirrored ? points_ - k : k;
      const bool there = from < shape_.x_length;
      z.real[k] = there ? x[from * step] : 0.0F;
      const float imaginary = there && shape_.x_parts == 2 ? x[from * step + 1] : 0.0F;
      z.imaginary[k] = mirrored ? -imaginary : imaginary;
    }
  }

  void store(ComplexSpan z, float* y) const {
    const float scale = shape_.inverse ? 1.0F / static_cast<float>(points_) : 1.0F;
    const int64_t step = shape_.inner * shape_.y_parts;
    for (int64_t k = 0; k < shape_.y_length; ++k) {
      y[k * step] = z.real[k] * scale;
      if (shape_.y_parts == 2) y[k * step + 1] = z.imaginary[k] * scale;
    }
  }

  DftLines shape_;
};

struct StftFrames {
  int64_t step = 1;
  int64_t length = 1;
};

std::optional<StftFrames> stft_frames(const NodeView& node) {
  const auto step = known_number(node, 1, 1);
  const auto length =
      known_number(node, 3, node.has_input(2) ? node.input_shape(2).num_elements() : 0);
  if (!step || !length) return std::nullopt;
  return StftFrames{*step, *length};
}

std::string_view refuses_stft(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.has_input(2) && node.input_type(2).dtype != DType::kF32) return kOnlyF32;
  if (node.output_shape(0).num_elements() == 0) return "the result is empty";
  return stft_frames(node) ? "" : "step or length are not known before the run";
}

class Stft final : public LineTransform {
 public:
  Stft(const NodeView& node, const StftFrames& frames)
      : LineTransform(frames.length, node.output_shape(0)[0] * node.output_shape(0)[1]),
        step_(frames.step),
        samples_(node.input_shape(0)[1]),
        parts_(node.input_shape(0).rank() == 3 ? node.input_shape(0)[2] : 1),
        frames_(node.output_shape(0)[1]),
        bins_(node.output_shape(0)[2]) {}

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<const float>();
    const auto* window = args.inputs.size() > 2 ? args.inputs[2].as<const float>() : nullptr;
    auto* y = args.outputs[0].as<float>();
    for_each_line(args, [&](int64_t line, ComplexSpan z, float* work) {
      const float* from = x + (line / frames_ * samples_ + line % frames_ * step_) * parts_;
      for (int64_t k = 0; k < points_; ++k) {
        const float weight = window != nullptr ? window[k] : 1.0F;
        z.real[k] = from[k * parts_] * weight;
        z.imaginary[k] = parts_ == 2 ? from[k * parts_ + 1] * weight : 0.0F;
      }
      fourier_.run(z, /*inverse=*/false, work);
      float* to = y + line * bins_ * 2;
      for (int64_t k = 0; k < bins_; ++k) {
        to[2 * k] = z.real[k];
        to[2 * k + 1] = z.imaginary[k];
      }
    });
  }

 private:
  int64_t step_;
  int64_t samples_;
  int64_t parts_;
  int64_t frames_;
  int64_t bins_;
};

}  // namespace

extern const KernelDef kDFT = {.op = "DFT",
                               .library = "native",
                               .refuses = refuses_dft,
                               .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
                                 return std::make_unique<Dft>(node, *dft_lines(node));
                               }};
extern const KernelDef kSTFT = {.op = "STFT",
                                .library = "native",
                                .refuses = refuses_stft,
                                .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
                                  return std::make_unique<Stft>(node, *stft_frames(node));
                                }};

}  // namespace trainyard::kernels::native
