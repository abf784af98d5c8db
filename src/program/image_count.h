// The images of a dataset on the command line.
#pragma once

#include <string>

namespace trainyard::cli {

// A known dataset's training images, or a number. `flag` names it in errors. Throws Error with the
// nearest name.
double parse_images(const std::string& text, const std::string& flag);

}  // namespace trainyard::cli
