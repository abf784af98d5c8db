#include "models/onnx/bind_inputs.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::onnx_io {
namespace {

using Symbols = std::map<std::string, int64_t>;

// "shape x=1,?,224,224": what the user should give, with what is not known left open.
std::string shape_text(const DeclaredInput& input) {
  if (!input.dims) return fmt::format("shape {}=1,3,224,224", input.name);
  std::vector<std::string> parts;
  for (const DeclaredDim& dim : *input.dims) {
    const std::string open = dim.symbol.empty() ? "?" : dim.symbol;
    parts.push_back(dim.value ? fmt::format("{}", *dim.value) : open);
  }
  return fmt::format("shape {}={}", input.name, join(parts, ","));
}

// An axis without a number, be it named or not.
bool is_open(const DeclaredInput& input, size_t axis) {
  return input.dims && axis < input.dims->size() && !(*input.dims)[axis].value;
}

void check_names(const std::vector<DeclaredInput>& inputs, const ImportOptions& options) {
  for (const auto& [name, shape] : options.shapes) {
    std::vector<std::string> known;
    for (const DeclaredInput& input : inputs) known.push_back(input.name);
    TY_REQUIRE(std::find(known.begin(), known.end(), name) != known.end(),
               "shape {}: there is no such input; the inputs are {}.{}", name, join(known, ", "),
               did_you_mean(name, known));
    for (const int64_t d : shape.dims()) {
      TY_REQUIRE(d >= 0, "shape {}: a dimension of {}", name, d);
    }
  }
}

// Throws Error if the symbol already stands for another number: one name means one length in the
// whole file.
void learn(const std::string& symbol, int64_t value, const std::string& input, Symbols& symbols) {
  if (symbol.empty()) return;
  const int64_t bound = symbols.emplace(symbol, value).first->second;
  TY_REQUIRE(bound == value, "input '{}': dimension '{}' is bound to {} and to {}", input, symbol,
             bound, value);
}

// What shapes and batch say about symbols, which may stand in other inputs too.
Symbols learn_symbols(const std::vector<DeclaredInput>& inputs, const ImportOptions& options) {
  Symbols symbols;
  for (const DeclaredInput& input : inputs) {
    const auto given = options.shapes.find(input.name);
    if (given == options.shapes.end() || !input.dims) continue;
    const Shape& shape = given->second;
    TY_REQUIRE(shape.rank() == static_cast<int64_t>(input.dims->size()),
               "shape {} has {} dimensions, the input has {}", input.name, shape.rank(),
               input.dims->size());
    for (size_t i = 0; i < input.dims->size(); ++i) {
      learn((*input.dims)[i].symbol, shape[static_cast<int64_t>(i)], input.name, symbols);
    }
  }
  // The batch comes second, so that a symbol which a shape has bound keeps its value when it is the
  // first dimension of another input.
  for (const DeclaredInput& input : inputs) {
    if (!is_open(input, 0) || options.shapes.contains(input.name)) continue;
    const std::string& symbol = (*input.dims)[0].symbol;
    if (options.batch) {
      learn(symbol, *options.batch, input.name, symbols);
    } else if (!symbol.empty()) {
      symbols.emplace(symbol, 1);
    }
  }
  return symbols;
}

// Of an input without a shape given. Only the first dimension has a default (batch 1); any other
// one must be named by the user.
Shape bind_shape(const DeclaredInput& input, const Symbols& symbols, const ImportOptions& options) {
  TY_REQUIRE(input.dims.has_value(), "input '{}' has no shape; give one, as in {}", input.name,
             shape_text(input));
  Shape shape(std::vector<int64_t>(input.dims->size(), 0));
  for (size_t i = 0; i < input.dims->size(); ++i) {
    const DeclaredDim& dim = (*input.dims)[i];
    const auto known = symbols.find(dim.symbol);
    int64_t& bound = shape[static_cast<int64_t>(i)];
    if (dim.value) {
      TY_REQUIRE(*dim.value >= 0, "input '{}': dimension {} is {}", input.name, i, *dim.value);
      bound = *dim.value;
    } else if (known != symbols.end()) {
      bound = known->second;
    } else if (i == 0) {
      bound = options.batch.value_or(1);
    } else {
      throw_error("input '{}': dimension {}{} is not fixed; give {}", input.name, i,
                  dim.symbol.empty() ? "" : fmt::format(" ('{}')", dim.symbol), shape_text(input));
    }
  }
  return shape;
}

}  // namespace

std::vector<TensorType> bind_inputs(const std::vector<DeclaredInput>& inputs,
                                    const ImportOptions& options) {
  TY_REQUIRE(options.batch.value_or(1) > 0, "batch {}: expected at least 1", *options.batch);
  check_names(inputs, options);
  const Symbols symbols = learn_symbols(inputs, options);
  const bool any_open =
      std::any_of(inputs.begin(), inputs.end(), [](const auto& i) { return is_open(i, 0); });
  std::vector<TensorType> types;
  std::optional<int64_t> fixed_batch;
  for (const DeclaredInput& input : inputs) {
    const auto given = options.shapes.find(input.name);
    Shape shape =
        given != options.shapes.end() ? given->second : bind_shape(input, symbols, options);
    // A file whose batch is fixed: the batch replaces the first dimension of the first input, and
    // of those inputs that have the same one, which tells batches from tables and other sizes.
    if (given == options.shapes.end() && options.batch && !any_open && shape.rank() > 0) {
      if (!fixed_batch) fixed_batch = shape[0];
      if (shape[0] == *fixed_batch) shape[0] = *options.batch;
    }
    types.push_back({input.dtype, std::move(shape)});
    try {
      (void)types.back().num_bytes();  // refuses what overflows
    } catch (const Error& problem) {
      throw_error("input '{}': {}", input.name, problem.what());
    }
  }
  return types;
}

}  // namespace trainyard::onnx_io
