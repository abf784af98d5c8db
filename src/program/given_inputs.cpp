#include "program/given_inputs.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/image.h"
#include "tensor/npy.h"

namespace trainyard::cli {
namespace {

using Dims = std::vector<onnx_io::DeclaredDim>;

constexpr size_t kPictureRank = 4;  // N x C x H x W

// Whether a dimension from `first` on has no size in the file.
bool is_open_from(const Dims& dims, size_t first) {
  return std::any_of(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end(),
                     [](const onnx_io::DeclaredDim& dim) { return !dim.value; });
}

int64_t scaled_side(int64_t side, double scale) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(side) * scale));
}

// Height and width of the network's input for this picture.
data::PictureSize fitted(const data::PictureSize& picture, const Dims& dims, int64_t resize) {
  const std::optional<int64_t>& height = dims[2].value;
  const std::optional<int64_t>& width = dims[3].value;
  const auto ratio = [](int64_t to, int64_t from) {
    return static_cast<double>(to) / static_cast<double>(from);
  };
  double scale = resize > 0 ? ratio(resize, std::min(picture.height, picture.width)) : 1.0;
  if (height) scale = ratio(*height, picture.height);
  if (width) scale = ratio(*width, picture.width);
  return {height.value_or(scaled_side(picture.height, scale)),
          width.value_or(scaled_side(picture.width, scale))};
}

std::optional<Shape> shape_of_picture(const onnx_io::DeclaredInput& input, const std::string& file,
                                      const OpenDimensions& options) {
  const Dims dims = input.dims.value_or(Dims(kPictureRank));
  if (dims.size() != kPictureRank || !is_open_from(dims, 2)) return std::nullopt;
  const data::PictureSize picture = data::picture_size(read_file(file));
  TY_REQUIRE(picture.height > 0 && picture.width > 0, "{}: no picture in JPEG, PNG, BMP or GIF",
             file);
  const data::PictureSize size = fitted(picture, dims, options.resize);
  TY_REQUIRE(std::max(size.height, size.width) <= kLargestSide,
             "input '{}': {} makes it {} x {}, more than {}; --resize makes pictures smaller",
             input.name, file, size.height, size.width, kLargestSide);
  return Shape{dims[0].value.value_or(options.batch.value_or(1)),
               dims[1].value.value_or(data::kColors), size.height, size.width};
}

// The array decides open dimensions, the file of the model all others: a contradiction is reported
// when the input is fed, with both shapes. No value: nothing is open.
std::optional<Shape> shape_of_array(const onnx_io::DeclaredInput& input, const std::string& file,
                                    const OpenDimensions& options) {
  const Shape came = read_npy(file).shape();
  if (!input.dims) return came;
  const Dims& dims = *input.dims;
  if (!is_open_from(dims, 0)) return std::nullopt;
  TY_REQUIRE(came.rank() == static_cast<int64_t>(dims.size()),
             "input '{}' has {} dimensions, {} has {}", input.name, dims.size(), file, came.rank());
  Shape shape = came;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t& dim = shape[static_cast<int64_t>(i)];
    if (i == 0) dim = options.batch.value_or(dim);
    dim = dims[i].value.value_or(dim);
  }
  return shape;
}

}  // namespace

std::vector<GivenInput> parse_given(const std::vector<std::string>& texts,
                                    const std::vector<std::string>& names) {
  std::vector<GivenInput> given;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    TY_REQUIRE(equals != std::string::npos || names.size() == 1,
               "--input {}: the model has {} inputs, so say NAME={}", text, names.size(), text);
    const std::string name = equals == std::string::npos ? names[0] : text.substr(0, equals);
    const std::string file = equals == std::string::npos ? text : text.substr(equals + 1);
    const auto found = std::find(names.begin(), names.end(), name);
    TY_REQUIRE(found != names.end(), "--input {}: the model has no input '{}', it has {}.{}", text,
               name, join(names, ", "), did_you_mean(name, names));
    given.push_back({static_cast<size_t>(found - names.begin()), file});
  }
  return given;
}

bool is_picture_file(const std::string& file) {
  return file.ends_with(".jpg") || file.ends_with(".jpeg") || file.ends_with(".png");
}

std::map<std::string, Shape> shapes_of_files(const std::vector<onnx_io::DeclaredInput>& declared,
                                             const std::vector<std::string>& texts,
                                             const OpenDimensions& options) {
  std::vector<std::string> names;
  for (const onnx_io::DeclaredInput& input : declared) names.push_back(input.name);
  std::map<std::string, Shape> shapes;
  for (const auto& [index, file] : parse_given(texts, names)) {
    const onnx_io::DeclaredInput& input = declared[index];
    std::optional<Shape> shape;
    if (is_picture_file(file)) {
      shape = shape_of_picture(input, file, options);
    } else if (file.ends_with(".npy")) {
      shape = shape_of_array(input, file, options);
    }
    if (shape) shapes.insert_or_assign(input.name, *std::move(shape));
  }
  return shapes;
}

}  // namespace trainyard::cli
