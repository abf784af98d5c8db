// Node attributes: the kinds of value that ONNX operators take.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace trainyard {

class Graph;

enum class AttrKind : uint8_t { kInt, kFloat, kText, kInts, kFloats, kTexts, kTensor, kGraph };

// The alternatives stand in the order of AttrKind.
using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>,
                               std::shared_ptr<const Tensor>, std::shared_ptr<const Graph>>;

inline AttrKind attr_kind(const Attribute& attribute) {
  return static_cast<AttrKind>(attribute.index());
}

std::string_view attr_kind_name(AttrKind kind);

// Ordered by name, so that printing and comparing graphs is deterministic.
using Attributes = std::map<std::string, Attribute, std::less<>>;

// "strides=[2,2]"-style text of the value alone.
std::string attribute_text(const Attribute& attribute);

}  // namespace trainyard
