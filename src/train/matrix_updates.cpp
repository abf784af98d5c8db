#include "train/matrix_updates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard::train {
namespace {

// The nodes of one update, all in the parameter's element type.
class MatrixMaker {
 public:
  MatrixMaker(ops::Builder& builder, const MatrixOperands& operands)
      : b_(builder),
        x_(operands.parameter),
        gradient_(operands.gradient),
        rate_(like_parameter(operands.rate)),
        updates_(operands.updates),
        name_(builder.graph().value(operands.parameter).name),
        shape_(builder.shape(operands.parameter)),
        rows_(shape_.rank() == 0 ? 1 : shape_[0]),
        columns_(rows_ == 0 ? 0 : shape_.num_elements() / rows_) {}

  MatrixUpdate muon(double momentum, double decay) {
    const ValueId before = state("optimizer.momentum.", shape_);
    const ValueId mean = between(before, gradient_, scalar(1 - momentum));
    keep("optimizer.momentum.", before, mean);
    const ValueId ahead = between(gradient_, mean, scalar(momentum));
    const double reach = 0.2 * std::sqrt(static_cast<double>(std::max(rows_, columns_)));
    const ValueId move = b_.add("Mul", {as_parameter(orthogonal(as_matrix(ahead))), scalar(reach)});
    return finish(b_.add("Mul", {rate_, move}), decay);
  }

  MatrixUpdate adafactor(double decay) {
    constexpr double kTiny = std::numeric_limits<float>::epsilon();
    constexpr double kLeastSize = 1e-3;  // of the parameter, that the rate is relative to
    const ValueId count = like_parameter(updates_);
    const ValueId share = b_.add("Pow", {count, scalar(-0.8)});
    const ValueId gradient = shape_.rank() > 1 ? as_matrix(gradient_) : gradient_;
    const ValueId square = b_.add("Mul", {gradient, gradient});
    const ValueId moment =
        shape_.rank() > 1 ? factored_moment(square, share, kTiny) : whole_moment(square, share);
    const ValueId root = b_.add("Sqrt", {b_.add("Max", {moment, scalar(kTiny * kTiny)})});
    const ValueId move = b_.add("Div", {gradient, root});
    const ValueId most = b_.add("Reciprocal", {b_.add("Sqrt", {count})});
    const ValueId size = b_.add("Max", {mean_size(x_), scalar(kLeastSize)});
    const ValueId reach = b_.add("Mul", {size, b_.add("Min", {rate_, most})});
    const ValueId calmed = b_.add("Div", {reach, b_.add("Max", {mean_size(move), scalar(1)})});
    return finish(as_parameter(b_.add("Mul", {calmed, move})), decay);
  }

 private:
  // The quintic of Jordan et al.: singular values from 0 to 1 end up between 0.7 and 1.2.
  ValueId orthogonal(ValueId matrix) {
    constexpr float kA = 3.4445F;
    constexpr float kB = -4.7750F;
    constexpr float kC = 2.0315F;
    constexpr int kSteps = 5;
    const bool tall = rows_ > columns_;
    if (tall) matrix = transposed(matrix);
    const ValueId norm = b_.add("Sqrt", {b_.add("ReduceSumSquare", {matrix}, kToScalar)});
    ValueId x = b_.add("Div", {matrix, b_.add("Max", {norm, scalar(1e-7)})});
    for (int i = 0; i < kSteps; ++i) {
      const ValueId a = b_.add("Gemm", {x, x}, {{"transB", int64_t{1}}});
      const ValueId b = b_.add("Gemm", {a, a, a}, {{"alpha", kC}, {"beta", kB}});
      x = b_.add("Gemm", {b, x, x}, {{"beta", kA}});
    }
    return tall ? transposed(x) : x;
  }

  ValueId factored_moment(ValueId square, ValueId share, double tiny) {
    const ValueId row = mean_state("optimizer.row.", square, {rows_, 1}, 1, share);
    const ValueId column = mean_state("optimizer.column.", square, {1, columns_}, 0, share);
    const ValueId mean = b_.add("ReduceMean", {row}, kToScalar);
    const ValueId product = b_.add("Mul", {row, column});
    return b_.add("Div", {product, b_.add("Max", {mean, scalar(tiny)})});
  }

