// What differs between libtorch's devices: which there are, and how one waits for them.
#pragma once

#include <ATen/ATen.h>
#include <string>
#include <vector>

namespace trainyard::torch_plugin {

// "cpu", "cuda:0" …, "mps": what this libtorch was built for and finds here.
std::vector<std::string> device_names();

// Until everything asked for has happened.
void finish_device(const at::Device& device);
// Products of matrices and convolutions may round their inputs to 10 bits of mantissa. Throws for a
// device that has no such arithmetic.
void allow_tf32(const at::Device& device, bool allow);

}  // namespace trainyard::torch_plugin
