#include "ir/attribute.h"

#include <array>

#include <fmt/format.h>

#include "ir/graph.h"

namespace trainyard {

std::string_view attr_kind_name(AttrKind kind) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "an integer",        "a number",        "text",     "a list of integers",
      "a list of numbers", "a list of texts", "a tensor", "a graph"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

struct AttributePrinter {
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(float value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(const std::shared_ptr<const Tensor>& value) const {
    return value->type().to_string();
  }
  std::string operator()(const std::shared_ptr<const Graph>& value) const {
    return fmt::format("{{{} nodes}}", value->num_nodes());
  }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return fmt::format("[{}]", fmt::join(values, ","));
  }
};

}  // namespace

std::string attribute_text(const Attribute& attribute) {
  return std::visit(AttributePrinter{}, attribute);
}

}  // namespace trainyard
