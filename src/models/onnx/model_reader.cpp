#include "models/onnx/model_reader.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_set>

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include "base/error.h"
#include "base/text.h"
#include "models/onnx/adapters.h"
#include "models/onnx/functions.h"
#include "models/onnx/gradient_node.h"
#include "models/onnx/proto.h"
#include "models/onnx/sequences.h"
#include "models/onnx/tensor_reader.h"

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

template <typename Imports>
int64_t opset_of(const Imports& imports) {
  int64_t version = 0;
  for (const auto& import : imports) {
    if (is_default_domain(import.domain())) version = import.version();
  }
  return version;
}

int64_t default_opset(const onnx::ModelProto& model) {
  const int64_t version = opset_of(model.opset_import());
  // Before IR version 3 there was one operator set and no need to name it.
  if (model.opset_import().empty() && model.ir_version() < 3) return 1;
  // A model of other operators alone need not name ONNX's own.
  return version == 0 && !model.opset_import().empty() ? kNewestOpset : version;
}

void find_missing(const FileGraph& graph, std::set<std::string>& missing) {
  for (const FileNode& node : graph.nodes) {
    const bool is_list = node.domain.empty() && is_sequence_operator(node.op);
    if (!is_list && !is_gradient(node) && !is_known_operator(node.domain, node.op)) {
      missing.insert(node.domain.empty() ? node.op : fmt::format("{} ({})", node.op, node.domain));
    }
    for (const auto& [name, body] : node.graphs) find_missing(*body, missing);
  }
}

void check_operators(const FileGraph& graph) {
  std::set<std::string> missing;
  find_missing(graph, missing);
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

// A tensor, or what a sequence or an optional value is made of.
struct ElementType {
  DeclaredInput::Form form = DeclaredInput::Form::kTensor;
  const onnx::TypeProto* type = nullptr;
};

ElementType element_type(const onnx::TypeProto& type) {
  using Form = DeclaredInput::Form;
  if (type.has_sequence_type()) return {Form::kSequence, &type.sequence_type().elem_type()};
  if (!type.has_optional_type()) return {Form::kTensor, &type};
  const onnx::TypeProto& inner = type.optional_type().elem_type();
  if (inner.has_sequence_type()) {
    return {Form::kOptionalSequence, &inner.sequence_type().elem_type()};
  }
  return {Form::kOptional, &inner};
}

DType tensor_dtype(const onnx::ValueInfoProto& info, std::string_view what) {
  const onnx::TypeProto& type = *element_type(info.type()).type;
  TY_REQUIRE(type.has_tensor_type(),
             "{} '{}' is {}; only tensors, sequences and optional values of them are supported",
             what, info.name(), kind_text(info.type()));
  try {
    return require_dtype(type.tensor_type().elem_type());
  } catch (const Error& problem) {
    throw_error("{} '{}': {}", what, info.name(), problem.what());
  }
}

// Some exporters write "?", "-1" or "None" for every dimension that is open: these name nothing,
// and two of them need not be equal.
bool is_symbol(std::string_view name) {
  return !name.empty() && name != "?" && name != "-1" && name != "None";
}

std::optional<std::vector<DeclaredDim>> read_dims(const onnx::TypeProto::Tensor& tensor) {
  if (!tensor.has_shape()) return std::nullopt;
  std::vector<DeclaredDim> dims;
  for (const auto& dim : tensor.shape().dim()) {
    DeclaredDim declared;
    // Some exporters write -1 for a dimension that is open.
    if (dim.has_dim_value() && dim.dim_value() != -1) declared.value = dim.dim_value();
    if (is_symbol(dim.dim_param())) declared.symbol = dim.dim_param();
    dims.push_back(std::move(declared));
  }
  return dims;
}

DeclaredInput read_input(const onnx::ValueInfoProto& info) {
  DeclaredInput input;
  input.name = info.name();
  input.dtype = tensor_dtype(info, "input");
  const ElementType element = element_type(info.type());
  input.form = element.form;
  input.dims = read_dims(element.type->tensor_type());
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

// Reads one model: where its operators come from, and its tensors.
class Reader {
 public:
  explicit Reader(TensorReader& tensors) : tensors_(tensors) {}

  FileGraph read_graph(const onnx::GraphProto& graph, int64_t opset, bool is_body);
  FileFunction read_function(const onnx::FunctionProto& proto, int64_t opset);

 private:
  FileNode read_node(const onnx::NodeProto& proto, int64_t opset);
  void read_into(const onnx::AttributeProto& proto, int64_t opset, FileNode& node);

  TensorReader& tensors_;
};

void Reader::read_into(const onnx::AttributeProto& proto, int64_t opset, FileNode& node) {
  bool fresh = false;
  if (!proto.ref_attr_name().empty()) {
    fresh = node.references.emplace(proto.name(), proto.ref_attr_name()).second;
  } else if (proto.type() == onnx::AttributeProto::GRAPH || proto.has_g()) {
    auto body = std::make_shared<const FileGraph>(read_graph(proto.g(), opset, true));
    fresh = node.graphs.emplace(proto.name(), std::move(body)).second;
  } else {
    fresh = node.attributes.emplace(proto.name(), read_attribute(proto, tensors_)).second;
  }
  TY_REQUIRE(fresh, "it is given twice");
}

FileNode Reader::read_node(const onnx::NodeProto& proto, int64_t opset) {
  FileNode node;
  node.name = proto.name();
  node.op = proto.op_type();
  if (!is_default_domain(proto.domain())) node.domain = proto.domain();
  node.opset = opset;
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (const auto& attribute : proto.attribute()) {
    // The type of an optional value that is absent says nothing that is needed.
    if (node.op == "Optional" && attribute.name() == "type") continue;
    try {
      read_into(attribute, opset, node);
    } catch (const Error& problem) {
      throw_error("node '{}' ({}), attribute '{}': {}", node.name, node.op, attribute.name(),
                  problem.what());
    }
  }
  return node;
}

FileGraph Reader::read_graph(const onnx::GraphProto& graph, int64_t opset, bool is_body) {
  FileGraph out;
  out.name = graph.name();
  TY_REQUIRE(graph.sparse_initializer().empty(), "sparse initializers ('{}') are not supported",
             graph.sparse_initializer(0).values().name());
  std::unordered_set<std::string> initialized;
  for (const auto& proto : graph.initializer()) {
    try {
      out.initializers.push_back(
          {proto.name(), std::make_shared<const Tensor>(tensors_.read(proto))});
    } catch (const Error& problem) {
      throw_error("initializer '{}': {}", proto.name(), problem.what());
    }
    initialized.insert(proto.name());
  }
  for (const auto& info : graph.input()) {
    if (initialized.contains(info.name())) continue;
    if (is_body) {
      out.inputs.push_back({.name = info.name(), .dims = {}});  // the caller knows its type
    } else {
      out.inputs.push_back(read_input(info));
    }
  }
  for (const auto& info : graph.output()) {
    out.outputs.push_back({info.name()});
    if (is_body) continue;
    out.outputs.back().dtype = tensor_dtype(info, "output");
    const ElementType element = element_type(info.type());
    out.outputs.back().form = element.form;
    out.outputs.back().dims = read_dims(element.type->tensor_type());
  }
  for (const auto& node : graph.node()) out.nodes.push_back(read_node(node, opset));
  return out;
}

FileFunction Reader::read_function(const onnx::FunctionProto& proto, int64_t opset) {
  FileFunction function;
  if (!is_default_domain(proto.domain())) function.domain = proto.domain();
  function.name = proto.name();
  function.inputs.assign(proto.input().begin(), proto.input().end());
  function.outputs.assign(proto.output().begin(), proto.output().end());
  // Default values are newer than the protobuf classes of ONNX here.
  constexpr int kDefaultsField = 11;
  const auto& unknown = proto.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    using Field = google::protobuf::UnknownField;
    if (field.number() != kDefaultsField || field.type() != Field::TYPE_LENGTH_DELIMITED) continue;
    const auto attribute = parse<onnx::AttributeProto>(field.length_delimited(), "attribute");
    function.defaults.emplace(attribute.name(), read_attribute(attribute, tensors_));
  }
  const int64_t own = opset_of(proto.opset_import());
  for (const auto& node : proto.node()) {
    function.nodes.push_back(read_node(node, own > 0 ? own : opset));
  }
  return function;
}

}  // namespace

