// Einsum as transposes and one matrix product for each further operand.
#include <algorithm>
#include <map>
#include <string>

#include "models/onnx/adapters/adapter.h"

namespace trainyard::onnx_io {
namespace {

// Letters of an equation; dots that stand for dimensions get letters of their own.
using Labels = std::string;

// Of a letter that one operand has twice: its mask is the square of this.
constexpr int64_t kLargestDiagonal = 8192;

struct Term {
  ValueId value;
  Labels labels;
};

bool holds(const Labels& labels, char c) {
  return labels.find(c) != Labels::npos;
}

class EinsumImport {
 public:
  EinsumImport(ImportNode& node, Emitter& emitter) : node_(node), emitter_(emitter) {}

  void run() {
    const auto equation = take<std::string>(node_, "equation");
    TY_REQUIRE(equation.has_value(), "attribute 'equation' is missing");
    std::string text = *equation;
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    const size_t arrow = text.find("->");
    read_terms(text.substr(0, arrow));
    Labels output = arrow == std::string::npos ? implicit_output() : text.substr(arrow + 2);
    output = with_dots(output, dots_);
    for (const char c : output) {
      TY_REQUIRE(sizes_.contains(c) && std::count(output.begin(), output.end(), c) == 1,
                 "'{}' of the output of '{}' is in no operand, or twice", c, *equation);
    }
    for (Term& term : terms_) take_diagonals(term);
    Term result = terms_[0];
    for (size_t i = 1; i < terms_.size(); ++i) {
      Labels needed = output;
      for (size_t k = i + 1; k < terms_.size(); ++k) needed += terms_[k].labels;
      result = multiply(result, terms_[i], needed);
    }
    sum_away(result, output);
    node_.op = "Transpose";
    node_.inputs = {result.value};
    node_.attributes = {{"perm", order(result.labels, output)}};
  }

 private:
  // "..." as the letters for `count` dimensions; the last ones are shared.
  static Labels with_dots(Labels labels, size_t count) {
    const size_t at = labels.find("...");
    if (at == std::string::npos) return labels;
    Labels letters;
    for (size_t i = count; i-- > 0;) letters += static_cast<char>('0' + i);
    return labels.replace(at, 3, letters);
  }

  void read_terms(const std::string& left) {
    size_t begin = 0;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      const size_t end = std::min(left.find(',', begin), left.size());
      TY_REQUIRE(begin <= left.size(), "the equation has fewer terms than {}", node_.inputs.size());
      Labels labels = left.substr(begin, end - begin);
      begin = end + 1;
      const Shape& shape = emitter_.shape(input(node_, i));
      TY_REQUIRE(shape.is_static(), "operand {} has the unknown shape {}", i, shape.to_string());
      if (labels.find("...") != std::string::npos) {
        const auto rank = static_cast<size_t>(shape.rank());
        TY_REQUIRE(labels.size() - 3 <= rank && rank - (labels.size() - 3) < 10,
                   "operand {} of shape {} does not fit '{}'", i, shape.to_string(), labels);
        const size_t count = rank - (labels.size() - 3);
        dots_ = std::max(dots_, count);
        labels = with_dots(labels, count);
      }
      TY_REQUIRE(static_cast<int64_t>(labels.size()) == shape.rank(),
                 "operand {} of shape {} does not fit '{}'", i, shape.to_string(), labels);
      for (size_t k = 0; k < labels.size(); ++k) {
        const auto d = static_cast<int64_t>(k);
        const auto [known, fresh] = sizes_.emplace(labels[k], shape[d]);
        TY_REQUIRE(fresh || known->second == shape[d], "'{}' is {} and {}", labels[k],
                   known->second, shape[d]);
      }
      terms_.push_back({node_.inputs[i], std::move(labels)});
    }
    TY_REQUIRE(begin == left.size() + 1, "the equation has more terms than {}",
               node_.inputs.size());
  }

  // Every letter that occurs once, in order.
  Labels implicit_output() const {
    std::map<char, int> counts;
    for (const Term& term : terms_) {
      for (const char c : term.labels) ++counts[c];
    }
    Labels output = dots_ > 0 ? "..." : "";
    for (const auto& [c, count] : counts) {
      if (count == 1 && (c < '0' || c > '9')) output += c;
    }
    return output;
  }

  static std::vector<int64_t> order(const Labels& from, const Labels& to) {
    std::vector<int64_t> perm;
    for (const char c : to) perm.push_back(static_cast<int64_t>(from.find(c)));
    return perm;
  }

