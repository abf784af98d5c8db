// Reorder between the host's memory and the device's, and copies within the device's.
#include "engine/kernels/device/device_kernel.h"
#include "tensor/layout_copy.h"

namespace trainyard::kernels::on_device {
namespace {

// What lies on the host in blocks, or stays on the device, goes through scratch memory.
class Transfer final : public Kernel {
 public:
  Transfer(const NodeView& node, const NodeLayouts& layouts, Device& device)
      : type_(node.input_type(0)),
        to_device_(layouts.outputs[0].is_on_device()),
        from_device_(layouts.inputs[0].is_on_device()),
        host_layout_(to_device_ ? layouts.inputs[0] : layouts.outputs[0]),
        device_(device) {}

  void run(const KernelArgs& args) const override {
    const auto bytes = static_cast<size_t>(type_.num_bytes());
    if (to_device_ && from_device_) {
      device_.read(args.scratch.data(), args.inputs[0].data, bytes);
      device_.write(args.outputs[0].data, args.scratch.data(), bytes);
      return;
    }
    void* host = to_device_ ? args.inputs[0].data : args.outputs[0].data;
    void* plain = host_layout_.is_row_major() ? host : args.scratch.data();
    if (to_device_) {
      if (plain != host) copy_between_layouts(type_, host, host_layout_, plain, Layout());
      device_.write(args.outputs[0].data, plain, bytes);
    } else {
      device_.read(plain, args.inputs[0].data, bytes);
      if (plain != host) copy_between_layouts(type_, plain, Layout(), host, host_layout_);
    }
  }

  int64_t scratch_bytes() const override {
    return host_layout_.is_row_major() && !(to_device_ && from_device_) ? 0 : type_.num_bytes();
  }
  std::string detail() const override {
    if (to_device_ && from_device_) return "within the device";
    return to_device_ ? "to the device" : "to the host";
  }

 private:
  TensorType type_;
  bool to_device_;
  bool from_device_;
  Layout host_layout_;
  Device& device_;
};

std::string_view refuses_nothing(const NodeView&) {
  return "";
}

std::unique_ptr<Kernel> create_transfer(const NodeView& node, const NodeLayouts& layouts,
                                        Device& device) {
  return std::make_unique<Transfer>(node, layouts, device);
}

}  // namespace

extern const KernelDef kReorder = device_def("Reorder", refuses_nothing, create_transfer);

}  // namespace trainyard::kernels::on_device
