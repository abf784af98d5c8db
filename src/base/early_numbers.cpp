#include "base/early_numbers.h"

#include "base/error.h"
#include "base/json_reader.h"
#include "base/number_list.h"

namespace trainyard {
namespace {

constexpr size_t kHead = 4096;     // of a text, in which its list begins
constexpr size_t kLongList = 256;  // numbers; a shape has less

// Numbers behind the comma at `at`, as far as they are there for certain; moves `at` behind them.
size_t read_on(const char* begin, const char*& at, const char* end, float* out, size_t most) {
  constexpr ptrdiff_t kMargin = 256;  // a longer number is not read here
  size_t count = 0;
  while (count < most && end - at > kMargin && *at == ',') {
    if (const size_t many = read_number_list(begin, at, end, out + count, most - count)) {
      count += many;
      continue;
    }
    // One of another form, as 1e-5.
    JsonReader reader(std::string_view(at + 1, static_cast<size_t>(kMargin)), "");
    try {
      out[count] = reader.number_f32();
    } catch (const Error&) {
      break;
    }
    const char* const behind = at + 1 + reader.position();
    if (*behind != ',' && *behind != ']') break;
    at = behind;
    ++count;
  }
  return count;
}

bool in_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ' ';
}

}  // namespace

// At a bracket, a number and a comma from which on there are many.
bool EarlyNumbers::find_list(std::string_view so_far) {
  const std::string_view head = so_far.substr(0, kHead);
  for (size_t open = head.find('['); open != std::string_view::npos;
       open = head.find('[', open + 1)) {
    size_t comma = open + 1;
    while (comma < head.size() && in_number(head[comma])) ++comma;
    if (comma >= head.size() || head[comma] != ',') continue;
    float first[kLongList];
    const char* at = head.data() + comma;
    if (read_on(head.data(), at, so_far.data() + so_far.size(), first, kLongList) < kLongList) {
      continue;
    }
    begin_ = at_ = head.data() + comma;
    return true;
  }
  return false;
}

void EarlyNumbers::feed(std::string_view so_far) {
  if (looking_ && so_far.size() >= 2 * kHead) {
    looking_ = false;
    if (so_far.substr(0, kHead).find("FP32") == std::string_view::npos) return;
    if (!find_list(so_far)) return;
    // No number takes less than two bytes; memory that is not used costs nothing.
    room_ = (text_bytes_ - static_cast<size_t>(begin_ - so_far.data())) / 2 + 1;
    numbers_ = std::make_unique_for_overwrite<float[]>(room_);
  }
  if (begin_ == nullptr) return;
  const char* const end = so_far.data() + so_far.size();
  count_ += read_on(so_far.data(), at_, end, numbers_.get() + count_, room_ - count_);
}

}  // namespace trainyard
