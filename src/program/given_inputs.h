// --input of `run`: files for the inputs of a network, and the shapes that they bring.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/onnx/declared_input.h"
#include "tensor/shape.h"

namespace trainyard::cli {

// Beyond it a picture is refused.
inline constexpr int64_t kLargestSide = 8192;

struct GivenInput {
  size_t index = 0;  // of the network's inputs
  std::string file;  // .npy, .jpg, .jpeg, .png, or "random"
};

// Texts are NAME=FILE, or FILE for the only input. Throws Error for a name that is not there.
std::vector<GivenInput> parse_given(const std::vector<std::string>& texts,
                                    const std::vector<std::string>& names);

bool is_picture_file(const std::string& file);

struct OpenDimensions {
  std::optional<int64_t> batch = {};  // --batch, which stands for an open first dimension
  int64_t resize = 0;                 // --resize: shorter side of a picture; 0: its own
};

// Shapes by the name of the input, for those with dimensions that the file of the model leaves
// open: an array brings its own, a picture its height and width (in the proportion of the picture
// where one of the two is fixed). Throws Error naming the input if a file does not fit.
std::map<std::string, Shape> shapes_of_files(const std::vector<onnx_io::DeclaredInput>& declared,
                                             const std::vector<std::string>& texts,
                                             const OpenDimensions& options);

}  // namespace trainyard::cli
