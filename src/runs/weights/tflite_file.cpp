#include "runs/weights/tflite_file.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"

namespace trainyard::runs {
namespace {

// The bytes of a file, and what to call it in errors.
struct FlatFile {
  std::span<const std::byte> bytes;
  std::string_view origin;

  template <typename T>
  T number(int64_t at) const {
    TY_REQUIRE(at >= 0 && at <= static_cast<int64_t>(bytes.size()) - int64_t{sizeof(T)},
               "{}: byte {}: an offset leads outside the file of {} bytes; it is damaged", origin,
               at, bytes.size());
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  // Where the offset at this byte leads.
  int64_t follow(int64_t at) const { return at + int64_t{number<uint32_t>(at)}; }
};

class FlatTable {
 public:
  FlatTable(const FlatFile& file, int64_t at) : file_(&file), at_(at) {
    vtable_ = at - int64_t{file.number<int32_t>(at)};
    vtable_bytes_ = file.number<uint16_t>(vtable_);
  }

  template <typename T>
  T number(int field, T absent) const {
    const int64_t at = place(field);
    return at == 0 ? absent : file_->number<T>(at);
  }

  // Fails for a field that is absent, with its name.
  FlatTable table(int field, std::string_view what) const {
    const int64_t at = place(field);
    TY_REQUIRE(at != 0, "{}: byte {}: {} is missing", file_->origin, at_, what);
    return {*file_, file_->follow(at)};
  }
  bool has(int field) const { return place(field) != 0; }

  // Elements of a vector; none if the field is absent.
  template <typename T>
  std::vector<T> numbers(int field) const {
    const std::span<const std::byte> data = vector(field, sizeof(T));
    std::vector<T> values(data.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), data.data(), data.size());
    return values;
  }
  std::span<const std::byte> bytes(int field) const { return vector(field, 1); }
  std::string text(int field) const {
    const auto data = vector(field, 1);
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  std::vector<FlatTable> tables(int field) const {
    const std::span<const std::byte> data = vector(field, sizeof(uint32_t));
    std::vector<FlatTable> found;
    const int64_t begin = data.data() - file_->bytes.data();
    for (size_t i = 0; i < data.size(); i += sizeof(uint32_t)) {
      found.emplace_back(*file_, file_->follow(begin + static_cast<int64_t>(i)));
    }
    return found;
  }

 private:
  // Of a field's content; 0 if it is absent.
  int64_t place(int field) const {
    const int64_t slot = 4 + 2 * int64_t{field};
    if (slot + 2 > vtable_bytes_) return 0;
    const auto offset = file_->number<uint16_t>(vtable_ + slot);
    return offset == 0 ? 0 : at_ + offset;
  }
  std::span<const std::byte> vector(int field, size_t element) const {
    const int64_t at = place(field);
    if (at == 0) return file_->bytes.first(0);
    const int64_t begin = file_->follow(at);
    const auto count = file_->number<uint32_t>(begin);
    const int64_t first = begin + 4;
    TY_REQUIRE(
        count <= (file_->bytes.size() - static_cast<size_t>(first)) / element,
        "{}: byte {}: a list of {} elements ends outside the file of {} bytes; it is damaged",
        file_->origin, begin, count, file_->bytes.size());
    return file_->bytes.subspan(static_cast<size_t>(first), count * element);
  }

  const FlatFile* file_;
  int64_t at_;
  int64_t vtable_ = 0;
  int64_t vtable_bytes_ = 0;
};

// Fields, types and operators have the numbers of TensorFlow Lite's schema, version 3.
constexpr uint32_t kSchemaVersion = 3;
struct ModelField {
  enum : int { kVersion = 0, kCodes = 1, kSubgraphs = 2, kBuffers = 4 };
};
struct CodeField {
  enum : int { kOldCode = 0, kCode = 3 };
};
struct SubgraphField {
  enum : int { kTensors = 0, kOperators = 3 };
};
struct OperatorField {
  enum : int { kCode = 0, kInputs = 1 };
};
struct TensorField {
  enum : int { kShape = 0, kType = 1, kBuffer = 2, kName = 3, kQuantization = 4 };
};
struct QuantizationField {
  enum : int { kScale = 2, kZeroPoint = 3, kAxis = 6 };
};
struct LiteType {
  enum : int8_t { kFloat32 = 0, kInt32 = 2, kUint8 = 3, kInt8 = 9 };
};
struct LiteOp {
  enum : int32_t { kConv = 3, kDepthwiseConv = 4, kFullyConnected = 9 };
};

constexpr int64_t kMostElements = int64_t{1} << 31;
constexpr size_t kMostLayers = 10'000;

// A tensor of the file, not converted; `data` points into the mapping.
struct LiteTensor {
  std::string name;
  std::vector<int64_t> shape;
  int8_t type = 0;
  std::span<const std::byte> data;
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
  int32_t axis = 0;

