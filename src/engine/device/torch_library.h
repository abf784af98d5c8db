// libtrainyard_torch.so, which is linked to libtorch as this program is not. Opened when somebody
// asks for it.
#pragma once

#include <string>

#include "engine/device/torch_interface.h"

namespace trainyard::device {

// Null if it is not there or does not fit; torch_library_missing() says why and what to do.
//
// The first of these that exists: what TRAINYARD_TORCH names, beside the program, and
// lib/trainyard beside the folder of the program.
const TorchInterface* torch_library();
std::string torch_library_missing();

}  // namespace trainyard::device
