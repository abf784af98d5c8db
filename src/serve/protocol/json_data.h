// The numbers of a tensor as JSON holds them: flat, or nested as its shape says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "tensor/tensor.h"

namespace trainyard::serve {

// The number of elements; throws RequestError for a negative dimension or one too many, and for
// more than any request may bring. `where` names the tensor.
int64_t count_elements(const std::vector<int64_t>& shape, std::string_view where);

// Reads the value that comes next. Throws Error saying what was expected where.
Tensor read_numbers(JsonReader& reader, DType dtype, const std::vector<int64_t>& shape,
                    std::string_view where);
// All texts of the value, nested or not.
std::vector<std::string> read_texts(JsonReader& reader);

// Appends the elements as one flat array. NaN and infinities, which JSON does not have, are null.
void append_numbers(std::string& out, const Tensor& tensor);
// In quotes, with escapes.
void append_text(std::string& out, std::string_view text);

}  // namespace trainyard::serve