  std::string fresh(const char* what) const { return node_.name + "." + what; }

  void transpose(Term& term, const Labels& to) {
    if (term.labels == to) return;
    term.value = emitter_.add_helper("Transpose", {term.value}, {{"perm", order(term.labels, to)}},
                                     fresh("turned"));
    term.labels = to;
  }

  ValueId reshape(ValueId value, const std::vector<int64_t>& dims) {
    return emitter_.add_helper("Reshape", {value, emitter_.add_ints(fresh("dims"), dims)}, {},
                               fresh("shaped"));
  }

  // Sums over the letters that `kept` does not have.
  void sum_away(Term& term, const Labels& kept) {
    std::vector<int64_t> axes;
    Labels left;
    for (size_t i = 0; i < term.labels.size(); ++i) {
      if (holds(kept, term.labels[i])) {
        left += term.labels[i];
      } else {
        axes.push_back(static_cast<int64_t>(i));
      }
    }
    if (axes.empty()) return;
    term.value =
        emitter_.add_helper("ReduceSum", {term.value, emitter_.add_ints(fresh("axes"), axes)},
                            {{"keepdims", int64_t{0}}}, fresh("summed"));
    term.labels = left;
  }

  // A letter that occurs twice in one operand takes its diagonal: all but that is zero, and summed.
  void take_diagonals(Term& term) {
    for (size_t i = 0; i < term.labels.size(); ++i) {
      const size_t again = term.labels.find(term.labels[i], i + 1);
      if (again == Labels::npos) continue;
      const int64_t n = sizes_.at(term.labels[i]);
      TY_REQUIRE(n <= kLargestDiagonal, "the diagonal '{}' has {} elements, expected at most {}",
                 term.labels[i], n, kLargestDiagonal);
      std::vector<int64_t> dims(term.labels.size(), 1);
      dims[i] = n;
      dims[again] = n;
      Tensor eye = Tensor::zeros({DType::kF32, Shape(dims)});
      for (int64_t k = 0; k < n; ++k) eye.values<float>()[static_cast<size_t>(k * n + k)] = 1;
      const ValueId mask =
          emitter_.add_constant(fresh("eye"), cast(eye, emitter_.type(term.value).dtype));
      const ValueId masked = emitter_.add_helper("Mul", {term.value, mask}, {}, fresh("diagonal"));
      const ValueId axis = emitter_.add_ints(fresh("axis"), {static_cast<int64_t>(again)});
      term.value = emitter_.add_helper("ReduceSum", {masked, axis}, {{"keepdims", int64_t{0}}},
                                       fresh("picked"));
      term.labels.erase(again, 1);
      --i;
    }
  }

  int64_t size_of(const Labels& labels) const {
    int64_t size = 1;
    for (const char c : labels) size *= sizes_.at(c);
    return size;
  }

  // The product of two operands, of which the letters in `needed` stay.
  Term multiply(Term a, Term b, const Labels& needed) {
    sum_away(a, needed + b.labels);
    sum_away(b, needed + a.labels);
    Labels batch, left, inner, right;
    for (const char c : a.labels) {
      if (!holds(b.labels, c)) {
        left += c;
      } else {
        (holds(needed, c) ? batch : inner) += c;
      }
    }
    for (const char c : b.labels) {
      if (!holds(a.labels, c)) right += c;
    }
    transpose(a, batch + left + inner);
    transpose(b, batch + inner + right);
    const ValueId x = reshape(a.value, {size_of(batch), size_of(left), size_of(inner)});
    const ValueId y = reshape(b.value, {size_of(batch), size_of(inner), size_of(right)});
    const ValueId product = emitter_.add_helper("MatMul", {x, y}, {}, fresh("product"));
    Term result{kNoValue, batch + left + right};
    std::vector<int64_t> dims;
    for (const char c : result.labels) dims.push_back(sizes_.at(c));
    result.value = reshape(product, dims);
    return result;
  }

  ImportNode& node_;
  Emitter& emitter_;
  std::vector<Term> terms_;
  std::map<char, int64_t> sizes_;
  size_t dots_ = 0;
};

void einsum(ImportNode& node, Emitter& emitter) {
  EinsumImport(node, emitter).run();
}

constexpr Adapter kEinsumAdapters[] = {{"", "Einsum", 12, kAnyOpset, einsum}};

}  // namespace

std::span<const Adapter> einsum_adapters() {
  return kEinsumAdapters;
}

}  // namespace trainyard::onnx_io
