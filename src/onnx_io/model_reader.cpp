#include "onnx_io/model_reader.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "onnx_io/adapters.h"
#include "onnx_io/newer_opsets.h"
#include "onnx_io/proto.h"
#include "onnx_io/tensor_reader.h"
#include "ops/op_def.h"

namespace trainyard::onnx_io {
namespace {

template <typename Proto>
Proto parse(const std::string& description, std::string_view what) {
  Proto proto;
  TY_REQUIRE(description.size() <= static_cast<size_t>(std::numeric_limits<int>::max()) &&
                 proto.ParseFromArray(description.data(), static_cast<int>(description.size())),
             "it is not an ONNX {}: a field is damaged, or messages are nested too deeply", what);
  return proto;
}

bool is_default_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

int64_t default_opset(const onnx::ModelProto& model) {
  int64_t version = 0;
  for (const auto& import : model.opset_import()) {
    if (is_default_domain(import.domain())) version = import.version();
  }
  // Before IR version 3 there was one operator set and no need to name it.
  if (model.opset_import().empty() && model.ir_version() < 3) version = 1;
  return version;
}

void check_operators(const onnx::ModelProto& model) {
  std::set<std::string> missing;
  const int64_t opset = default_opset(model);
  for (const auto& node : model.graph().node()) {
    if (!is_default_domain(node.domain())) {
      missing.insert(fmt::format("{} ({})", node.op_type(), node.domain()));
    } else if (ops::find_op(adapted_op(node.op_type())) == nullptr) {
      missing.insert(node.op_type());
    } else if (opset <= kNewestOpset && changed_since_17(node.op_type(), opset)) {
      missing.insert(fmt::format("{} of opset {}", node.op_type(), opset));
    }
  }
  if (missing.empty()) return;
  const std::vector<std::string> names(missing.begin(), missing.end());
  throw UnsupportedOperators(fmt::format(
      "{} not supported: {}", names.size() == 1 ? "this operator is" : "these operators are",
      join(names, ", ")));
}

std::string_view kind_text(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      return "a tensor";
    case onnx::TypeProto::kSequenceType:
      return "a sequence";
    case onnx::TypeProto::kMapType:
      return "a map";
    case onnx::TypeProto::kOptionalType:
      return "an optional value";
    case onnx::TypeProto::kSparseTensorType:
      return "a sparse tensor";
    default:
      return "nothing known";
  }
}

DType tensor_dtype(const onnx::ValueInfoProto& info, std::string_view what) {
  TY_REQUIRE(info.type().has_tensor_type(), "{} '{}' is {}; only tensors are supported", what,
             info.name(), kind_text(info.type()));
  try {
    return require_dtype(info.type().tensor_type().elem_type());
  } catch (const Error& problem) {
    throw_error("{} '{}': {}", what, info.name(), problem.what());
  }
}

DeclaredInput read_input(const onnx::ValueInfoProto& info) {
  DeclaredInput input;
  input.name = info.name();
  input.dtype = tensor_dtype(info, "input");
  const auto& tensor = info.type().tensor_type();
  if (!tensor.has_shape()) return input;
  input.dims.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    DeclaredDim declared;
    // Some exporters write -1 for a dimension that is open.
    if (dim.has_dim_value() && dim.dim_value() != -1) declared.value = dim.dim_value();
    if (dim.has_dim_param()) declared.symbol = dim.dim_param();
    input.dims->push_back(std::move(declared));
  }
  return input;
}

// Files of IR version 1 leave out what kind of attribute it is.
onnx::AttributeProto::AttributeType attribute_type(const onnx::AttributeProto& proto) {
  using A = onnx::AttributeProto;
  if (proto.type() != A::UNDEFINED) return proto.type();
  if (proto.has_f()) return A::FLOAT;
  if (proto.has_i()) return A::INT;
  if (proto.has_s()) return A::STRING;
  if (proto.has_t()) return A::TENSOR;
  if (proto.floats_size() > 0) return A::FLOATS;
  if (proto.strings_size() > 0) return A::STRINGS;
  return proto.ints_size() > 0 ? A::INTS : A::UNDEFINED;
}

