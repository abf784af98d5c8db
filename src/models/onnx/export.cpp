#include "models/onnx/export.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/wire.h"
#include "ir/graph.h"
#include "models/onnx/lower.h"
#include "models/onnx/model_reader.h"
#include "models/onnx/proto.h"
#include "ops/layout/dtype_code.h"
#include "tensor/text.h"

namespace trainyard::onnx_io {
namespace {

// Streams the numbers of initializers into a file, generating them piece by piece where they are
// rules.
class WeightWriter {
 public:
  // `total` is the number of bytes that will be written over the writer's life.
  WeightWriter(uint64_t seed, int64_t total, std::function<void(int64_t, int64_t)> progress)
      : seed_(seed), total_(total), progress_(std::move(progress)) {}

  // Little-endian, row-major: as raw_data and external data hold them.
  void write(const Value& initializer, AtomicFile& file);

 private:
  void put(const void* data, int64_t bytes, AtomicFile& file);

  uint64_t seed_;
  int64_t total_;
  std::function<void(int64_t, int64_t)> progress_;
  int64_t done_ = 0;
  std::vector<float> piece_;
};

static_assert(std::endian::native == std::endian::little);

// Large enough for two threads to share, small enough to stay in the last-level cache.
constexpr int64_t kPiece = int64_t{1} << 20;
constexpr int64_t kWritePiece = int64_t{1} << 26;

void WeightWriter::put(const void* data, int64_t bytes, AtomicFile& file) {
  const auto* from = static_cast<const char*>(data);
  for (int64_t at = 0; at < bytes; at += kWritePiece) {
    const int64_t size = std::min(kWritePiece, bytes - at);
    file.write(from + at, static_cast<size_t>(size));
    done_ += size;
    if (progress_) progress_(done_, total_);
  }
}

void WeightWriter::write(const Value& initializer, AtomicFile& file) {
  if (initializer.constant) {
    put(initializer.constant->data(), initializer.constant->num_bytes(), file);
    return;
  }
  const int64_t count = initializer.type.shape.num_elements();
  const DType dtype = initializer.type.dtype;
  const auto threads = static_cast<int>(std::thread::hardware_concurrency());
  for (int64_t at = 0; at < count; at += kPiece) {
    const int64_t size = std::min(kPiece, count - at);
    if (initializer.rule.kind == InitRule::Kind::kConstant) {
      Tensor same(dtype, Shape{size});
      fill_by_rule(initializer.rule, seed_, initializer.name, same);
      put(same.data(), same.num_bytes(), file);
      continue;
    }
    piece_.resize(static_cast<size_t>(size));
    fill_range_by_rule(initializer.rule, seed_, initializer.name, at, piece_, threads);
    if (dtype == DType::kF32) {
      put(piece_.data(), size * dtype_size(dtype), file);
    } else {
      const Tensor converted = cast(Tensor::of<float>(Shape{size}, piece_), dtype);
      put(converted.data(), converted.num_bytes(), file);
    }
  }
}

// What the schemas here know, and what graphs mean.
constexpr int64_t kKnownOpset = 17;
constexpr int kIrVersion = 8;
constexpr int kNewerIrVersion = 10;  // from opset 21 on
// Offsets of external data, so that a reader can map each tensor.
constexpr int64_t kPage = 4096;
// Within the model, so that a reader can use the mapped numbers as they are.
constexpr uint64_t kAlignment = 64;
// A field that GraphProto does not have, which every reader passes over.
constexpr uint32_t kPaddingField = 1000;
// Smaller tensors are not aligned, and stay in the model: shape arithmetic of readers looks for
// them there.
constexpr int64_t kSmallestExternal = 1024;

void check_operators(const Graph& graph, int64_t opset) {
  std::set<std::string> wrong;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const int64_t first = first_opset_of(node.op);
    if (first > 0 && first <= opset) continue;
    const auto* schema = onnx::OpSchemaRegistry::Schema(node.op, kKnownOpset, "");
    if (schema == nullptr) {
      wrong.insert(node.op);
      continue;
    }
    for (const auto& [name, value] : node.attributes) {
      if (!schema->attributes().contains(name)) {
        wrong.insert(fmt::format("attribute '{}' of {}", name, node.op));
      }
    }
  }
  for (const ValueId id : graph.initializers()) {
    if (is_narrow(graph.value(id).type.dtype)) {
      wrong.insert(fmt::format("elements of type {}", dtype_name(graph.value(id).type.dtype)));
    }
  }
  const std::vector<std::string> names(wrong.begin(), wrong.end());
  TY_REQUIRE(names.empty(), "graph '{}' cannot be exported: ONNX opset {} does not have {}",
             graph.name(), opset, join(names, ", "));
}

int32_t element_type(DType dtype) {
  return static_cast<int32_t>(ops::dtype_code(dtype));
}

void add_texts(const Tensor& tensor, onnx::TensorProto& proto) {
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    proto.add_string_data(std::string(text_at(tensor.view(), i)));
  }
}

