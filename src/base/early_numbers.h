// The numbers of a long list in a text that is still arriving.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace trainyard {

// Reads 32-bit floats from the first long list of a JSON text while the rest of it is on its way,
// so that little is left to do once it is there. A guess: JsonReader takes the numbers only where
// it would have read them itself, and nothing else depends on them.
class EarlyNumbers {
 public:
  // Of a text that will have so many bytes; lists behind its first ones are not looked for.
  explicit EarlyNumbers(size_t text_bytes) : text_bytes_(text_bytes) {}

  // What is there of the text so far: each time at the same address, and longer.
  void feed(std::string_view so_far);

  // The numbers behind the comma at `at`, and where the next one would follow; empty if none were
  // read from there.
  std::span<const float> from(const char* at) const {
    return at == begin_ ? std::span<const float>(numbers_.get(), count_) : std::span<const float>();
  }
  const char* end() const { return at_; }

 private:
  bool find_list(std::string_view so_far);

  size_t text_bytes_;
  const char* begin_ = nullptr;  // the comma behind the list's first number
  const char* at_ = nullptr;
  bool looking_ = true;
  std::unique_ptr<float[]> numbers_;
  size_t count_ = 0;
  size_t room_ = 0;
};

}  // namespace trainyard