  int64_t count() const { return Shape(shape).num_elements(); }
};

size_t element_bytes(int8_t type, std::string_view origin, const std::string& name) {
  switch (type) {
    case LiteType::kFloat32:
    case LiteType::kInt32:
      return 4;
    case LiteType::kUint8:
    case LiteType::kInt8:
      return 1;
    default:
      throw_error("{}: tensor '{}' has elements of type {}, expected float32, int32, uint8 or int8",
                  origin, name, type);
  }
}

double raw_element(const LiteTensor& tensor, int64_t index) {
  const std::byte* data = tensor.data.data();
  const auto at = static_cast<size_t>(index);
  switch (tensor.type) {
    case LiteType::kUint8:
      return static_cast<uint8_t>(data[at]);
    case LiteType::kInt8:
      return static_cast<int8_t>(data[at]);
    case LiteType::kInt32: {
      int32_t value = 0;
      std::memcpy(&value, data + at * sizeof value, sizeof value);
      return value;
    }
    default: {
      float value = 0;
      std::memcpy(&value, data + at * sizeof value, sizeof value);
      return static_cast<double>(value);
    }
  }
}

// Row-major, as in the file.
std::vector<float> floats_of(const LiteTensor& tensor, std::string_view origin) {
  const int64_t count = tensor.count();
  std::vector<float> values(static_cast<size_t>(count));
  const size_t scales = tensor.scales.size();
  int64_t inner = 1;
  int64_t channels = 1;
  if (scales > 1) {
    // Scales per channel (quantized_dimension of the schema). Elements are real = scale (q - zero
    // point).
    TY_REQUIRE(tensor.axis >= 0 && tensor.axis < static_cast<int64_t>(tensor.shape.size()) &&
                   tensor.shape[static_cast<size_t>(tensor.axis)] == static_cast<int64_t>(scales),
               "{}: tensor '{}' has {} scales, which are not one for each channel", origin,
               tensor.name, scales);
    channels = static_cast<int64_t>(scales);
    inner = Shape(tensor.shape).num_elements(tensor.axis + 1, Shape(tensor.shape).rank());
  }
  const bool quantized = tensor.type != LiteType::kFloat32;
  TY_REQUIRE(!quantized || scales > 0, "{}: tensor '{}' has whole numbers without a scale", origin,
             tensor.name);
  for (int64_t i = 0; i < count; ++i) {
    double value = raw_element(tensor, i);
    if (quantized) {
      const auto channel = static_cast<size_t>(i / inner % channels);
      // A single zero point may go with several scales.
      const size_t zero = tensor.zero_points.size() == scales ? channel : 0;
      if (!tensor.zero_points.empty()) value -= static_cast<double>(tensor.zero_points[zero]);
      value *= static_cast<double>(tensor.scales[channel]);
    }
    values[static_cast<size_t>(i)] = static_cast<float>(value);
  }
  return values;
}

// What of the file's four axes becomes each of ours: out, in, height, width.
using Axes = std::array<size_t, 4>;
constexpr Axes kConvAxes = {0, 3, 1, 2};
constexpr Axes kDepthwiseAxes = {3, 0, 1, 2};

class TfliteWeights final : public WeightsFile {
 public:
  explicit TfliteWeights(const std::filesystem::path& path)
      : path_(path.string()), mapping_(path), file_{mapping_.bytes(), path_} {
    const FlatTable model(file_, file_.follow(0));
    const auto version = model.number<uint32_t>(ModelField::kVersion, 0);
    TY_REQUIRE(version == kSchemaVersion, "{}: a network of schema {}, expected {}", path_, version,
               kSchemaVersion);
    const std::vector<FlatTable> graphs = model.tables(ModelField::kSubgraphs);
    TY_REQUIRE(graphs.size() == 1, "{}: {} graphs, expected one", path_, graphs.size());
    const std::vector<FlatTable> codes = model.tables(ModelField::kCodes);
    const std::vector<FlatTable> tensors = graphs[0].tables(SubgraphField::kTensors);
    const std::vector<FlatTable> buffers = model.tables(ModelField::kBuffers);
    for (const FlatTable& op : graphs[0].tables(SubgraphField::kOperators)) {
      const auto index = op.number<uint32_t>(OperatorField::kCode, 0);
      TY_REQUIRE(index < codes.size(), "{}: an operator of kind {} of {}", path_, index,
                 codes.size());
      // Old files have the code in a byte field, new ones in an int32 field too; the larger one is
      // meant, since the byte saturates at 127 (schema, BuiltinOperator).
      const int32_t code = std::max<int32_t>(codes[index].number<int8_t>(CodeField::kOldCode, 0),
                                             codes[index].number<int32_t>(CodeField::kCode, 0));
      if (code == LiteOp::kConv || code == LiteOp::kDepthwiseConv ||
          code == LiteOp::kFullyConnected) {
        add_layer(code, op.numbers<int32_t>(OperatorField::kInputs), tensors, buffers);
      }
    }
    TY_REQUIRE(!tensors_.empty(),
               "{}: no convolutions with weights; a network compiled for an accelerator has none "
               "that can be read",
               path_);
  }

