#include "tensor/text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "base/error.h"
#include "tensor/text_scope.h"

namespace trainyard {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;

// Texts with numbers from `first` on, and their bytes.
class NumberedTexts {
 public:
  explicit NumberedTexts(uint64_t first) : first_(first) {}

  const uint64_t* find(std::string_view text) const {
    const auto known = numbers_.find(text);
    return known == numbers_.end() ? nullptr : &known->second;
  }
  uint64_t add(std::string_view text) {
    TY_REQUIRE(text.size() + kOverhead <= kMostBytes - bytes_,
               "the texts of tensors take more than {} MiB", kMostBytes >> 20);
    bytes_ += text.size() + kOverhead;
    const std::string& kept = texts_.emplace_back(text);
    return numbers_.emplace(kept, next() - 1).first->second;
  }
  bool has(uint64_t number) const { return number >= first_ && number < next(); }
  std::string_view at(uint64_t number) const { return texts_[number - first_]; }
  // The number of the next text.
  uint64_t next() const { return first_ + texts_.size(); }

 private:
  static constexpr size_t kOverhead = 96;  // of a text's entries, about

  uint64_t first_;
  std::deque<std::string> texts_;  // never moved
  std::unordered_map<std::string_view, uint64_t> numbers_;
  size_t bytes_ = 0;
};

thread_local bool in_scope = false;

class TextTable {
 public:
  TextTable() { lasting_.add(""); }

  uint64_t number_of(std::string_view text) {
    {
      const std::shared_lock lock(mutex_);
      if (const uint64_t* known = find(text)) return *known;
    }
    const std::unique_lock lock(mutex_);
    if (const uint64_t* known = find(text)) return *known;
    return (in_scope ? passing_ : lasting_).add(text);
  }

  std::string_view text_of(uint64_t number) {
    const std::shared_lock lock(mutex_);
    if (passing_.has(number)) return passing_.at(number);
    TY_REQUIRE(lasting_.has(number), "an element is no text");
    return lasting_.at(number);
  }

  // Numbers are not given again: what is left of a scope is no text rather than another one.
  void forget_passing() {
    const std::unique_lock lock(mutex_);
    passing_ = NumberedTexts(passing_.next());
  }

 private:
  // Those of the scope first: within it a text keeps its number, whatever others add meanwhile.
  const uint64_t* find(std::string_view text) const {
    const uint64_t* const passing = in_scope ? passing_.find(text) : nullptr;
    return passing != nullptr ? passing : lasting_.find(text);
  }

  std::shared_mutex mutex_;
  NumberedTexts lasting_{0};
  NumberedTexts passing_{uint64_t{1} << 63};
};

TextTable& table() {
  static TextTable texts;
  return texts;
}

std::mutex& scope_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::string text_of_element(const TensorView& view, int64_t index) {
  if (view.dtype == DType::kBool) return element_as_int(view, index) != 0 ? "True" : "False";
  if (view.dtype == DType::kU64) return fmt::format("{}", view.as<const uint64_t>()[index]);
  if (!is_float(view.dtype)) return fmt::format("{}", element_as_int(view, index));
  const double value = element_as_double(view, index);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  // As few digits as tell the number from its neighbors of the same type.
  return view.dtype == DType::kF64 ? fmt::format("{}", value)
                                   : fmt::format("{}", static_cast<float>(value));
}

// Whether all of `digits` is a number of that type; what is too large or too small for a double
// becomes infinity or zero.
template <typename T>
bool parse_number(std::string_view digits, T& value) {
  const char* const last = digits.data() + digits.size();
  const auto [end, problem] = std::from_chars(digits.data(), last, value);
  if (end != last || digits.empty()) return false;
  if constexpr (std::is_floating_point_v<T>) {
    if (problem == std::errc::result_out_of_range) {
      value = std::strtod(std::string(digits).c_str(), nullptr);
      return true;
    }
  }
  return problem == std::errc();
}

// Whole numbers exactly where they are asked for.
Tensor number_in(std::string_view text, bool whole) {
  const bool plus = text.starts_with('+') && !text.starts_with("+-");
  const std::string_view digits = plus ? text.substr(1) : text;
  int64_t i64 = 0;
  uint64_t u64 = 0;
  double f64 = 0;
  if (whole && parse_number(digits, i64)) return Tensor::scalar(i64);
  if (whole && parse_number(digits, u64)) return Tensor::scalar(u64);
  TY_REQUIRE(parse_number(digits, f64), "'{}' is no number", text);
  return Tensor::scalar(f64);
}

}  // namespace

TextScope::TextScope() {
  scope_mutex().lock();
  in_scope = true;
}

TextScope::~TextScope() {
  table().forget_passing();
  in_scope = false;
  scope_mutex().unlock();
}

uint64_t text_number(std::string_view text) {
  return table().number_of(text);
}

std::string_view text_of(uint64_t number) {
  return table().text_of(number);
}

Tensor text_tensor(const Shape& shape, std::span<const std::string> texts) {
  Tensor tensor(DType::kText, shape);
  TY_REQUIRE(tensor.num_elements() == static_cast<int64_t>(texts.size()),
             "its shape {} wants {} texts, it has {}", shape.to_string(), tensor.num_elements(),
             texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    static_cast<uint64_t*>(tensor.data())[i] = text_number(texts[i]);
  }
  return tensor;
}

void cast_texts(const TensorView& from, const TensorView& to) {
  for (int64_t i = 0; i < from.num_elements(); ++i) {
    if (to.dtype == DType::kText) {
      to.as<uint64_t>()[i] = text_number(text_of_element(from, i));
      continue;
    }
    const Tensor number = number_in(text_at(from, i), is_integer(to.dtype));
    const Shape one;
    auto* place = to.as<std::byte>() + i * dtype_size(to.dtype);
    cast_elements(number.view(), {to.dtype, &one, place});
  }
}

}  // namespace trainyard
