// `run --expect`: outputs that were computed elsewhere for the same inputs, and how far ours are
// from them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "report/document.h"
#include "tensor/tensor.h"

namespace trainyard::cli {

using NamedTensors = std::map<std::string, Tensor>;

// F.npz (stored, as numpy.savez writes it), F.npy of the only output, or a folder of NAME.npy as
// `run --output` writes it. Outputs that it does not have are left out. Throws Error if it has none
// of these names.
NamedTensors read_expected(const std::string& path, const std::vector<std::string>& names);

// What ONNX Runtime gives, in a process of python3. Throws Error if it is not installed or does not
// take the file.
NamedTensors outputs_of_onnxruntime(const std::string& model, const NamedTensors& inputs,
                                    const std::vector<std::string>& names);

struct Tolerance {
  double absolute = 1e-5;
  double relative = 0;
};

// Adds a table to the document and `expected` to its data: {agree, tolerance, relative, outputs:
// [{name, elements, largest, beyond}]}. An element agrees if |ours - theirs| <= absolute + relative
// |theirs|; NaN agrees with NaN. Returns whether all do. Throws Error for another shape.
bool add_comparison(report::Document& document, const std::string& source, const NamedTensors& ours,
                    const NamedTensors& theirs, const Tolerance& tolerance);

}  // namespace trainyard::cli