void set_tensor(const Tensor& tensor, onnx::TensorProto& proto) {
  for (const int64_t d : tensor.shape().dims()) proto.add_dims(d);
  proto.set_data_type(element_type(tensor.dtype()));
  if (tensor.dtype() == DType::kText) return add_texts(tensor, proto);
  proto.set_raw_data(tensor.data(), static_cast<size_t>(tensor.num_bytes()));
}

struct AttributeWriter {
  onnx::AttributeProto& proto;

  void operator()(int64_t value) const {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) proto.add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(onnx::AttributeProto::FLOATS);
    for (const float value : values) proto.add_floats(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
  void operator()(const std::shared_ptr<const Tensor>& value) const {
    proto.set_type(onnx::AttributeProto::TENSOR);
    set_tensor(*value, *proto.mutable_t());
  }
  void operator()(const std::shared_ptr<const Graph>&) const {
    throw_error("attribute '{}' is a graph: control flow is not exported", proto.name());
  }
};

// Since opset 18 the axes of a reduction are an input, and Split says how many parts it makes.
void raise_node(int64_t opset, onnx::NodeProto& node, onnx::GraphProto& out) {
  if (opset < 18) return;
  if (node.op_type() == "Split" && node.input_size() == 1) {
    auto* parts = node.add_attribute();
    parts->set_name("num_outputs");
    AttributeWriter{*parts}(int64_t{node.output_size()});
    return;
  }
  if (!node.op_type().starts_with("Reduce") || node.input_size() != 1) return;
  auto* attributes = node.mutable_attribute();
  const auto axes = std::find_if(attributes->begin(), attributes->end(),
                                 [](const auto& a) { return a.name() == "axes"; });
  if (axes == attributes->end()) return;
  auto* constant = out.add_node();
  constant->set_op_type("Constant");
  constant->add_output(node.name() + ".axes");
  auto* value = constant->add_attribute();
  value->set_name("value");
  const std::vector<int64_t> numbers(axes->ints().begin(), axes->ints().end());
  AttributeWriter{*value}(std::make_shared<const Tensor>(Tensor::of_ints(numbers)));
  node.add_input(constant->output(0));
  attributes->erase(axes);
}

// Since opset 20 modes of GridSample have other names.
std::string raised_text(int64_t opset, const Node& node, const std::string& text) {
  if (opset < 20 || node.op != "GridSample") return text;
  return text == "bilinear" ? "linear" : (text == "bicubic" ? "cubic" : text);
}

void add_node(const Graph& graph, const Node& node, int64_t opset, onnx::GraphProto& out) {
  const auto name_of = [&](ValueId id) { return id.valid() ? graph.value(id).name : ""; };
  onnx::NodeProto proto;
  proto.set_name(node.name);
  proto.set_op_type(node.op);
  for (const ValueId id : node.inputs) proto.add_input(name_of(id));
  for (const ValueId id : node.outputs) proto.add_output(name_of(id));
  for (const auto& [name, attribute] : node.attributes) {
    auto* added = proto.add_attribute();
    added->set_name(name);
    std::visit(AttributeWriter{*added}, attribute);
    if (added->has_s()) added->set_s(raised_text(opset, node, added->s()));
  }
  raise_node(opset, proto, out);
  *out.add_node() = std::move(proto);
}

// `batch_name` stands for a first dimension of `batch`; empty: nothing does.
void set_value_info(const Value& value, const std::string& batch_name, int64_t batch,
                    onnx::ValueInfoProto* info) {
  info->set_name(value.name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(element_type(value.type.dtype));
  auto* shape = tensor->mutable_shape();
  for (const int64_t d : value.type.shape.dims()) {
    auto* dim = shape->add_dim();
    if (shape->dim_size() == 1 && d == batch && !batch_name.empty()) {
      dim->set_dim_param(batch_name);
    } else if (d != Shape::kUnknown) {
      dim->set_dim_value(d);
    }
  }
}

// Everything of the graph but its initializers.
std::string graph_without_weights(const Graph& graph, const std::string& batch_name,
                                  int64_t opset) {
  onnx::GraphProto out;
  out.set_name(graph.name().empty() ? "graph" : graph.name());
  for (const NodeId id : graph.node_ids()) {
    add_node(graph, graph.node(id), opset, out);
    for (const ValueId output : graph.node(id).outputs) {
      // With an open batch readers infer what lies between.
      if (output.valid() && !graph.is_output(output) && batch_name.empty()) {
        set_value_info(graph.value(output), "", 0, out.add_value_info());
      }
    }
  }
  const int64_t batch = batch_of(graph);
  const auto describe = [&](ValueId id, onnx::ValueInfoProto* info) {
    set_value_info(graph.value(id), batch_name, batch, info);
  };
  for (const ValueId id : graph.inputs()) describe(id, out.add_input());
  for (const ValueId id : graph.outputs()) describe(id, out.add_output());
  return out.SerializeAsString();
}

// Everything of the model before its graph.
std::string model_header(const Metadata& metadata, int64_t version) {
  onnx::ModelProto out;
  out.set_ir_version(version >= 21 ? kNewerIrVersion : kIrVersion);
  out.set_producer_name("trainyard");
  auto* opset = out.add_opset_import();
  opset->set_domain("");
  opset->set_version(version);
  for (const auto& [key, value] : metadata) {
    auto* entry = out.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  return out.SerializeAsString();
}

// Texts lie in the head, numbers behind it or in another file.
enum class Place : uint8_t { kInHead, kBehindHead, kOtherFile };

// An initializer as the file will hold it.
struct Entry {
  const Value* value = nullptr;
  std::string padding = {};  // a field of the graph before it, without meaning
  std::string head;          // the fields of TensorProto but raw_data's content
  Place place = Place::kBehindHead;
  int64_t offset = 0;

  uint64_t size() const {
    return head.size() +
           (place == Place::kBehindHead ? static_cast<uint64_t>(value->type.num_bytes()) : 0);
  }
};

onnx::TensorProto tensor_head(const Value& value) {
  onnx::TensorProto proto;
  for (const int64_t d : value.type.shape.dims()) proto.add_dims(d);
  proto.set_data_type(element_type(value.type.dtype));
  proto.set_name(value.name);
  return proto;
}

Entry make_entry(const Value& value) {
  Entry entry;
  entry.value = &value;
  onnx::TensorProto head = tensor_head(value);
  if (value.type.dtype == DType::kText) {
    entry.place = Place::kInHead;
    add_texts(*value.constant, head);
  }
  entry.head = head.SerializeAsString();
  if (entry.place == Place::kInHead) return entry;
  append_bytes_header(entry.head, onnx::TensorProto::kRawDataFieldNumber,
                      static_cast<uint64_t>(value.type.num_bytes()));
  return entry;
}

Entry make_external_entry(const Value& value, const std::string& location, int64_t offset) {
  Entry entry;
  entry.value = &value;
  entry.place = Place::kOtherFile;
  entry.offset = offset;
  onnx::TensorProto proto = tensor_head(value);
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& text) {
    auto* pair = proto.add_external_data();
    pair->set_key(key);
    pair->set_value(text);
  };
  add("location", location);
  add("offset", fmt::format("{}", offset));
  add("length", fmt::format("{}", value.type.num_bytes()));
  entry.head = proto.SerializeAsString();
  return entry;
}

constexpr uint32_t kGraphField = onnx::ModelProto::kGraphFieldNumber;
constexpr uint32_t kInitializerField = onnx::GraphProto::kInitializerFieldNumber;

uint64_t graph_size(const std::string& description, const std::vector<Entry>& entries) {
  uint64_t size = description.size();
  for (const Entry& entry : entries) {
    size +=
        entry.padding.size() + bytes_header_size(kInitializerField, entry.size()) + entry.size();
  }
  return size;
}

// A field of exactly `size` bytes, or a multiple of the alignment more where none is that short.
std::string make_padding(uint64_t size) {
  if (size == 0) return {};
  const uint64_t header = bytes_header_size(kPaddingField, 0);
  while (size < header) size += kAlignment;
  std::string padding;
  append_bytes_header(padding, kPaddingField, size - header);
  padding.resize(size, '\0');
  return padding;
}

// Pads before each large tensor so that its numbers begin at a multiple of kAlignment in the file.
void align_entries(const std::string& header, const std::string& description,
                   std::vector<Entry>& entries) {
  // The length of the graph stands before it, and padding may make that number a byte longer, which
  // moves everything. Should it go to and fro, the file is right but not aligned.
  constexpr int kAttempts = 3;
  uint64_t length_size = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const uint64_t wanted = bytes_header_size(kGraphField, graph_size(description, entries));
    if (wanted == length_size) return;
    length_size = wanted;
    uint64_t at = header.size() + length_size + description.size();
    for (Entry& entry : entries) {
      const uint64_t head = bytes_header_size(kInitializerField, entry.size()) + entry.head.size();
      const bool large = entry.value->type.num_bytes() >= kSmallestExternal;
      entry.padding = entry.place != Place::kBehindHead || !large
                          ? std::string()
                          : make_padding((kAlignment - (at + head) % kAlignment) % kAlignment);
      at +=
          entry.padding.size() + bytes_header_size(kInitializerField, entry.size()) + entry.size();
    }
  }
}

std::vector<Entry> inline_entries(const Graph& graph) {
  std::vector<Entry> entries;
  for (const ValueId id : graph.initializers()) entries.push_back(make_entry(graph.value(id)));
  return entries;
}

std::vector<Entry> external_entries(const Graph& graph, const std::string& location) {
  std::vector<Entry> entries;
  int64_t offset = 0;
  for (const ValueId id : graph.initializers()) {
    const Value& value = graph.value(id);
    if (value.type.num_bytes() < kSmallestExternal || value.type.dtype == DType::kText) {
      entries.push_back(make_entry(value));
    } else {
      entries.push_back(make_external_entry(value, location, offset));
      offset = (offset + value.type.num_bytes() + kPage - 1) / kPage * kPage;
    }
  }
  return entries;
}

void write_external(const std::vector<Entry>& entries, AtomicFile& file, WeightWriter& weights) {
  const std::string zeros(kPage, '\0');
  for (const Entry& entry : entries) {
    if (entry.place != Place::kOtherFile) continue;
    file.write(zeros.data(), static_cast<size_t>(entry.offset - file.position()));
    weights.write(*entry.value, file);
  }
}

void write_model(std::string head, const std::string& description, std::vector<Entry> entries,
                 AtomicFile& file, WeightWriter& weights) {
  align_entries(head, description, entries);
  append_bytes_header(head, kGraphField, graph_size(description, entries));
  file.write(head);
  file.write(description);
  for (const Entry& entry : entries) {
    head = entry.padding;
    append_bytes_header(head, kInitializerField, entry.size());
    file.write(head + entry.head);
    if (entry.place == Place::kBehindHead) weights.write(*entry.value, file);
  }
}

}  // namespace

