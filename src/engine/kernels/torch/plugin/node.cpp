#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {

Ints Node::known_ints(size_t i) const {
  if (!is_known(i)) return {};
  const TorchOperand& operand = node_->inputs[i];
  int64_t count = 1;
  for (int32_t d = 0; d < operand.rank; ++d) count *= operand.dims[d];
  if (operand.type == kTorchI64) {
    const auto* values = static_cast<const int64_t*>(operand.known);
    return {values, values + count};
  }
  if (operand.type == kTorchI32) {
    const auto* values = static_cast<const int32_t*>(operand.known);
    return {values, values + count};
  }
  return {};
}

double Node::known_number(size_t i, double fallback) const {
  if (!is_known(i)) return fallback;
  const TorchOperand& operand = node_->inputs[i];
  return at::from_blob(const_cast<void*>(operand.known), {1}, scalar_type(operand.type))
      .item()
      .toDouble();
}

const TorchAttribute* Node::find(std::string_view name) const {
  for (int64_t i = 0; i < node_->num_attributes; ++i) {
    if (node_->attributes[i].name == name) return &node_->attributes[i];
  }
  return nullptr;
}

int64_t Node::attr_int(std::string_view name, int64_t fallback) const {
  const TorchAttribute* found = find(name);
  return found != nullptr && found->ints != nullptr && found->count == 1 ? found->ints[0]
                                                                         : fallback;
}

double Node::attr_float(std::string_view name, double fallback) const {
  const TorchAttribute* found = find(name);
  return found != nullptr && found->floats != nullptr && found->count == 1 ? found->floats[0]
                                                                           : fallback;
}

std::string_view Node::attr_text(std::string_view name, std::string_view fallback) const {
  const TorchAttribute* found = find(name);
  return found != nullptr && found->text != nullptr ? std::string_view(found->text) : fallback;
}

Ints Node::attr_ints(std::string_view name, const Ints& fallback) const {
  const TorchAttribute* found = find(name);
  if (found == nullptr || found->ints == nullptr) return fallback;
  return {found->ints, found->ints + found->count};
}

int64_t Node::attr_axis(int64_t fallback, int64_t rank) const {
  const int64_t axis = attr_int("axis", fallback);
  return axis < 0 ? axis + rank : axis;
}

c10::ScalarType scalar_type(int32_t type) {
  switch (type) {
    case kTorchF32:
      return c10::ScalarType::Float;
    case kTorchF64:
      return c10::ScalarType::Double;
    case kTorchF16:
      return c10::ScalarType::Half;
    case kTorchBF16:
      return c10::ScalarType::BFloat16;
    case kTorchI8:
      return c10::ScalarType::Char;
    case kTorchI16:
      return c10::ScalarType::Short;
    case kTorchI32:
      return c10::ScalarType::Int;
    case kTorchI64:
      return c10::ScalarType::Long;
    case kTorchU8:
      return c10::ScalarType::Byte;
    case kTorchBool:
      return c10::ScalarType::Bool;
    default:
      TORCH_CHECK(false, "libtorch has no element type ", type);
  }
}

const char* refuses_unless_f32(const Node& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && !node.is_known(i) && node.input(i).type != kTorchF32) {
      return "only f32 is implemented";
    }
  }
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (node.has_output(i) && node.output(i).type != kTorchF32) return "only f32 is implemented";
  }
  return "";
}

}  // namespace trainyard::torch_plugin
