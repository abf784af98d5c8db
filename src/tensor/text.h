// Elements of DType::kText: each is the number of a text that the process keeps once, so that
// tensors of texts are moved and compared like tensors of numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace trainyard {

// Equal texts have equal numbers; that of the empty text is 0. Any thread may call. Texts stay
// for the life of the process: throws Error when all of them would take more than 256 MiB.
uint64_t text_number(std::string_view text);

// Throws Error for a number that no text has: the bytes came from elsewhere.
std::string_view text_of(uint64_t number);

inline std::string_view text_at(const TensorView& view, int64_t index) {
  return text_of(view.as<const uint64_t>()[index]);
}

// As many texts as the shape has elements.
Tensor text_tensor(const Shape& shape, std::span<const std::string> texts);

// Numbers as people write them ("0.25", "NaN", "INF") and back; one side is of type kText. Throws
// Error for a text that is no number.
void cast_texts(const TensorView& from, const TensorView& to);

}  // namespace trainyard
