#include "base/content_pool.h"

#include <vector>

#include <gtest/gtest.h>

namespace trainyard {
namespace {

std::shared_ptr<std::vector<int>> numbers(std::vector<int> values) {
  return std::make_shared<std::vector<int>>(std::move(values));
}

TEST(ContentPool, GivesWhatIsThereForEqualBytes) {
  ContentPool pool;
  const auto share = [&](const std::shared_ptr<std::vector<int>>& values) {
    return pool.share(values, values->data(), values->size() * sizeof(int)).data;
  };
  const auto first = numbers({1, 2, 3});
  const auto equal = numbers({1, 2, 3});
  const auto other = numbers({1, 2, 4});
  EXPECT_EQ(share(first), first->data());
  EXPECT_EQ(share(equal), first->data());
  EXPECT_EQ(share(other), other->data());
  EXPECT_EQ(share(numbers({1, 2})) == first->data(), false);
}

TEST(ContentPool, KeepsNothingAlive) {
  ContentPool pool;
  auto first = numbers({7});
  const std::weak_ptr<std::vector<int>> seen = first;
  pool.share(first, first->data(), sizeof(int));
  first.reset();
  EXPECT_TRUE(seen.expired());
  const auto again = numbers({7});
  EXPECT_EQ(pool.share(again, again->data(), sizeof(int)).data, again->data());
}

}  // namespace
}  // namespace trainyard
