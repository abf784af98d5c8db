#include "models/onnx/adapters.h"

#include <array>

#include "models/onnx/adapters/adapter.h"
#include "ops/op_def.h"

namespace trainyard::onnx_io {
namespace {

std::array<std::span<const Adapter>, 7> all_adapters() {
  return {older_adapters(),     newer_adapters(),     function_adapters(), einsum_adapters(),
          microsoft_adapters(), quantized_adapters(), training_adapters()};
}

}  // namespace

void adapt_node(ImportNode& node, Emitter& emitter) {
  if (node.opset < 6 && node.domain.empty()) drop(node, "consumed_inputs");
  const std::string op = node.op;
  const std::string domain = node.domain;
  for (const std::span<const Adapter> adapters : all_adapters()) {
    for (const Adapter& adapter : adapters) {
      const bool wanted = adapter.op == op && adapter.domain == domain &&
                          adapter.first <= node.opset && node.opset < adapter.below;
      if (wanted) adapter.rewrite(node, emitter);
    }
  }
}

bool is_known_operator(std::string_view domain, std::string_view op) {
  if (domain.empty() && ops::find_op(op) != nullptr) return true;
  for (const std::span<const Adapter> adapters : all_adapters()) {
    for (const Adapter& adapter : adapters) {
      if (adapter.op == op && adapter.domain == domain) return true;
    }
  }
  return false;
}

}  // namespace trainyard::onnx_io
