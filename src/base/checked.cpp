#include "base/checked.h"

#include "base/error.h"

namespace trainyard {

int64_t checked_product(std::initializer_list<int64_t> factors) {
  constexpr int64_t kLargest = int64_t{1} << 59U;
  int64_t product = 1;
  for (const int64_t factor : factors) {
    const bool overflow = __builtin_mul_overflow(product, factor, &product);
    TY_REQUIRE(!overflow && product <= kLargest,
               "the network computes more than can be counted; use smaller shapes");
  }
  return product;
}

void checked_add(int64_t& sum, int64_t part) {
  constexpr int64_t kLargest = int64_t{1} << 62U;
  TY_REQUIRE(part <= kLargest - sum,
             "the network holds or computes more than can be counted; use smaller shapes");
  sum += part;
}

}  // namespace trainyard
