// The body of a request.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "http/memory_budget.h"

namespace trainyard::serve {

// Bytes that live as long as somebody holds them; copying shares them. Empty: there is none.
class Body {
 public:
  Body() = default;
  explicit Body(std::string text) {
    auto kept = std::make_shared<const std::string>(std::move(text));
    bytes_ = *kept;
    owner_ = std::move(kept);
  }
  // With what it has taken of the memory there is for all.
  Body(std::string text, MemoryBudget::Share share) {
    struct Kept {
      std::string text;
      MemoryBudget::Share share;
    };
    auto kept = std::make_shared<const Kept>(Kept{std::move(text), std::move(share)});
    bytes_ = kept->text;
    owner_ = std::move(kept);
  }
  Body(std::shared_ptr<const void> owner, std::string_view bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  std::string_view operator*() const { return bytes_; }
  const std::string_view* operator->() const { return &bytes_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
};

}  // namespace trainyard::serve
