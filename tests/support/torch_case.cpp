#include "support/torch_case.h"

#include <cstdlib>

#include "engine/device/device_list.h"
#include "engine/kernels/kernel_table.h"

namespace trainyard::testing {
namespace {

using device::Buffer;

// Memory of the device for each operand that the kernel is given.
struct Placed {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<TensorView> views;

  void add(device::Device& on, const TensorType& type) {
    buffers.push_back(on.allocate(static_cast<size_t>(type.num_bytes()), device::Sharing::kNone));
    views.push_back({type.dtype, &type.shape, buffers.back()->address()});
  }
  void add_none() {
    buffers.push_back(nullptr);
    views.emplace_back();
  }
};

}  // namespace

bool asks_for_torch() {
  return std::getenv("TRAINYARD_TEST_TORCH") != nullptr;
}

std::optional<std::vector<Tensor>> run_on_torch(const PreparedCase& p) {
  static const std::shared_ptr<device::Device> kDevice = device::open_device("torch:cpu");
  const NodeView node(p.graph, p.node);
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (node.has_output(i) && !node.output_shape(i).is_static()) return std::nullopt;
  }
  for (const kernels::KernelDef* def :
       kernels::device_kernels_of(node.op(), device::Backend::kTorch)) {
    if (def->library != "torch" || !def->refuses(node).empty()) continue;
    const std::unique_ptr<kernels::Kernel> kernel = def->create_on(node, {}, *kDevice);
    Placed inputs;
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      if (!node.has_input(i) || kernel->holds_input(i)) {
        inputs.add_none();
        continue;
      }
      inputs.add(*kDevice, p.inputs[i].type());
      kDevice->write(inputs.views.back().data, p.inputs[i].data(),
                     static_cast<size_t>(p.inputs[i].num_bytes()));
    }
    Placed outputs;
    for (size_t i = 0; i < node.num_outputs(); ++i) {
      if (node.has_output(i)) {
        outputs.add(*kDevice, node.output_type(i));
      } else {
        outputs.add_none();
      }
    }
    kernel->run({inputs.views, outputs.views, {}});
    std::vector<Tensor> results;
    for (size_t i = 0; i < node.num_outputs(); ++i) {
      results.push_back(node.has_output(i) ? Tensor(node.output_type(i)) : Tensor());
      if (!node.has_output(i)) continue;
      kDevice->read(results.back().data(), outputs.views[i].data,
                    static_cast<size_t>(results.back().num_bytes()));
    }
    return results;
  }
  return std::nullopt;
}

}  // namespace trainyard::testing
