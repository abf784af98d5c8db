// Files of torch.save: the zip format (since PyTorch 1.6) and the older one, as data alone.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "runs/weights/weights_file.h"

namespace trainyard::runs {

// How many bytes is_torch_file() wants to see, if there are as many.
constexpr size_t kTorchMagicBytes = 15;
bool is_torch_file(std::span<const std::byte> beginning);

// Throws Error with file and byte for what is damaged, and with its name for anything that is not
// a tensor, a dictionary, a list, a number or a text.
std::unique_ptr<WeightsFile> open_torch_file(const std::filesystem::path& path);

}  // namespace trainyard::runs
