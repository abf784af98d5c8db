#include "engine/kernels/torch/torch_kernel.h"

#include <deque>
#include <unordered_map>

#include "base/error.h"
#include "engine/device/torch_device.h"
#include "engine/device/torch_library.h"
#include "engine/kernels/torch/node_message.h"

namespace trainyard::kernels::torch {
namespace {

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
