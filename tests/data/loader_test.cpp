#include "data/loader.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "data/count_allocations.h"
#include "data/fixture.h"
#include "support/error_message.h"

namespace trainyard::data {
namespace {

constexpr const char* kSet = "synthetic:3x8x8,classes=10,size=101";

struct Epoch {
  std::vector<float> images;
  std::vector<int64_t> labels;
  std::vector<int64_t> valid;
};

Epoch read_epoch(Loader& loader, int64_t epoch, int64_t first_batch = 0) {
  Epoch all;
  loader.start_epoch(epoch, first_batch);
  while (const Batch* batch = loader.next()) {
    const auto images = batch->images.values<float>();
    const auto labels = batch->labels.values<int64_t>();
    EXPECT_EQ(batch->index, first_batch + static_cast<int64_t>(all.valid.size()));
    all.images.insert(all.images.end(), images.begin(), images.end());
    all.labels.insert(all.labels.end(), labels.begin(), labels.end());
    all.valid.push_back(batch->valid);
  }
  return all;
}

LoaderOptions augmented(int64_t workers) {
  LoaderOptions options;
  options.batch = 8;
  options.shuffle = true;
  options.seed = 7;
  options.workers = workers;
  options.augmentations = "crop:2,flip,normalize";
  return options;
}

TEST(Loader, DoesNotDependOnTheNumberOfWorkers) {
  const auto set = open_dataset(kSet, Split::kTrain);
  Loader alone(*set, augmented(0));
  const Epoch expected = read_epoch(alone, 3);
  for (const int64_t workers : {1, 2, 5}) {
    Loader loader(*set, augmented(workers));
    for (int repeat = 0; repeat < 2; ++repeat) {
      const Epoch epoch = read_epoch(loader, 3);
      EXPECT_EQ(epoch.images, expected.images) << workers;
      EXPECT_EQ(epoch.labels, expected.labels) << workers;
    }
    EXPECT_NE(read_epoch(loader, 4).images, expected.images);
  }
}

TEST(Loader, ResumesInsideAnEpoch) {
  const auto set = open_dataset(kSet, Split::kTrain);
  Loader loader(*set, augmented(2));
  const Epoch whole = read_epoch(loader, 1);
  const Epoch rest = read_epoch(loader, 1, 5);
  EXPECT_EQ(rest.valid.size() + 5, whole.valid.size());
  EXPECT_TRUE(std::equal(rest.images.rbegin(), rest.images.rend(), whole.images.rbegin()));
  EXPECT_TRUE(read_epoch(loader, 1, loader.num_batches()).labels.empty());
  EXPECT_THROW(loader.start_epoch(1, loader.num_batches() + 1), Error);
}

TEST(Loader, GivesUpAnEpochThatIsLeft) {
  const auto set = open_dataset(kSet, Split::kTrain);
  Loader loader(*set, augmented(3));
  const Epoch expected = read_epoch(loader, 2);
  for (int64_t taken = 0; taken < 6; ++taken) {
    loader.start_epoch(9);
    for (int64_t i = 0; i < taken; ++i) loader.next();
    EXPECT_EQ(read_epoch(loader, 2).images, expected.images);
  }
}

TEST(Loader, PadsOrDropsTheLastBatch) {
  const auto set = open_dataset(kSet, Split::kTrain);
  LoaderOptions options = augmented(1);
  Loader keeping(*set, options);
  const Epoch kept = read_epoch(keeping, 0);
  EXPECT_EQ(kept.valid.size(), 13U);
  EXPECT_EQ(kept.valid.back(), 5);  // 101 = 12 * 8 + 5
  for (size_t i = kept.labels.size() - 3; i < kept.labels.size(); ++i) {
    EXPECT_EQ(kept.labels[i], kNoLabel);
  }
  EXPECT_TRUE(std::all_of(kept.images.end() - 3 * 3 * 8 * 8, kept.images.end(),
                          [](float value) { return value == 0; }));
  options.drop_last = true;
  Loader dropping(*set, options);
  EXPECT_EQ(read_epoch(dropping, 0).valid, std::vector<int64_t>(12, 8));
  options.batch = 200;
  EXPECT_THROW(Loader(*set, options), Error);
}

TEST(Loader, WithoutShufflingKeepsTheOrderAndTheBytes) {
  const auto folder = write_idx_folder("loader_plain", 6);
  const auto set = open_dataset(folder.string(), Split::kTrain);
  Loader loader(*set, {.batch = 3});
  const Epoch epoch = read_epoch(loader, 0);
  EXPECT_EQ(epoch.labels, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_FLOAT_EQ(epoch.images[6 * 4 + 2], 42.0F / 255.0F);
}

TEST(Loader, AllocatesNothingOnceItRuns) {
  const auto set = open_dataset("synthetic:3x8x8,size=512", Split::kTrain);
  // One thread: of two, one may get its first batch, and memory for it, in a later epoch.
  Loader loader(*set, augmented(1));
  loader.start_epoch(0);
  while (loader.next() != nullptr) continue;
  const int64_t before = count_allocations();
  EXPECT_GT(before, 0);
  for (int64_t epoch = 1; epoch < 3; ++epoch) {
    loader.start_epoch(epoch);
    while (loader.next() != nullptr) continue;
  }
  EXPECT_EQ(count_allocations(), before);
  EXPECT_GE(loader.wait_seconds(), 0);
}

TEST(Sampler, RanksShareEachEpoch) {
  for (const int64_t world : {1, 2, 3, 4}) {
    for (const int64_t size : {97, 96, 5}) {
      std::multiset<int64_t> seen;
      std::set<int64_t> batches;
      for (int64_t rank = 0; rank < world; ++rank) {
        Sampler sampler({.size = size, .batch = 4, .shuffle = true, .rank = rank, .world = world});
        sampler.start_epoch(6);
        batches.insert(sampler.num_batches());
        for (int64_t i = 0; i < sampler.num_batches(); ++i) {
          for (const int64_t sample : sampler.samples(i)) seen.insert(sample);
        }
      }
      std::vector<int64_t> all(static_cast<size_t>(size));
      std::iota(all.begin(), all.end(), 0);
      EXPECT_TRUE(std::equal(seen.begin(), seen.end(), all.begin(), all.end())) << world;
      EXPECT_EQ(batches.size(), 1U);
    }
  }
}

TEST(Sampler, ARoundIsTheSameHoweverItIsShared) {
  Sampler whole({.size = 64, .batch = 16, .shuffle = true});
  Sampler half({.size = 64, .batch = 8, .shuffle = true, .rank = 1, .world = 2});
  for (int64_t i = 0; i < whole.num_batches(); ++i) {
    const auto all = whole.samples(i);
    const auto part = half.samples(i);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 8));
  }
}

TEST(Sampler, EpochsAndSeedsDiffer) {
  const auto order = [](uint64_t seed, int64_t epoch) {
    Sampler sampler({.size = 50, .batch = 50, .shuffle = true, .seed = seed});
    sampler.start_epoch(epoch);
    const auto samples = sampler.samples(0);
    return std::vector<int64_t>(samples.begin(), samples.end());
  };
  EXPECT_EQ(order(1, 1), order(1, 1));
  EXPECT_NE(order(1, 1), order(1, 2));
  EXPECT_NE(order(1, 1), order(2, 1));
}

// Fails on one sample, as a damaged picture does.
class Damaged final : public Dataset {
 public:
  Damaged() : Dataset({.shape = {1, 2, 2}, .class_names = {"a"}, .source = "damaged"}) {}
  int64_t size() const override { return 40; }
  int64_t label(int64_t /*index*/) const override { return 0; }
  PixelView pixels(int64_t index, Pixels& room) const override {
    TY_REQUIRE(index != 21, "{} is damaged", sample_name(index));
    room.reshape(shape());
    std::fill(room.bytes.begin(), room.bytes.end(), uint8_t{0});
    return room.view();
  }
};

TEST(Loader, AnUnreadableSampleReachesTheConsumer) {
  const Damaged set;
  for (const int64_t workers : {0, 1, 3}) {
    Loader loader(set, {.batch = 4, .workers = workers});
    loader.start_epoch(0);
    for (int i = 0; i < 5; ++i) EXPECT_NE(loader.next(), nullptr);
    EXPECT_EQ(message_of([&] { loader.next(); }), "sample 21 of damaged is damaged");
  }
}

// Counts how often pictures are read.
class CountedSet final : public Dataset {
 public:
  explicit CountedSet(const Dataset& all)
      : Dataset({.shape = all.shape(), .class_names = all.class_names(), .source = all.source()}),
        all_(all) {}
  int64_t size() const override { return all_.size(); }
  int64_t label(int64_t index) const override { return all_.label(index); }
  PixelView pixels(int64_t index, Pixels& room) const override {
    ++reads;
    return all_.pixels(index, room);
  }
  mutable int64_t reads = 0;

