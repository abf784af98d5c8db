#include "ir/node_view.h"

#include "base/error.h"

namespace trainyard {

const Value& NodeView::input_value(size_t i) const {
  TY_REQUIRE(has_input(i), "{} '{}': input {} is missing", op(), name(), i);
  return graph_->value(input(i));
}

const Tensor* NodeView::input_constant(size_t i) const {
  return has_input(i) ? graph_->value(input(i)).constant.get() : nullptr;
}

std::optional<std::vector<int64_t>> NodeView::input_ints(size_t i) const {
  const Tensor* constant = input_constant(i);
  if (constant == nullptr) return std::nullopt;
  return to_ints(*constant);
}

bool NodeView::has_attr(std::string_view name) const {
  return node().attributes.contains(name);
}

template <typename T>
const T* NodeView::attr(std::string_view name, AttrKind kind) const {
  const auto found = node().attributes.find(name);
  if (found == node().attributes.end()) return nullptr;
  TY_REQUIRE(attr_kind(found->second) == kind, "{} '{}': attribute '{}' is {}, expected {}", op(),
             this->name(), name, attr_kind_name(attr_kind(found->second)), attr_kind_name(kind));
  return &std::get<T>(found->second);
}

int64_t NodeView::attr_int(std::string_view name, int64_t fallback) const {
  const auto* found = attr<int64_t>(name, AttrKind::kInt);
  return found != nullptr ? *found : fallback;
}

float NodeView::attr_float(std::string_view name, float fallback) const {
  const auto* found = attr<float>(name, AttrKind::kFloat);
  return found != nullptr ? *found : fallback;
}

std::string NodeView::attr_text(std::string_view name, std::string_view fallback) const {
  const auto* found = attr<std::string>(name, AttrKind::kText);
  return found != nullptr ? *found : std::string(fallback);
}

std::vector<int64_t> NodeView::attr_ints(std::string_view name,
                                         const std::vector<int64_t>& fallback) const {
  const auto* found = attr<std::vector<int64_t>>(name, AttrKind::kInts);
  return found != nullptr ? *found : fallback;
}

std::vector<float> NodeView::attr_floats(std::string_view name,
                                         const std::vector<float>& fallback) const {
  const auto* found = attr<std::vector<float>>(name, AttrKind::kFloats);
  return found != nullptr ? *found : fallback;
}

std::vector<std::string> NodeView::attr_texts(std::string_view name) const {
  const auto* found = attr<std::vector<std::string>>(name, AttrKind::kTexts);
  return found != nullptr ? *found : std::vector<std::string>();
}

const Graph* NodeView::attr_graph(std::string_view name) const {
  const auto* found = attr<std::shared_ptr<const Graph>>(name, AttrKind::kGraph);
  return found != nullptr ? found->get() : nullptr;
}

const Tensor* NodeView::attr_tensor(std::string_view name) const {
  const auto* found = attr<std::shared_ptr<const Tensor>>(name, AttrKind::kTensor);
  return found != nullptr ? found->get() : nullptr;
}

}  // namespace trainyard
