// What a file with a network says of itself beside the graph: how pictures become its input, and
// what its classes are called. Written and read here alone, by all who train, convert, quantize,
// run, serve or judge a network.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "data/dataset.h"
#include "data/image.h"
#include "models/onnx/metadata.h"
#include "tensor/tensor.h"

namespace trainyard::network {

struct Preparation {
  // As data::Augmentations takes them, without what is random.
  std::string steps;
  // Of pictures before the steps: they get its channels and, where it is fixed, its size. None: the
  // channels of the network's input, any size.
  std::optional<data::PictureShape> picture = {};
};

// None: the file does not say. Throws Error for a shape that is none.
std::optional<Preparation> preparation_of(const onnx_io::Metadata& metadata);
void note_preparation(const Preparation& preparation, onnx_io::Metadata& metadata);

// See onnx_io::class_names() for the way back.
void note_classes(std::span<const std::string> names, onnx_io::Metadata& metadata);

// Which of a run's weights the file has, in words; empty: the file does not say.
std::string weights_of(const onnx_io::Metadata& metadata);
void note_weights(const std::string& words, onnx_io::Metadata& metadata);

// The preparation of a network that takes `input`, from steps that somebody gives without a data
// set. Where they make the input of pictures of one size only, pictures are brought to the size of
// the input first. Throws Error if the steps do not lead to the input, or would measure pictures.
Preparation preparation_for(const std::string& steps, const data::PictureShape& input);

// f32[1, channels, height, width]. Throws Error if the steps do not lead to the input.
Tensor picture_tensor(const data::Image& image, const Preparation& preparation,
                      const data::PictureShape& input);

// What makes the input of the pictures of a data set, as data::Augmentations takes it.
std::string steps_for(const Preparation& preparation, const data::Dataset& pictures);

}  // namespace trainyard::network
