// The functions that the program calls: devices, memory, and kernels with their arguments.
#include <array>
#include <c10/core/InferenceMode.h>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/version.h>

#include "engine/kernels/torch/plugin/accelerator.h"
#include "engine/kernels/torch/plugin/precision.h"

namespace trainyard::torch_plugin {
namespace {

thread_local std::string last_error;

// What libtorch throws carries a stack; its first line says what is wrong.
void keep_error(const std::exception& error) {
  last_error = error.what();
  last_error.resize(std::min(last_error.find('\n'), last_error.size()));
}

template <typename F>
auto guarded(F&& f, decltype(f()) failed) noexcept -> decltype(f()) {
  try {
    const c10::InferenceMode no_gradients;
    return f();
  } catch (const std::exception& error) {
    keep_error(error);
  } catch (...) {
    last_error = "libtorch threw something that is no error";
  }
  return failed;
}

template <typename F>
int32_t succeeds(F&& f) noexcept {
  return guarded(
      [&] {
        f();
        return int32_t{0};
      },
      int32_t{1});
}

// Memory is libtorch's: bytes, with the addresses by which the program names places in them.
class OpenDevice {
 public:
  explicit OpenDevice(const char* name) : device_(name) {
    // Fails here and not in the first node, if the device cannot be used.
    const Tensor probe = at::zeros({1}, at::TensorOptions().device(device_));
    finish_device(device_);
  }

  const at::Device& device() const { return device_; }
  int32_t precision() const { return precision_; }
  void set_precision(int32_t precision) {
    allow_tf32(device_, precision == kTorchTF32);
    precision_ = precision;
  }

  std::byte* allocate(int64_t bytes) {
    const Tensor memory = at::empty({std::max<int64_t>(bytes, 1)},
                                    at::TensorOptions().dtype(at::kByte).device(device_));
    const std::lock_guard lock(mutex_);
    // Apple's buffers have handles in place of addresses: these are made up.
    std::byte* begin = static_cast<std::byte*>(memory.data_ptr());
    if (device_.type() == at::DeviceType::MPS) {
      begin = reinterpret_cast<std::byte*>(next_);
      next_ += (static_cast<uintptr_t>(memory.numel()) + kPage) / kPage * kPage;
    }
    memory_.emplace(begin, memory);
    return begin;
  }

  void release(std::byte* begin) {
    const std::lock_guard lock(mutex_);
    memory_.erase(begin);
  }

  // The tensor of this type that begins at an address within what was allocated.
  Tensor at_address(std::byte* address, at::IntArrayRef dims, c10::ScalarType type) {
    const std::lock_guard lock(mutex_);
    auto after = memory_.upper_bound(address);
    TORCH_CHECK(after != memory_.begin(), "an address that was not allocated");
    const auto& [begin, memory] = *std::prev(after);
    const int64_t offset = address - begin;
    const auto size = static_cast<int64_t>(c10::elementSize(type));
    int64_t bytes = size;
    for (const int64_t dim : dims) bytes *= dim;
    TORCH_CHECK(offset % size == 0 && offset + bytes <= memory.numel(),
                "an address that was not allocated");
    Tensor tensor = at::empty({0}, memory.options().dtype(type));
    return tensor.set_(memory.storage(), offset / size, dims);
  }

 private:
  static constexpr uintptr_t kPage = 4096;

  at::Device device_;
  int32_t precision_ = kTorchFull;
  std::mutex mutex_;
  std::map<std::byte*, Tensor> memory_;
  uintptr_t next_ = uintptr_t{1} << 46;
};

// The host's bytes as a tensor, not owned.
Tensor host_tensor(const void* data, at::IntArrayRef dims, c10::ScalarType type) {
  return at::from_blob(const_cast<void*>(data), dims, at::TensorOptions().dtype(type));
}

struct Operand {
  Ints dims;
  c10::ScalarType type = c10::ScalarType::Float;
  bool there = false;
};

std::vector<Operand> operands(const TorchOperand* given, int64_t count) {
  std::vector<Operand> kept(static_cast<size_t>(count));
  for (size_t i = 0; i < kept.size(); ++i) {
    if (given[i].type == kTorchAbsent) continue;
    kept[i] = {{given[i].dims, given[i].dims + given[i].rank}, scalar_type(given[i].type), true};
  }
  return kept;
}

struct Created {
  OpenDevice* device;
  Run run;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  Tensors known;  // by input; undefined: it comes with the run
};

struct Bound {
  const Created* kernel;
  Tensors inputs;
  Tensors outputs;
};

Created* create_kernel(OpenDevice& device, const TorchNode& given) {
  const Node node(given);
  const Operator* row = find_operator(node.op());
  TORCH_CHECK(row != nullptr, "no operator ", given.op);
  auto kernel = std::make_unique<Created>();
  kernel->device = &device;
  kernel->run = row->make(node);
  kernel->inputs = operands(given.inputs, given.num_inputs);
  kernel->outputs = operands(given.outputs, given.num_outputs);
  kernel->known.resize(kernel->inputs.size());
  for (size_t i = 0; i < kernel->inputs.size(); ++i) {
    const Operand& operand = kernel->inputs[i];
    if (!operand.there || given.inputs[i].known == nullptr) continue;
    // A copy of its own: the program frees what kernels hold.
    kernel->known[i] =
        host_tensor(given.inputs[i].known, operand.dims, operand.type).clone().to(device.device());
  }
  return kernel.release();
}

Tensors tensors_at(OpenDevice& device, const std::vector<Operand>& operands, void* const* places) {
  Tensors tensors(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].there || places[i] == nullptr) continue;
    tensors[i] =
        device.at_address(static_cast<std::byte*>(places[i]), operands[i].dims, operands[i].type);
  }
  return tensors;
}