  std::string_view format() const override { return "TensorFlow Lite"; }
  bool is_ordered() const override { return true; }

  Tensor tensor(size_t index) const override {
    const Source& source = sources_[index];
    const std::vector<float> values = floats_of(source.tensor, path_);
    const Tensor flat = Tensor::of<float>(Shape(source.tensor.shape), values);
    Tensor result(tensors_[index].type);
    if (!source.axes) {
      std::memcpy(result.data(), flat.data(), static_cast<size_t>(result.num_bytes()));
      return result;
    }
    const std::vector<int64_t> strides = flat.shape().strides();
    std::vector<int64_t> from;
    for (const size_t axis : *source.axes) from.push_back(strides[axis]);
    copy_strided(result.shape().dims(), dtype_size(DType::kF32), flat.data(), from, result.data(),
                 result.shape().strides());
    return result;
  }

 private:
  struct Source {
    LiteTensor tensor;
    std::optional<Axes> axes;  // none: as it is
  };

  LiteTensor read_tensor(int32_t index, const std::vector<FlatTable>& tensors,
                         const std::vector<FlatTable>& buffers) const {
    TY_REQUIRE(index >= 0 && static_cast<size_t>(index) < tensors.size(),
               "{}: an operator uses tensor {} of {}", path_, index, tensors.size());
    const FlatTable& table = tensors[static_cast<size_t>(index)];
    LiteTensor tensor;
    tensor.name = table.text(TensorField::kName);
    for (const int32_t dim : table.numbers<int32_t>(TensorField::kShape)) {
      TY_REQUIRE(dim >= 0, "{}: tensor '{}' has a dimension of {}", path_, tensor.name, dim);
      tensor.shape.push_back(dim);
    }
    tensor.type = table.number<int8_t>(TensorField::kType, 0);
    const auto buffer = table.number<uint32_t>(TensorField::kBuffer, 0);
    TY_REQUIRE(buffer < buffers.size(), "{}: tensor '{}' is in buffer {} of {}", path_, tensor.name,
               buffer, buffers.size());
    tensor.data = buffers[buffer].bytes(0);
    const size_t bytes = element_bytes(tensor.type, path_, tensor.name);
    // Activations have no buffer of their own, so they fail here as well.
    TY_REQUIRE(tensor.shape.size() <= 4 && checked_count(tensor) * bytes == tensor.data.size(),
               "{}: tensor '{}' of shape {} has {} bytes of data; expected constant weights", path_,
               tensor.name, Shape(tensor.shape).to_string(), tensor.data.size());
    if (table.has(TensorField::kQuantization)) {
      const FlatTable scale = table.table(TensorField::kQuantization, "a quantization");
      tensor.scales = scale.numbers<float>(QuantizationField::kScale);
      tensor.zero_points = scale.numbers<int64_t>(QuantizationField::kZeroPoint);
      tensor.axis = scale.number<int32_t>(QuantizationField::kAxis, 0);
    }
    return tensor;
  }

