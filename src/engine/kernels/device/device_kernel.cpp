#include "engine/kernels/device/device_kernel.h"

#include <algorithm>

#include "base/error.h"
#include "engine/kernels/api/refusals.h"

namespace trainyard::kernels::on_device {
namespace {

namespace dev = trainyard::device;

}  // namespace

// Kernels of a line loop with the stride of the whole grid, so that fewer groups than elements will
// do.
Grid line_grid(int64_t count) {
  constexpr int64_t kGroup = 256;
  constexpr int64_t kMostGroups = 4096;
  return {.groups = {std::clamp<int64_t>((count + kGroup - 1) / kGroup, 1, kMostGroups), 1, 1},
          .group = {kGroup, 1, 1}};
}

// As above: a group takes every so many rows.
Grid row_grid(int64_t rows, int64_t width) {
  constexpr int64_t kMostGroups = 65535;
  return {.groups = {std::clamp<int64_t>(rows, 1, kMostGroups), 1, 1}, .group = {width, 1, 1}};
}

// Starts a new launch; the calls that follow add its arguments, in the order of the kernel's
// parameters.
DeviceKernel& DeviceKernel::launch(const std::string& text, const std::string& name,
                                   const Grid& grid) {
  auto program = device_.program(text);
  auto kernel = program->kernel(name);
  launches_.push_back({name, std::move(program), std::move(kernel), grid, {}});
  return *this;
}

DeviceKernel& DeviceKernel::input(size_t i) {
  if (!node_.has_input(i)) return none();
  // Constants are copied to the device once and kept, even if several launches use them.
  if (const Tensor* constant = node_.input_constant(i)) {
    std::unique_ptr<dev::Buffer>& copy = held_[i];
    if (copy == nullptr) {
      const auto bytes = static_cast<size_t>(constant->num_bytes());
      copy = device_.allocate(bytes, dev::Sharing::kNone);
      device_.write(copy->address(), constant->data(), bytes);
    }
    launches_.back().slots.emplace_back(dev::Argument(static_cast<const void*>(copy->address())));
  } else {
    launches_.back().slots.emplace_back(Operand{false, i});
  }
  return *this;
}

DeviceKernel& DeviceKernel::output(size_t i) {
  launches_.back().slots.emplace_back(Operand{true, i});
  return *this;
}

// Kernels test optional operands for null.
DeviceKernel& DeviceKernel::none() {
  launches_.back().slots.emplace_back(dev::Argument(static_cast<const void*>(nullptr)));
  return *this;
}

DeviceKernel& DeviceKernel::integer(int64_t value) {
  launches_.back().slots.emplace_back(dev::Argument(value));
  return *this;
}

DeviceKernel& DeviceKernel::integers(std::span<const int64_t> values) {
  for (const int64_t value : values) integer(value);
  return *this;
}

DeviceKernel& DeviceKernel::number(double value) {
  launches_.back().slots.emplace_back(dev::Argument(static_cast<float>(value)));
  return *this;
}

// Addresses are known only when operands are bound to memory.
std::vector<dev::Argument> DeviceKernel::arguments(const Launch& launch,
                                                   const KernelArgs& args) const {
  std::vector<dev::Argument> arguments;
  for (const Slot& slot : launch.slots) {
    if (const auto* operand = std::get_if<Operand>(&slot)) {
      const auto& views = operand->is_output ? args.outputs : args.inputs;
      arguments.emplace_back(static_cast<const void*>(views[operand->index].data));
    } else {
      arguments.push_back(std::get<dev::Argument>(slot));
    }
  }
  return arguments;
}

// Keeps the arguments of every launch.
class DeviceKernel::Bound final : public BoundKernel {
 public:
  Bound(const DeviceKernel& kernel, const KernelArgs& args) : kernel_(kernel) {
    for (const Launch& launch : kernel.launches_) {
      arguments_.push_back(kernel.arguments(launch, args));
    }
  }
  void run() override {
    // In order on one queue, so a launch sees what the one before it wrote.
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Launch& launch = kernel_.launches_[i];
      kernel_.device_.launch(*launch.kernel, launch.grid, arguments_[i], /*timed=*/false);
    }
  }

 private:
  const DeviceKernel& kernel_;
  std::vector<std::vector<dev::Argument>> arguments_;
};

std::unique_ptr<BoundKernel> DeviceKernel::bind(const KernelArgs& args) const {
  return std::make_unique<Bound>(*this, args);
}

void DeviceKernel::run(const KernelArgs& args) const {
  Bound(*this, args).run();
}

std::string DeviceKernel::detail() const {
  return launches_.empty() ? "" : launches_.front().name;
}

std::string_view refuses_types(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    // Numbers that are known may be of any type: they are shapes and axes.
    if (!node.has_input(i) || node.input_constant(i) != nullptr) continue;
    if (node.input_type(i).dtype != DType::kF32) return kOnlyF32;
    if (node.input_shape(i).num_elements() == 0) return "an input is empty";
  }
  if (node.num_outputs() != 1) return "it has more than one output";
  if (node.output_type(0).dtype != DType::kF32) return kOnlyF32;
  return node.output_shape(0).num_elements() == 0 ? "the output is empty" : "";
}

}  // namespace trainyard::kernels::on_device
