#include "engine/kernels/torch/node_message.h"

#include "ops/layout/slice.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"

namespace trainyard::kernels::torch {
namespace {

bool has_type(DType dtype) {
  return dtype <= DType::kU8 || dtype == DType::kBool;
}

static_assert(
    static_cast<int>(DType::kF32) == kTorchF32 && static_cast<int>(DType::kF64) == kTorchF64 &&
    static_cast<int>(DType::kF16) == kTorchF16 && static_cast<int>(DType::kBF16) == kTorchBF16 &&
    static_cast<int>(DType::kI8) == kTorchI8 && static_cast<int>(DType::kI16) == kTorchI16 &&
    static_cast<int>(DType::kI32) == kTorchI32 && static_cast<int>(DType::kI64) == kTorchI64 &&
    static_cast<int>(DType::kU8) == kTorchU8 && static_cast<int>(DType::kBool) == kTorchBool);

TorchOperand operand(const TensorType& type, const Tensor* known) {
  return {static_cast<int32_t>(type.dtype), static_cast<int32_t>(type.shape.rank()),
          type.shape.dims().data(), known == nullptr ? nullptr : known->data()};
}

// A transposed one is not what receptive fields mean by a window, so the operator has none.
std::optional<ops::Window> window_of(const NodeView& node) {
  if (node.op() == "ConvTranspose") {
    return ops::resolve_transposed_window(node, node.input_shape(0), node.input_shape(1));
  }
  const ops::OpDef& op = ops::op_of(node);
  return op.window != nullptr ? op.window(node) : std::nullopt;
}

constexpr TorchOperand kNone = {kTorchAbsent, 0, nullptr, nullptr};

}  // namespace

NodeMessage::NodeMessage(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    inputs_.push_back(node.has_input(i) ? operand(node.input_type(i), node.input_constant(i))
                                        : kNone);
  }
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    outputs_.push_back(node.has_output(i) ? operand(node.output_type(i), nullptr) : kNone);
  }
  for (const auto& [name, value] : node.node().attributes) {
    if (const auto* whole = std::get_if<int64_t>(&value)) add_ints(name, {*whole});
    if (const auto* wholes = std::get_if<std::vector<int64_t>>(&value)) add_ints(name, *wholes);
    if (const auto* real = std::get_if<float>(&value)) add_float(name, double{*real});
    if (const auto* text = std::get_if<std::string>(&value)) {
      kept_.push_back({.name = name, .ints = {}, .floats = {}, .text = *text});
    }
  }
  add_resolved(node);
  for (const Numbers& numbers : kept_) {
    const bool is_text = numbers.ints.empty() && numbers.floats.empty() && !numbers.text.empty();
    const size_t count =
        is_text ? numbers.text.size() : std::max(numbers.ints.size(), numbers.floats.size());
    attributes_.push_back({numbers.name.c_str(), static_cast<int64_t>(count),
                           numbers.ints.empty() ? nullptr : numbers.ints.data(),
                           numbers.floats.empty() ? nullptr : numbers.floats.data(),
                           is_text ? numbers.text.c_str() : nullptr});
  }
  message_ = {node.op().c_str(),
              node.name().c_str(),
              static_cast<int64_t>(inputs_.size()),
              static_cast<int64_t>(outputs_.size()),
              static_cast<int64_t>(attributes_.size()),
              inputs_.data(),
              outputs_.data(),
              attributes_.data()};
}

void NodeMessage::add_resolved(const NodeView& node) {
  if (const auto window = window_of(node)) {
    add_ints("window_kernel", window->kernel);
    add_ints("window_strides", window->strides);
    add_ints("window_dilations", window->dilations);
    add_ints("window_begin", window->pads_begin);
    add_ints("window_end", window->pads_end);
  }
  const bool spreads = node.op() == "SliceGrad";
  if (node.op() == "Slice" || spreads) {
    const Shape& whole = spreads ? node.output_shape(0) : node.input_shape(0);
    if (const auto ranges = ops::slice_ranges(node, whole)) {
      add_ints("slice_starts", ranges->starts);
      add_ints("slice_steps", ranges->steps);
      add_ints("slice_counts", ranges->counts);
    }
  }
  if (ops::find_unary(node.op()) != nullptr) {
    add_float("scalar_alpha", ops::unary_alpha(node));
    add_float("scalar_beta", ops::unary_beta(node));
  }
}

void NodeMessage::add_ints(std::string name, std::vector<int64_t> values) {
  kept_.push_back({.name = std::move(name), .ints = std::move(values), .floats = {}, .text = {}});
}

void NodeMessage::add_float(std::string name, double value) {
  kept_.push_back(
      {.name = std::move(name), .ints = {}, .floats = {static_cast<float>(value)}, .text = {}});
}

std::string_view refuses_to_tell(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && !has_type(node.input_type(i).dtype)) {
      return "libtorch has no such element type";
    }
  }
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (!node.has_output(i)) continue;
    if (!has_type(node.output_type(i).dtype)) return "libtorch has no such element type";
    if (node.output_shape(i).num_elements() == 0) return "the output is empty";
  }
  return "";
}

}  // namespace trainyard::kernels::torch
