// A picture of any size as the input of a network that was trained on a data set.
#pragma once

#include <string>

#include "data/image.h"
#include "data/pixels.h"
#include "tensor/tensor.h"

namespace trainyard::data {

// "1x28x28" as PictureShape::to_string() writes it. Throws Error for anything else.
PictureShape parse_picture_shape(const std::string& text);

// f32[1, channels, height, width]: the picture with the channels and, where it is fixed, the size
// of the set's own (`picture`), then the steps of Augmentations::evaluation_text().
Tensor apply_steps(const Image& image, const PictureShape& picture, const std::string& steps);

// The steps without what is random, for pictures of this shape. Throws Error for steps that are
// none. What would be measured is measured of a black picture: not for normalize without numbers.
std::string evaluation_steps(const std::string& steps, const PictureShape& picture);

}  // namespace trainyard::data
