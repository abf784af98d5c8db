#include "tensor/layout.h"

#include <set>

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Layout, ChannelBlocksPadTheLastBlock) {
  const Shape shape{2, 12, 3, 5};
  const Layout layout = Layout::channel_blocks(shape, 8);
  EXPECT_EQ(layout.strides(), (std::vector<int64_t>{2 * 3 * 5 * 8, 3 * 5 * 8, 5 * 8, 8}));
  EXPECT_EQ(layout.span_elements(shape), 2 * 16 * 15);
  EXPECT_EQ(layout.offset(shape, std::vector<int64_t>{1, 9, 2, 4}), 240 + 120 + 2 * 40 + 4 * 8 + 1);
  EXPECT_EQ(layout.to_string(shape), "aBcd8b");
  EXPECT_EQ(Layout().to_string(shape), "row-major");
}

TEST(Layout, EveryElementHasAPlaceOfItsOwn) {
  const Shape shape{3, 20, 2, 7};
  for (const Layout& layout :
       {Layout(), Layout::channel_blocks(shape, 8),
        Layout::dense(shape, std::vector<int64_t>{1, 0, 2, 3}, {{0, 2}, {1, 4}})}) {
    std::set<int64_t> seen;
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      const std::vector<int64_t> index = {i / 280, i / 14 % 20, i / 7 % 2, i % 7};
      const int64_t offset = layout.offset(shape, index);
      EXPECT_LT(offset, layout.span_elements(shape));
      EXPECT_TRUE(seen.insert(offset).second);
    }
  }
}

TEST(Layout, PlacementIsTheSameWhereOnlyTheNotationDiffers) {
  const Shape pooled{4, 16, 1, 1};
  EXPECT_TRUE(same_placement(Layout(), Layout::channel_blocks(pooled, 8), pooled));
  EXPECT_TRUE(same_placement(Layout(), Layout::dense(pooled, std::vector<int64_t>{0, 2, 3, 1}, {}),
                             pooled));
  const Shape padded{4, 20, 1, 1};
  EXPECT_FALSE(same_placement(Layout(), Layout::channel_blocks(padded, 8), padded));
  const Shape image{1, 16, 4, 4};
  EXPECT_FALSE(same_placement(Layout(), Layout::channel_blocks(image, 8), image));
  EXPECT_FALSE(same_placement(Layout::dense(image, std::vector<int64_t>{0, 2, 3, 1}, {}),
                              Layout::channel_blocks(image, 8), image));
}

TEST(Layout, APartOfABufferDiffersFromADenseOneUnlessThereIsOneImage) {
  const Shape whole{2, 16, 4, 4};
  const Layout layout = Layout::channel_blocks(whole, 8);
  const Shape part{2, 8, 4, 4};
  EXPECT_FALSE(same_placement(layout, Layout::channel_blocks(part, 8), part));
  EXPECT_EQ(layout.to_string(part), "aBcd8b (part)");
  const Shape one{1, 8, 4, 4};
  EXPECT_TRUE(same_placement(layout, Layout::channel_blocks(one, 8), one));
}

TEST(Layout, KnowsWhetherSamplesLieOneAfterAnotherWithoutGaps) {
  const Shape whole{2, 16, 4, 4};
  const Layout blocks = Layout::channel_blocks(whole, 8);
  const auto ordered = [&](std::vector<int64_t> order) { return Layout::dense(whole, order, {}); };
  EXPECT_TRUE(Layout().is_sample_by_sample(whole));
  EXPECT_TRUE(blocks.is_sample_by_sample(whole));
  EXPECT_TRUE(ordered({0, 2, 3, 1}).is_sample_by_sample(whole));
  EXPECT_FALSE(ordered({1, 0, 2, 3}).is_sample_by_sample(whole));
  EXPECT_FALSE(Layout::on_device().is_sample_by_sample(whole));
  EXPECT_FALSE(blocks.is_sample_by_sample({2, 8, 4, 4}));   // a part of the channels
  EXPECT_FALSE(blocks.is_sample_by_sample({2, 12, 4, 4}));  // padding
  EXPECT_TRUE(blocks.is_sample_by_sample({1, 8, 4, 4}));
}

}  // namespace
}  // namespace trainyard