Attribute read_attribute(const onnx::AttributeProto& proto, TensorReader& tensors) {
  using A = onnx::AttributeProto;
  TY_REQUIRE(proto.ref_attr_name().empty(), "it refers to the attribute '{}' of a function",
             proto.ref_attr_name());
  switch (attribute_type(proto)) {
    case A::FLOAT:
      return proto.f();
    case A::INT:
      return int64_t{proto.i()};
    case A::STRING:
      return proto.s();
    case A::TENSOR:
      return std::make_shared<const Tensor>(tensors.read(proto.t()));
    case A::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case A::INTS:
      return std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
    case A::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    default:
      throw_error("it holds a graph, a list of tensors or another kind that is not supported");
  }
}

FileNode read_node(const onnx::NodeProto& proto, TensorReader& tensors) {
  FileNode node;
  node.name = proto.name();
  node.op = proto.op_type();
  node.domain = proto.domain();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (const auto& attribute : proto.attribute()) {
    try {
      const bool fresh =
          node.attributes.emplace(attribute.name(), read_attribute(attribute, tensors)).second;
      TY_REQUIRE(fresh, "it is given twice");
    } catch (const Error& problem) {
      throw_error("node '{}' ({}), attribute '{}': {}", node.name, node.op, attribute.name(),
                  problem.what());
    }
  }
  return node;
}

void read_graph(const onnx::GraphProto& graph, TensorReader& tensors, FileModel& model) {
  model.graph_name = graph.name();
  std::unordered_set<std::string> initialized;
  for (const auto& proto : graph.initializer()) {
    try {
      model.initializers.push_back(
          {proto.name(), std::make_shared<const Tensor>(tensors.read(proto))});
    } catch (const Error& problem) {
      throw_error("initializer '{}': {}", proto.name(), problem.what());
    }
    initialized.insert(proto.name());
  }
  for (const auto& info : graph.input()) {
    if (!initialized.contains(info.name())) model.inputs.push_back(read_input(info));
  }
  for (const auto& info : graph.output()) {
    model.outputs.push_back({info.name(), tensor_dtype(info, "output")});
  }
  for (const auto& node : graph.node()) model.nodes.push_back(read_node(node, tensors));
}

}  // namespace

FileModel read_model(Bytes file, std::shared_ptr<void> owner, std::filesystem::path folder) {
  SplitFile split = split_file(file, Root::kModel);
  const auto proto = parse<onnx::ModelProto>(split.description, "model");
  TY_REQUIRE(proto.has_graph(), "it is not an ONNX model: there is no graph in it");
  check_operators(proto);
  TY_REQUIRE(proto.graph().sparse_initializer().empty(),
             "sparse initializers ('{}') are not supported",
             proto.graph().sparse_initializer(0).values().name());
  FileModel model;
  model.opset = default_opset(proto);
  TY_REQUIRE(1 <= model.opset && model.opset <= kNewestOpset,
             "its operators are of opset {}; 7 to {} are supported", model.opset, kNewestOpset);
  model.opset = std::min(model.opset, kGraphOpset);
  TensorReader tensors(std::move(split.payloads), std::move(owner), std::move(folder));
  read_graph(proto.graph(), tensors, model);
  return model;
}

Tensor read_tensor(Bytes file, std::shared_ptr<void> owner, std::filesystem::path folder) {
  SplitFile split = split_file(file, Root::kTensor);
  const auto proto = parse<onnx::TensorProto>(split.description, "tensor");
  TensorReader tensors(std::move(split.payloads), std::move(owner), std::move(folder));
  return tensors.read(proto);
}

}  // namespace trainyard::onnx_io
