// Nodes computed by launches of the kernels in src/engine/device/text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/kernels/api/kernel.h"

namespace trainyard::kernels::on_device {

using trainyard::device::Device;
using trainyard::device::Grid;

// Enough work-items for `count` elements; kernels step over what is left.
Grid line_grid(int64_t count);
// A group of `width` work-items for each row.
Grid row_grid(int64_t rows, int64_t width);

// One launch or several, whose arguments are put together once. Inputs that are known before the
// run are copied to the device when they are first named.
class DeviceKernel final : public Kernel {
 public:
  // The node must stay while arguments are named.
  DeviceKernel(const NodeView& node, Device& device) : node_(node), device_(device) {}

  // Begins the next launch, of kernel `name` in text/`text`.cl.
  DeviceKernel& launch(const std::string& text, const std::string& name, const Grid& grid);
  // Its arguments, in the order of the text. An absent input is null.
  DeviceKernel& input(size_t i);
  DeviceKernel& output(size_t i);
  DeviceKernel& none();
  DeviceKernel& integer(int64_t value);
  DeviceKernel& integers(std::span<const int64_t> values);
  DeviceKernel& number(double value);
  void run(const KernelArgs& args) const override;
  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override;
  bool holds_input(size_t i) const override { return held_.contains(i); }
  std::string detail() const override;

 private:
  // An input or output of the node, until it is bound.
  struct Operand {
    bool is_output;
    size_t index;
  };
  using Slot = std::variant<Operand, trainyard::device::Argument>;
  struct Launch {
    std::string name;
    std::shared_ptr<trainyard::device::Program> program;
    std::unique_ptr<trainyard::device::Kernel> kernel;
    Grid grid;
    std::vector<Slot> slots;
  };
  class Bound;

  std::vector<trainyard::device::Argument> arguments(const Launch& launch,
                                                     const KernelArgs& args) const;

  NodeView node_;
  Device& device_;
  std::vector<Launch> launches_;
  std::map<size_t, std::unique_ptr<trainyard::device::Buffer>> held_;  // by input
};

// Why no kernel here takes the node: something is not f32, or empty. Empty: they may.
std::string_view refuses_types(const NodeView& node);

using CreateOn = std::unique_ptr<Kernel> (*)(const NodeView&, const NodeLayouts&, Device&);
constexpr KernelDef device_def(std::string_view op, std::string_view (*refuses)(const NodeView&),
                               CreateOn create) {
  return {.op = op, .library = "device", .refuses = refuses, .create_on = create};
}

}  // namespace trainyard::kernels::on_device