void export_model(const Graph& given, const std::filesystem::path& path,
                  const ExportOptions& options) {
  TY_REQUIRE(kKnownOpset <= options.opset && options.opset <= kNewestOpset,
             "opset {} cannot be written, expected {} to {}", options.opset, kKnownOpset,
             kNewestOpset);
  const Graph graph = lower_to_opset(given, options.opset);
  check_operators(graph, options.opset);
  const std::string description = graph_without_weights(graph, options.batch_name, options.opset);
  const std::string head = model_header(options.metadata, options.opset);
  std::vector<Entry> entries = inline_entries(graph);
  // The length of the graph takes a few bytes, padding less than twice the alignment.
  const uint64_t extra = head.size() + 64 + 2 * kAlignment * entries.size();
  const bool external =
      graph_size(description, entries) + extra > static_cast<uint64_t>(options.largest_file);
  const std::filesystem::path data_path = path.string() + ".data";
  if (external) entries = external_entries(graph, data_path.filename().string());
  int64_t total = 0;
  for (const Entry& entry : entries) {
    if (entry.place != Place::kInHead) total += entry.value->type.num_bytes();
  }
  WeightWriter weights(options.seed, total, options.progress);
  AtomicFile file(path);
  if (external) {
    AtomicFile data(data_path);
    write_external(entries, data, weights);
    write_model(head, description, entries, file, weights);
    data.commit();
  } else {
    write_model(head, description, entries, file, weights);
  }
  file.commit();
}

}  // namespace trainyard::onnx_io