  // Clamped so that the product with the element size cannot overflow; a clamped count matches no
  // file.
  static size_t checked_count(const LiteTensor& tensor) {
    const int64_t count = tensor.count();
    return static_cast<size_t>(std::min(count, kMostElements));
  }

  // Inputs of all three operators: activations, weights, bias, which may be absent (-1).
  void add_layer(int32_t code, const std::vector<int32_t>& inputs,
                 const std::vector<FlatTable>& tensors, const std::vector<FlatTable>& buffers) {
    TY_REQUIRE(inputs.size() >= 2, "{}: a convolution without weights", path_);
    TY_REQUIRE(sources_.size() < kMostLayers, "{}: more than {} layers", path_, kMostLayers);
    const std::string layer = fmt::format("layer{:02}", layers_++);
    LiteTensor weight = read_tensor(inputs[1], tensors, buffers);
    const bool linear = code == LiteOp::kFullyConnected;
    TY_REQUIRE(weight.shape.size() == (linear ? 2U : 4U), "{}: the weights '{}' are {}", path_,
               weight.name, Shape(weight.shape).to_string());
    std::optional<Axes> axes;
    if (!linear) axes = code == LiteOp::kConv ? kConvAxes : kDepthwiseAxes;
    add(layer + ".weight", std::move(weight), axes);
    if (inputs.size() > 2 && inputs[2] >= 0) {
      add(layer + ".bias", read_tensor(inputs[2], tensors, buffers), std::nullopt);
    }
  }

  void add(const std::string& name, LiteTensor tensor, std::optional<Axes> axes) {
    std::vector<int64_t> dims = tensor.shape;
    for (size_t i = 0; axes && i < dims.size(); ++i) dims[i] = tensor.shape[(*axes)[i]];
    // Bounds what tensors() may ask for: without it a small file could name one buffer ten thousand
    // times.
    checked_add(bytes_, static_cast<int64_t>(tensor.data.size()));
    TY_REQUIRE(bytes_ <= static_cast<int64_t>(mapping_.bytes().size()),
               "{}: its layers share their weights, which convolutional networks do not", path_);
    notes_.push_back({name, tensor.name});
    tensors_.push_back({name, {DType::kF32, Shape(std::move(dims))}});
    sources_.push_back({std::move(tensor), axes});
  }

  std::string path_;
  MappedFile mapping_;
  FlatFile file_;
  std::vector<Source> sources_;
  int layers_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace

// The identifier of a FlatBuffers file stands behind the offset of its root table.
bool is_tflite_file(std::span<const std::byte> beginning) {
  constexpr std::string_view kIdentifier = "TFL3";
  return beginning.size() >= 8 &&
         std::memcmp(beginning.data() + 4, kIdentifier.data(), kIdentifier.size()) == 0;
}

std::unique_ptr<WeightsFile> open_tflite_file(const std::filesystem::path& path) {
  return std::make_unique<TfliteWeights>(path);
}

}  // namespace trainyard::runs
