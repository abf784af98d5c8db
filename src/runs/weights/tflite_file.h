// Networks of TensorFlow Lite: the weights of their convolutions and linear layers, as floats.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "runs/weights/weights_file.h"

namespace trainyard::runs {

// `beginning`: the first 8 bytes.
bool is_tflite_file(std::span<const std::byte> beginning);

// The layers in the order in which they run, named layer00.weight, layer00.bias, …; convolutions
// are out x in x height x width, depthwise ones out x 1 x height x width. Quantized numbers (8 bits
// with or without sign, one scale or one for each channel) become floats. Throws Error with file
// and byte for what is damaged or of another kind.
std::unique_ptr<WeightsFile> open_tflite_file(const std::filesystem::path& path);

}  // namespace trainyard::runs