  // A running mean of the means along `axis`.
  ValueId mean_state(const std::string& prefix, ValueId square, Shape shape, int64_t axis,
                     ValueId share) {
    const ValueId before = state(prefix, std::move(shape));
    const ValueId mean = b_.add("ReduceMean", {square}, {{"axes", std::vector<int64_t>{axis}}});
    return keep(prefix, before, between(before, mean, share));
  }

  ValueId whole_moment(ValueId square, ValueId share) {
    const ValueId before = state("optimizer.square.", shape_);
    return keep("optimizer.square.", before, between(before, square, share));
  }

  ValueId state(const std::string& prefix, Shape shape) {
    return b_.parameter(prefix + name_, std::move(shape), init_constant(0), b_.type(x_).dtype);
  }
  ValueId keep(const std::string& prefix, ValueId before, ValueId after) {
    made_.states.push_back({prefix, {before, after}});
    return after;
  }

  MatrixUpdate finish(ValueId move, double decay) {
    ValueId x = x_;
    if (decay > 0) {
      const ValueId lost = b_.add("Mul", {rate_, scalar(decay)});
      x = b_.add("Mul", {x, b_.add("Sub", {scalar(1), lost})});
    }
    made_.parameter = b_.add("Sub", {x, move});
    return std::move(made_);
  }

  // The root of the mean square.
  ValueId mean_size(ValueId x) {
    const ValueId sum = b_.add("ReduceSumSquare", {x}, kToScalar);
    const auto count = static_cast<double>(b_.shape(x).num_elements());
    return b_.add("Sqrt", {b_.add("Mul", {sum, scalar(1 / count)})});
  }

  // a + share * (b - a)
  ValueId between(ValueId a, ValueId b, ValueId share) {
    return b_.add("Add", {a, b_.add("Mul", {share, b_.add("Sub", {b, a})})});
  }
  ValueId as_matrix(ValueId x) {
    if (shape_.rank() == 2) return x;
    const int64_t dims[] = {rows_, columns_};
    return b_.add("Reshape", {x, b_.constant_ints("matrix", dims)});
  }
  ValueId as_parameter(ValueId x) {
    if (b_.shape(x) == shape_) return x;
    return b_.add("Reshape", {x, b_.constant_ints("shape", shape_.dims())});
  }
  ValueId transposed(ValueId x) {
    return b_.add("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0}}});
  }
  ValueId like_parameter(ValueId x) {
    return b_.type(x).dtype == b_.type(x_).dtype ? x : b_.add("CastLike", {x, x_});
  }
  ValueId scalar(double value) {
    return b_.constant("factor", cast(Tensor::scalar(value), b_.type(x_).dtype));
  }

  inline static const Attributes kToScalar = {{"keepdims", int64_t{0}}};

  ops::Builder& b_;
  ValueId x_;
  ValueId gradient_;
  ValueId rate_;
  ValueId updates_;
  std::string name_;
  Shape shape_;
  int64_t rows_;
  int64_t columns_;
  MatrixUpdate made_;
};

}  // namespace

std::vector<bool> muon_matrices(const Graph& graph, std::span<const ValueId> parameters) {
  std::vector<bool> chosen;
  for (const ValueId id : parameters) {
    const Value& value = graph.value(id);
    const bool looked_up =
        std::any_of(value.consumers.begin(), value.consumers.end(),
                    [&](NodeId node) { return graph.node(node).op == "Gather"; });
    chosen.push_back(value.type.shape.rank() >= 2 && !looked_up);
  }
  const auto last = std::find(chosen.rbegin(), chosen.rend(), true);
  if (last != chosen.rend()) *last = false;
  return chosen;
}

MatrixUpdate add_muon(ops::Builder& builder, const OptimizerOptions& options,
                      const MatrixOperands& operands, double decay) {
  return MatrixMaker(builder, operands).muon(options.momentum, decay);
}

MatrixUpdate add_adafactor(ops::Builder& builder, const MatrixOperands& operands, double decay) {
  return MatrixMaker(builder, operands).adafactor(decay);
}

}  // namespace trainyard::train