 private:
  const Dataset& all_;
};

TEST(Loader, CopiesAreDrawnEachInItsOwnWayAndReadOnce) {
  const auto all = open_dataset(kSet, Split::kTrain);
  const CountedSet set(*all);
  LoaderOptions options = augmented(0);
  Loader plain(set, options);
  options.copies = 4;
  Loader whole(set, options);
  options.copies_at_once = 2;
  Loader parts(set, options);
  plain.start_epoch(1);
  const Batch& one = *plain.next();
  set.reads = 0;
  whole.start_epoch(1);
  const Batch& batch = *whole.next();
  EXPECT_EQ(set.reads, 8);
  EXPECT_EQ(batch.images.shape()[0], 32);
  EXPECT_EQ(batch.valid, 32);
  EXPECT_EQ(whole.num_batches(), plain.num_batches());
  const auto images = batch.images.values<float>();
  const auto first = one.images.values<float>();
  // The first copies are those of a plain batch, the second others of the same samples.
  EXPECT_TRUE(std::equal(first.begin(), first.end(), images.begin()));
  EXPECT_FALSE(std::equal(first.begin(), first.end(), images.begin() + 8 * 3 * 8 * 8));
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(batch.labels.values<int64_t>()[i], one.labels.values<int64_t>()[i % 8]);
  }
  set.reads = 0;
  parts.start_epoch(1);
  const Batch& half = *parts.next();
  EXPECT_EQ(set.reads, 8);
  ASSERT_EQ(half.more.size(), 1U);
  EXPECT_TRUE(
      std::equal(images.begin(), images.begin() + 16 * 192, half.images.values<float>().begin()));
  EXPECT_TRUE(std::equal(images.begin() + 16 * 192, images.end(),
                         half.more[0].images.values<float>().begin()));
  options.copies_at_once = 3;
  EXPECT_NE(message_of([&] { Loader(set, options); }).find("whole number of times"),
            std::string::npos);
}

TEST(Loader, AShortLastBatchHasItsCopiesInFront) {
  const auto set = open_dataset(kSet, Split::kTrain);
  LoaderOptions options = augmented(1);
  options.copies = 2;
  Loader loader(*set, options);
  loader.start_epoch(0, loader.num_batches() - 1);
  const Batch& last = *loader.next();
  EXPECT_EQ(last.valid, 2 * (101 % 8));
  EXPECT_NE(last.labels.values<int64_t>()[static_cast<size_t>(last.valid - 1)], kNoLabel);
  EXPECT_EQ(last.labels.values<int64_t>()[static_cast<size_t>(last.valid)], kNoLabel);
}

}  // namespace
}  // namespace trainyard::data
