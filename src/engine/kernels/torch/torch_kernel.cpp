#include "engine/kernels/torch/torch_kernel.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "engine/device/torch_device.h"
#include "engine/device/torch_interface.h"
#include "engine/device/torch_library.h"
#include "ir/node_view.h"
#include "ops/layout/slice.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"

namespace trainyard::kernels::torch {
namespace {

// Points into the node and into itself: neither may move while it is used.
//
// Besides the node's own attributes it has what the program resolved: `window_…` of sliding
// windows, `slice_…` of ranges, `scalar_alpha` and `scalar_beta` of functions of one number.
class NodeMessage {
 public:
  explicit NodeMessage(const NodeView& node);
  NodeMessage(const NodeMessage&) = delete;
  NodeMessage& operator=(const NodeMessage&) = delete;

  const TorchNode& node() const { return message_; }

 private:
  struct Numbers {
    std::string name;
    std::vector<int64_t> ints;
    std::vector<float> floats;
    std::string text;
  };

  void add_resolved(const NodeView& node);
  void add_ints(std::string name, std::vector<int64_t> values);
  void add_float(std::string name, double value);

  std::vector<Numbers> kept_;
  std::vector<TorchOperand> inputs_;
  std::vector<TorchOperand> outputs_;
  std::vector<TorchAttribute> attributes_;
  TorchNode message_ = {};
};

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

// "" if the interface has words for all of it.
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

using trainyard::device::Device;
using trainyard::device::torch_library;
using trainyard::device::TorchDevice;

class BoundTorchKernel final : public BoundKernel {
 public:
  BoundTorchKernel(const TorchDevice& device, const std::string& node, void* kernel,
                   const KernelArgs& args)
      : device_(device), node_(node) {
    std::vector<void*> inputs;
    std::vector<void*> outputs;
    for (const TensorView& view : args.inputs) inputs.push_back(view.data);
    for (const TensorView& view : args.outputs) outputs.push_back(view.data);
    bound_ = device.torch().bind(kernel, inputs.data(), outputs.data());
    device.check(bound_ == nullptr ? 1 : 0, node_.c_str());
  }
  ~BoundTorchKernel() override { device_.torch().unbind(bound_); }

  void run() override { device_.check(device_.torch().run(bound_), node_.c_str()); }

 private:
  const TorchDevice& device_;
  const std::string& node_;
  void* bound_ = nullptr;
};

class TorchKernel final : public Kernel {
 public:
  TorchKernel(const NodeView& node, const TorchDevice& device)
      : device_(device), what_("'" + node.name() + "' (" + node.op() + ")") {
    const NodeMessage message(node);
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      held_.push_back(node.has_input(i) && node.input_constant(i) != nullptr);
    }
    kernel_ = device.torch().create(device.handle(), &message.node());
    device.check(kernel_ == nullptr ? 1 : 0, what_.c_str());
  }
  ~TorchKernel() override { device_.torch().destroy(kernel_); }

  void run(const KernelArgs& args) const override {
    BoundTorchKernel(device_, what_, kernel_, args).run();
  }
  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    return std::make_unique<BoundTorchKernel>(device_, what_, kernel_, args);
  }
  bool holds_input(size_t i) const override { return i < held_.size() && held_[i]; }

 private:
  const TorchDevice& device_;
  std::string what_;
  std::vector<bool> held_;
  void* kernel_ = nullptr;
};

std::string_view refuses_torch(const NodeView& node) {
  if (const std::string_view reason = refuses_to_tell(node); !reason.empty()) return reason;
  const NodeMessage message(node);
  return torch_library()->refuses(&message.node());
}

std::unique_ptr<Kernel> create_torch(const NodeView& node, const NodeLayouts&, Device& device) {
  return std::make_unique<TorchKernel>(node, dynamic_cast<TorchDevice&>(device));
}

using Lists = std::unordered_map<std::string_view, const KernelDef*>;

// What the plugin says that it has.
Lists* make_lists() {
  auto* lists = new Lists;
  if (torch_library() == nullptr) return lists;
  static std::deque<KernelDef> defs;
  for (const char* const* op = torch_library()->operators; *op != nullptr; ++op) {
    defs.push_back(
        {.op = *op, .library = "torch", .refuses = refuses_torch, .create_on = create_torch});
    lists->emplace(*op, &defs.back());
  }
  return lists;
}

}  // namespace

std::span<const KernelDef* const> kernels_of(std::string_view op) {
  static const Lists* const kLists = make_lists();
  const auto found = kLists->find(op);
  if (found == kLists->end()) return {};
  return {&found->second, 1};
}

}  // namespace trainyard::kernels::torch