FileGraph read_model(Bytes file, std::shared_ptr<void> owner, std::filesystem::path folder) {
  return read_model(file, std::move(owner), std::make_shared<ExternalFiles>(std::move(folder)));
}

FileGraph read_model(Bytes file, std::shared_ptr<void> owner,
                     std::shared_ptr<ExternalFiles> files) {
  SplitFile split = split_file(file, Root::kModel);
  const auto proto = parse<onnx::ModelProto>(split.description, "model");
  TY_REQUIRE(proto.has_graph(), "it is not an ONNX model: there is no graph in it");
  const int64_t opset = default_opset(proto);
  TY_REQUIRE(1 <= opset && opset <= kNewestOpset,
             "its operators are of opset {}; 7 to {} are supported", opset, kNewestOpset);
  TensorReader tensors(std::move(split.payloads), std::move(owner), std::move(files));
  Reader reader(tensors);
  std::vector<FileFunction> functions;
  for (const auto& function : proto.functions()) {
    functions.push_back(reader.read_function(function, opset));
  }
  FileGraph graph = reader.read_graph(proto.graph(), opset, /*is_body=*/false);
  inline_functions(functions, graph);
  check_operators(graph);
  return graph;
}

namespace {

// The messages in the field `number` of `message`.
std::vector<Bytes> elements_of(Bytes message, uint32_t number) {
  std::vector<Bytes> found;
  WireReader reader(message);
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.type == WireType::kBytes && field.number == number) found.push_back(field.content);
  }
  return found;
}

}  // namespace

std::optional<std::vector<Tensor>> read_value(Bytes file, const std::shared_ptr<void>& owner,
                                              const std::filesystem::path& folder,
                                              DeclaredInput::Form form) {
  using Form = DeclaredInput::Form;
  constexpr uint32_t kTensors = 3;
  constexpr uint32_t kSequence = 5;
  std::vector<Bytes> parts = {file};
  if (form == Form::kOptional || form == Form::kOptionalSequence) {
    parts = elements_of(file, form == Form::kOptional ? kTensors : kSequence);
    if (parts.empty()) return std::nullopt;
  }
  if (form == Form::kSequence || form == Form::kOptionalSequence) {
    parts = elements_of(parts[0], kTensors);
  }
  std::vector<Tensor> tensors;
  for (const Bytes part : parts) tensors.push_back(read_tensor(part, owner, folder));
  return tensors;
}

Tensor read_tensor(Bytes file, std::shared_ptr<void> owner, std::filesystem::path folder) {
  SplitFile split = split_file(file, Root::kTensor);
  const auto proto = parse<onnx::TensorProto>(split.description, "tensor");
  TensorReader tensors(std::move(split.payloads), std::move(owner), std::move(folder));
  return tensors.read(proto);
}

}  // namespace trainyard::onnx_io
