// GatedExperts and GatedExpertsGrad: expert by expert, the rows that it counts for are put side by
// side and multiplied by oneDNN's function of BLAS, which takes as many as there happen to be.
#include "ops/nn/gated_experts.h"

#include <algorithm>

#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/elementwise/smooth.h"
#include "engine/kernels/onednn/dnnl.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::onednn {
namespace {

enum Operand : size_t { kX, kGate, kUp, kDown, kWeight, kDy };

std::string_view refuses_experts(const NodeView& node) {
  if (!native::cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  const ops::ExpertShape s = ops::expert_shape(node);
  return s.rows * s.hidden * s.inner == 0 ? "an operand is empty" : "";
}

// Memory for the rows of one expert, which may be all of them.
struct ExpertRoom {
  ExpertRoom(const ops::ExpertShape& s, std::span<std::byte> scratch)
      : rows(reinterpret_cast<int64_t*>(scratch.data())),
        x(reinterpret_cast<float*>(rows + s.rows)),
        y(x + s.rows * s.hidden),
        dx(y + s.rows * s.hidden),
        gate(dx + s.rows * s.hidden),
        up(gate + s.rows * s.inner),
        swish(up + s.rows * s.inner),
        product(swish + s.rows * s.inner) {}
  static int64_t bytes(const ops::ExpertShape& s) {
    return s.rows * static_cast<int64_t>(sizeof(int64_t)) +
           s.rows * (3 * s.hidden + 4 * s.inner) * static_cast<int64_t>(sizeof(float));
  }

  int64_t* rows;  // which they are
  float* x;
  float* y;  // or dy
  float* dx;
  float* gate;
  float* up;
  float* swish;  // of gate
  float* product;
};

// One expert's part of the operands.
class Expert {
 public:
  Expert(const ops::ExpertShape& shape, const KernelArgs& args, const ExpertRoom& room,
         int64_t index)
      : s_(shape), args_(args), room_(room), index_(index) {
    const auto* weights = args.inputs[kWeight].as<const float>();
    for (int64_t row = 0; row < s_.rows; ++row) {
      if (weights[row * s_.experts + index] != 0) room_.rows[count_++] = row;
    }
  }

  int64_t count() const { return count_; }

  void run_forward() const {
    make_hidden();
    for_rows([&](int64_t i) {
      for (int64_t j = i * s_.inner; j < (i + 1) * s_.inner; ++j) {
        room_.product[j] = room_.swish[j] * room_.up[j] * weight(i);
      }
    });
    dnnl_sgemm('N', 'T', count_, s_.hidden, s_.inner, 1.0F, room_.product, s_.inner, down(),
               width(), 0.0F, room_.y, s_.hidden);
    add_rows(room_.y, args_.outputs[0].as<float>());
  }

  void run_backward() const {
    make_hidden();
    gather(kDy, room_.y);
    dnnl_sgemm('N', 'N', count_, s_.inner, s_.hidden, 1.0F, room_.y, s_.hidden, down(), width(),
               0.0F, room_.product, s_.inner);
    for_rows([&](int64_t i) { step_back(i); });
    add_product(room_.gate, kGate, 0.0F);
    add_product(room_.up, kUp, 1.0F);
    add_rows(room_.dx, args_.outputs[kX].as<float>());
    store_weight_gradient(room_.gate, kGate);
    store_weight_gradient(room_.up, kUp);
    dnnl_sgemm('T', 'N', s_.hidden, s_.inner, count_, 1.0F, room_.y, s_.hidden, room_.product,
               s_.inner, 0.0F, args_.outputs[kDown].as<float>() + index_ * s_.inner, width());
  }

  // The gradients of an expert that nobody chose.
  void clear_gradients() const {
    for (const Operand operand : {kGate, kUp}) {
      std::fill_n(args_.outputs[operand].as<float>() + offset(), s_.inner * s_.hidden, 0.0F);
    }
    auto* d_down = args_.outputs[kDown].as<float>() + index_ * s_.inner;
    for (int64_t c = 0; c < s_.hidden; ++c) std::fill_n(d_down + c * width(), s_.inner, 0.0F);
  }

 private:
  int64_t width() const { return s_.experts * s_.inner; }
  int64_t offset() const { return index_ * s_.inner * s_.hidden; }
  const float* down() const { return args_.inputs[kDown].as<const float>() + index_ * s_.inner; }
  size_t weight_at(int64_t i) const {
    return static_cast<size_t>(room_.rows[i] * s_.experts + index_);
  }
  float weight(int64_t i) const { return args_.inputs[kWeight].as<const float>()[weight_at(i)]; }

  template <typename F>
  void for_rows(F&& f) const {
    parallel_for(count_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i);
    });
  }

