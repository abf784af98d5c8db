// Files for the outputs of a network, one each, whatever their names are.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace trainyard::cli {

// NAME.npy for each. Letters that would leave the folder become '_', and long names are cut; where
// two would then share a file, a number follows ("a_b-2.npy"). Names that can stay as they are do.
std::vector<std::string> output_files(std::span<const std::string> names);

}  // namespace trainyard::cli