Bound* bind_kernel(const Created& kernel, void* const* inputs, void* const* outputs) {
  auto bound = std::make_unique<Bound>();
  bound->kernel = &kernel;
  bound->inputs = tensors_at(*kernel.device, kernel.inputs, inputs);
  bound->outputs = tensors_at(*kernel.device, kernel.outputs, outputs);
  for (size_t i = 0; i < bound->inputs.size(); ++i) {
    if (kernel.known[i].defined()) bound->inputs[i] = kernel.known[i];
  }
  return bound.release();
}

constexpr auto kFamilies = {attention_operators, convolution_operators, detection_operators,
                            dropout_operators,   elementwise_operators, layout_operators,
                            loss_operators,      matmul_operators,      normalization_operators,
                            optimizer_operators, pooling_operators,     reduction_operators};

// Their names, and a null.
const char* const* operator_names() {
  static const std::vector<const char*> kNames = [] {
    std::vector<const char*> names;
    for (const auto family : kFamilies) {
      for (const Operator& row : family()) names.push_back(row.op);
    }
    names.push_back(nullptr);
    return names;
  }();
  return kNames.data();
}

const char* const* found_devices() {
  static const std::vector<std::string> kFound =
      guarded([] { return device_names(); }, std::vector<std::string>{"cpu"});
  static const std::vector<const char*> kNames = [] {
    std::vector<const char*> names;
    for (const std::string& name : kFound) names.push_back(name.c_str());
    names.push_back(nullptr);
    return names;
  }();
  return kNames.data();
}

OpenDevice& opened(void* device) {
  return *static_cast<OpenDevice*>(device);
}

void copy_bytes(OpenDevice& device, void* there, const void* here, int64_t bytes, bool to_device) {
  if (bytes == 0) return;
  const Tensor far = device.at_address(static_cast<std::byte*>(there), {bytes}, at::kByte);
  Tensor near = host_tensor(here, {bytes}, at::kByte);
  if (to_device) {
    far.copy_(near);
  } else {
    near.copy_(far);
  }
}

const TorchInterface& make_interface() {
  static TorchInterface table = {};
  table.version = kTorchInterface;
  table.library = "libtorch " TORCH_VERSION;
  table.operators = operator_names();
  table.devices = found_devices;
  table.open = [](const char* name) {
    return guarded([&] { return static_cast<void*>(new OpenDevice(name)); },
                   static_cast<void*>(nullptr));
  };
  table.close = [](void* device) { delete &opened(device); };
  table.set_precision = [](void* device, int32_t precision) {
    return succeeds([&] { opened(device).set_precision(precision); });
  };
  table.allocate = [](void* device, int64_t bytes) {
    return guarded([&] { return static_cast<void*>(opened(device).allocate(bytes)); },
                   static_cast<void*>(nullptr));
  };
  table.release = [](void* device, void* address) {
    succeeds([&] { opened(device).release(static_cast<std::byte*>(address)); });
  };
  table.write = [](void* device, void* to, const void* from, int64_t bytes) {
    return succeeds([&] { copy_bytes(opened(device), to, from, bytes, true); });
  };
  table.read = [](void* device, void* to, const void* from, int64_t bytes) {
    return succeeds([&] { copy_bytes(opened(device), const_cast<void*>(from), to, bytes, false); });
  };
  table.finish = [](void* device) {
    return succeeds([&] { finish_device(opened(device).device()); });
  };
  table.refuses = [](const TorchNode* node) {
    return guarded(
        [&] {
          const Operator* row = find_operator(node->op);
          return row == nullptr ? "it has no such kernel" : row->refuses(Node(*node));
        },
        static_cast<const char*>("libtorch does not take it"));
  };
  table.create = [](void* device, const TorchNode* node) {
    return guarded([&] { return static_cast<void*>(create_kernel(opened(device), *node)); },
                   static_cast<void*>(nullptr));
  };
  table.destroy = [](void* kernel) { delete static_cast<Created*>(kernel); };
  table.bind = [](void* kernel, void* const* inputs, void* const* outputs) {
    return guarded(
        [&] {
          return static_cast<void*>(
              bind_kernel(*static_cast<const Created*>(kernel), inputs, outputs));
        },
        static_cast<void*>(nullptr));
  };
  table.unbind = [](void* bound) { delete static_cast<Bound*>(bound); };
  table.run = [](void* bound) {
    return succeeds([&] {
      const Bound& b = *static_cast<const Bound*>(bound);
      const PrecisionScope scope(b.kernel->device->precision());
      b.kernel->run(b.inputs, b.outputs);
    });
  };
  table.error = [] { return last_error.c_str(); };
  return table;
}

}  // namespace

const Operator* find_operator(std::string_view op) {
  for (const auto family : kFamilies) {
    for (const Operator& row : family()) {
      if (row.op == op) return &row;
    }
  }
  return nullptr;
}

}  // namespace trainyard::torch_plugin

extern "C" __attribute__((visibility("default"))) const TorchInterface*
trainyard_torch_interface() {
  static const TorchInterface& kTable = trainyard::torch_plugin::make_interface();
  return &kTable;
}