  void gather(Operand operand, float* to) const {
    const auto* from = args_.inputs[operand].as<const float>();
    for_rows([&](int64_t i) {
      std::copy_n(from + room_.rows[i] * s_.hidden, s_.hidden, to + i * s_.hidden);
    });
  }

  void add_rows(const float* from, float* to) const {
    for_rows([&](int64_t i) {
      float* y = to + room_.rows[i] * s_.hidden;
      for (int64_t c = 0; c < s_.hidden; ++c) y[c] += from[i * s_.hidden + c];
    });
  }

  // rows x weights^T
  void make_part(Operand operand, float* to) const {
    dnnl_sgemm('N', 'T', count_, s_.inner, s_.hidden, 1.0F, room_.x, s_.hidden,
               args_.inputs[operand].as<const float>() + offset(), s_.hidden, 0.0F, to, s_.inner);
  }

  void make_hidden() const {
    gather(kX, room_.x);
    make_part(kGate, room_.gate);
    make_part(kUp, room_.up);
    native::swish_of(room_.gate, count_ * s_.inner, 1.0F, room_.swish);
  }

  // From the gradient of the weighted product (in `product`) to those of gate and up, in their
  // places, and of the weight; the weighted product itself takes the place of its gradient.
  void step_back(int64_t i) const {
    const float own = weight(i);
    float d_weight = 0;
    for (int64_t j = i * s_.inner; j < (i + 1) * s_.inner; ++j) {
      const float swish = room_.swish[j];
      const float up = room_.up[j];
      const float into = room_.product[j];
      const float sigmoid = room_.gate[j] == 0 ? 0.5F : swish / room_.gate[j];
      d_weight += into * swish * up;
      room_.product[j] = swish * up * own;
      room_.gate[j] = into * own * up * (sigmoid + swish * (1 - sigmoid));
      room_.up[j] = into * own * swish;
    }
    args_.outputs[kWeight].as<float>()[weight_at(i)] = d_weight;
  }

  void add_product(const float* gradient, Operand operand, float keep) const {
    dnnl_sgemm('N', 'N', count_, s_.hidden, s_.inner, 1.0F, gradient, s_.inner,
               args_.inputs[operand].as<const float>() + offset(), s_.hidden, keep, room_.dx,
               s_.hidden);
  }

  void store_weight_gradient(const float* gradient, Operand operand) const {
    dnnl_sgemm('T', 'N', s_.inner, s_.hidden, count_, 1.0F, gradient, s_.inner, room_.x, s_.hidden,
               0.0F, args_.outputs[operand].as<float>() + offset(), s_.hidden);
  }

  const ops::ExpertShape& s_;
  const KernelArgs& args_;
  const ExpertRoom& room_;
  int64_t index_;
  int64_t count_ = 0;
};

void clear(const TensorView& view) {
  std::fill_n(view.as<float>(), view.num_elements(), 0.0F);
}

class GatedExperts final : public Kernel {
 public:
  explicit GatedExperts(const NodeView& node) : s_(ops::expert_shape(node)) {}

  void run(const KernelArgs& args) const override {
    const ExpertRoom room(s_, args.scratch);
    clear(args.outputs[0]);
    for (int64_t e = 0; e < s_.experts; ++e) {
      const Expert expert(s_, args, room, e);
      if (expert.count() > 0) expert.run_forward();
    }
  }
  int64_t scratch_bytes() const override { return ExpertRoom::bytes(s_); }
  std::string detail() const override { return "sgemm"; }

 private:
  ops::ExpertShape s_;
};

class GatedExpertsGrad final : public Kernel {
 public:
  explicit GatedExpertsGrad(const NodeView& node) : s_(ops::expert_shape(node)) {}

  void run(const KernelArgs& args) const override {
    const ExpertRoom room(s_, args.scratch);
    clear(args.outputs[kX]);
    clear(args.outputs[kWeight]);
    for (int64_t e = 0; e < s_.experts; ++e) {
      const Expert expert(s_, args, room, e);
      expert.count() > 0 ? expert.run_backward() : expert.clear_gradients();
    }
  }
  int64_t scratch_bytes() const override { return ExpertRoom::bytes(s_); }
  std::string detail() const override { return "sgemm"; }

 private:
  ops::ExpertShape s_;
};

template <typename K>
std::unique_ptr<Kernel> create_experts(const NodeView& node) {
  return std::make_unique<K>(node);
}

template <typename K>
constexpr KernelDef expert_kernel(std::string_view op) {
  return {.op = op, .library = "onednn", .refuses = refuses_experts, .create = create_experts<K>};
}

}  // namespace

extern const KernelDef kGatedExperts = expert_kernel<GatedExperts>("GatedExperts");
extern const KernelDef kGatedExpertsGrad = expert_kernel<GatedExpertsGrad>("GatedExpertsGrad");

}  // namespace trainyard::kernels::onednn
