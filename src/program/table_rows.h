// Rows of a table through a network: what `run` reads of a file, and how it shows what comes out.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/onnx/declared_input.h"
#include "models/onnx/metadata.h"
#include "program/given_inputs.h"
#include "report/document.h"
#include "tensor/tensor.h"

namespace trainyard::cli {

// The rows of a file as the network takes them. Throws Error if its file does not say what columns
// mean.
Tensor read_table_input(const std::string& file, const onnx_io::Metadata& metadata);

// f32[rows, columns] by the name of the input, for those whose batch the model leaves open.
void add_table_shapes(const std::vector<onnx_io::DeclaredInput>& declared,
                      const std::vector<std::string>& texts, const onnx_io::Metadata& metadata,
                      std::map<std::string, Shape>& shapes);

// What the network foretells for each row: a number, or the most probable class. False if the
// output has neither, or the network was not trained on a table.
bool add_foretold(const Tensor& output, const onnx_io::Metadata& metadata,
                  std::span<const std::string> labels, report::Document& document, Json& entry);

}  // namespace trainyard::cli
