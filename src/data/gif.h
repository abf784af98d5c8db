// Moving pictures: GIF89a files.
#pragma once

#include <span>
#include <string>

#include "data/image.h"

namespace trainyard::data {

// All pictures have the size of the first, and are shown for so long each, again and again. Their
// colors are exact if there are no more than 256 of them, otherwise the nearest of a cube of 6 by 6
// by 6. Throws Error if there is no picture or sizes differ.
std::string encode_gif(std::span<const Image> pictures, int hundredths);

}  // namespace trainyard::data
