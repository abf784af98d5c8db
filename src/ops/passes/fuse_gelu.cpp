// fuse_gelu: the arithmetic that exporters write for Gelu (with erf or tanh) and for x * sigmoid(x)
// becomes one operator.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "ops/passes/edit.h"
#include "ops/passes/pass.h"
#include "ops/passes/pattern.h"

namespace trainyard::passes {
namespace {

// `id` as the only user of `value` that does `op` with `number`.
NodeId user_with_number(const Graph& graph, ValueId value, std::string_view op, double number) {
  const NodeId id = sole_user(graph, value);
  if (!id.valid()) return {};
  const NodeView node(graph, id);
  return node.op() == op && is_number(graph, beside(node, value), number) ? id : NodeId{};
}

// Coefficients of 1, x, x^2 and x^3.
using Polynomial = std::array<double, 4>;

// Exporters nest the argument of tanh six deep at most. Searches end there, as each level may
// double the work.
constexpr int kDeepest = 6;

// No value where the product has a power beyond the third.
std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial result{};
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      const double term = a[i] * b[j];
      if (term == 0) continue;
      if (i + j >= result.size()) return std::nullopt;
      result[i + j] += term;
    }
  }
  return result;
}

std::optional<Polynomial> combined(std::string_view op, const Polynomial& a, const Polynomial& b) {
  const bool by_number = b[1] == 0 && b[2] == 0 && b[3] == 0;
  if (op == "Mul") return product(a, b);
  if (op == "Add") return Polynomial{a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]};
  if (op == "Div" && by_number && b[0] != 0) return product(a, {1 / b[0]});
  if (op != "Pow" || !by_number || (b[0] != 2 && b[0] != 3)) return std::nullopt;
  const std::optional<Polynomial> square = product(a, a);
  return square && b[0] == 3 ? product(*square, a) : square;
}

// What `id` is as a polynomial in x, however its terms and factors are ordered.
std::optional<Polynomial> polynomial_in(const Graph& graph, ValueId x, ValueId id, int deepest) {
  if (!id.valid()) return std::nullopt;
  if (id == x) return Polynomial{0, 1};
  if (const std::optional<double> number = number_of(graph, id)) return Polynomial{*number};
  const NodeId producer = graph.value(id).producer;
  if (deepest == 0 || !producer.valid() || graph.node(producer).inputs.size() != 2) {
    return std::nullopt;
  }
  const NodeView node(graph, producer);
  const std::optional<Polynomial> a = polynomial_in(graph, x, node.input(0), deepest - 1);
  if (!a) return std::nullopt;
  const std::optional<Polynomial> b = polynomial_in(graph, x, node.input(1), deepest - 1);
  return b ? combined(node.op(), *a, *b) : std::nullopt;
}

bool is_polynomial(const Graph& graph, ValueId x, ValueId id, const Polynomial& expected) {
  const std::optional<Polynomial> found = polynomial_in(graph, x, id, kDeepest);
  return found && std::equal(found->begin(), found->end(), expected.begin(), is_near);
}

// The value, `from` or one that it is computed from, of which `argument` is such a polynomial.
ValueId variable_of(const Graph& graph, ValueId argument, const Polynomial& expected, ValueId from,
                    int deepest = kDeepest) {
  if (!from.valid() || graph.value(from).constant != nullptr) return kNoValue;
  if (is_polynomial(graph, from, argument, expected)) return from;
  const NodeId producer = graph.value(from).producer;
  if (deepest == 0 || !producer.valid() || graph.node(producer).inputs.size() != 2) {
    return kNoValue;
  }
  for (const ValueId input : graph.node(producer).inputs) {
    const ValueId x = variable_of(graph, argument, expected, input, deepest - 1);
    if (x.valid()) return x;
  }
  return kNoValue;
}

// x of erf(x / sqrt(2)) or of tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
ValueId gelu_input(const Graph& graph, const NodeView& node) {
  constexpr double kCubic = 0.044715;
  const double root = std::sqrt(2 / std::numbers::pi);
  const Polynomial expected = node.op() == "Erf" ? Polynomial{0, std::numbers::sqrt2 / 2}
                                                 : Polynomial{0, root, 0, root * kCubic};
  return variable_of(graph, node.input(0), expected, node.input(0));
}

// The node that gives the result of Gelu whose Erf or Tanh is `curve`; invalid if the pattern is
// another.
NodeId gelu_result(const Graph& graph, const NodeView& curve, ValueId x) {
  const NodeId sum = user_with_number(graph, curve.output(0), "Add", 1.0);
  if (!sum.valid()) return {};
  const ValueId gate = graph.node(sum).outputs[0];
  const NodeId product = sole_user(graph, gate);
  if (!product.valid() || graph.node(product).op != "Mul") return {};
  const ValueId other = beside({graph, product}, gate);
  if (!other.valid()) return {};
  if (is_polynomial(graph, x, other, {0, 0.5})) return product;
  const ValueId whole = graph.node(product).outputs[0];
  if (other == x) return user_with_number(graph, whole, "Mul", 0.5);
  // gate * 0.5, then by x
  if (!is_number(graph, other, 0.5)) return {};
  const NodeId last = sole_user(graph, whole);
  const bool by_x =
      last.valid() && graph.node(last).op == "Mul" && beside({graph, last}, whole) == x;
  return by_x ? last : NodeId{};
}

}  // namespace

bool fuse_gelu(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    if (graph.node(id).erased) continue;
    const NodeView node(graph, id);
    const bool by_tanh = node.op() == "Tanh";
    if ((by_tanh || node.op() == "Erf") && node.input_type(0).dtype == DType::kF32) {
      const ValueId x = gelu_input(graph, node);
      const NodeId result = x.valid() ? gelu_result(graph, node, x) : NodeId{};
      // Constants of more dimensions than x would give the result a shape of its own.
      if (!result.valid() || NodeView(graph, result).output_shape(0) != graph.value(x).type.shape) {
        continue;
      }
      Attributes attributes;
      if (by_tanh) attributes["approximate"] = std::string("tanh");
      replace_by(graph, result, "Gelu", {x}, std::move(attributes));
      changed = true;
    } else if (node.op() == "Sigmoid" && node.input_type(0).dtype == DType::kF32) {
      const NodeId product = sole_user(graph, node.output(0));
      if (!product.valid() || graph.node(product).op != "Mul") continue;
      if (beside({graph, product}, node.output(0)) != node.input(0)) continue;
      replace_by(graph, product, "Swish", {node.input(0)});
      changed = true;
    }
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes
