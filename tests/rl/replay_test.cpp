// The replay memory and its samplers, with the worked numbers of tests/rl/algo_pieces.json.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "rl/replay/replay_folder.h"
#include "rl/replay/sum_tree.h"
#include "runs/crc32c.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::rl {
namespace {

Json pieces(const char* part) {
  const std::filesystem::path file = std::filesystem::path(TY_RL_DIR) / "algo_pieces.json";
  return Json::parse(read_file(file), file.string()).at(part);
}

std::vector<double> numbers(const Json& list) {
  std::vector<double> values;
  for (const Json& item : list.items()) values.push_back(item.as_number());
  return values;
}

TEST(NStep, WorkedNumbers) {
  const Json worked = pieces("n_step");
  for (const int64_t n : {1, 3, 5}) {
    const Json& expected = worked.at("n" + std::to_string(n));
    std::vector<Transition> made;
    NStep builder(n, worked.at("gamma").as_number());
    const std::vector<double> rewards = numbers(worked.at("rewards"));
    for (size_t t = 0; t < rewards.size(); ++t) {
      const Outcome outcome{static_cast<float>(rewards[t]),
                            worked.at("terminated").items()[t].as_int() != 0,
                            worked.at("truncated").items()[t].as_int() != 0};
      builder.add(static_cast<int64_t>(t), 0, static_cast<int64_t>(t) + 1, outcome,
                  [&](const Transition& transition) { made.push_back(transition); });
    }
    size_t i = 0;
    for (const Json& row : expected.items()) {
      if (row.is_null()) continue;
      ASSERT_LT(i, made.size());
      EXPECT_EQ(made[i].frame, row.at("start").as_int());
      EXPECT_EQ(made[i].steps, row.at("length").as_int());
      EXPECT_NEAR(made[i].reward, row.at("partial_return").as_number(), 1e-5);
      EXPECT_NEAR(made[i].discount, row.at("bootstrap_discount").as_number(), 1e-6);
      EXPECT_EQ(made[i].next_frame, row.at("bootstrap_state_after_step").as_int() + 1);
      ++i;
    }
    EXPECT_EQ(i, made.size());
  }
}

TEST(SumTree, FindsTheFirstPlaceAboveAMass) {
  const Json worked = pieces("per");
  const std::vector<double> priorities = numbers(worked.at("priorities_pow_alpha"));
  SumTree tree(static_cast<int64_t>(priorities.size()));
  for (size_t i = 0; i < priorities.size(); ++i) tree.set(static_cast<int64_t>(i), priorities[i]);
  const std::vector<double> masses = numbers(worked.at("stratified_mass"));
  const std::vector<double> places = numbers(worked.at("stratified_index"));
  for (size_t i = 0; i < masses.size(); ++i) {
    EXPECT_EQ(tree.find(masses[i]), static_cast<int64_t>(places[i]));
  }
  EXPECT_EQ(tree.find(tree.total()), 9) << "rounding does not lead outside";
}

TEST(SumTree, AgreesWithARunningSumAtAnySize) {
  for (const int64_t size : {1, 15, 16, 17, 300, 5000}) {
    SumTree tree(size);
    const RandomStream random(4);
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      tree.set(i, i % 3 == 0 ? 0.0 : random.uniform(static_cast<uint64_t>(i)));
      sum += tree.value(i);
    }
    EXPECT_NEAR(tree.total(), sum, 1e-9 * sum + 1e-12);
    if (sum == 0) continue;
    for (uint64_t k = 0; k < 200; ++k) {
      const double mass = random.uniform(9000 + k) * tree.total();
      double running = 0;
      int64_t expected = 0;
      while (running + tree.value(expected) <= mass) running += tree.value(expected++);
      EXPECT_EQ(tree.find(mass), expected) << size;
    }
  }
}

TEST(Sampler, WorkedProbabilitiesAndWeights) {
  const Json worked = pieces("per");
  const std::vector<double> errors = numbers(worked.at("abs_td"));
  const auto sampler = make_sampler({.kind = "proportional",
                                     .alpha = worked.at("alpha").as_number(),
                                     .epsilon = worked.at("eps").as_number()},
                                    10);
  for (size_t i = 0; i < errors.size(); ++i) sampler->add(static_cast<int64_t>(i), errors[i]);
  const std::vector<double> expected = numbers(worked.at("probability"));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(sampler->probability(static_cast<int64_t>(i)), expected[i], 1e-9);
  }
  std::vector<double> chosen;
  for (const double i : numbers(worked.at("batch")))
    chosen.push_back(expected[static_cast<size_t>(i)]);
  std::vector<float> weights(chosen.size());
  importance_weights(chosen, 10, worked.at("beta").as_number(), weights);
  const std::vector<double> wanted = numbers(worked.at("weight_over_batch_max"));
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(weights[i], wanted[i], 1e-6);

  const Json& rank = worked.at("rank_based");
  const auto ranked = make_sampler({.kind = "rank", .alpha = rank.at("alpha").as_number()}, 10);
  for (size_t i = 0; i < errors.size(); ++i) ranked->add(static_cast<int64_t>(i), errors[i]);
  // As many changes as there are entries: sorted once more.
  std::vector<int64_t> slots(10);
  std::vector<float> same(10);
  for (size_t i = 0; i < 10; ++i) {
    slots[i] = static_cast<int64_t>(i);
    same[i] = static_cast<float>(errors[i]);
  }
  ranked->update(slots, same);
  const std::vector<double> by_rank = numbers(rank.at("probability"));
  for (size_t i = 0; i < by_rank.size(); ++i) {
    EXPECT_NEAR(ranked->probability(static_cast<int64_t>(i)), by_rank[i], 1e-9);
  }
}

TEST(Sampler, DrawsAsOftenAsTheProbabilitiesSay) {
  for (const std::string& kind : sampler_names()) {
    const auto sampler = make_sampler({.kind = kind, .alpha = 0.7}, 64);
    for (int64_t slot = 0; slot < 40; ++slot) sampler->add(slot, 0.1 * static_cast<double>(slot));
    for (int64_t slot = 0; slot < 10; ++slot) sampler->remove(slot);
    std::vector<int64_t> counts(64, 0);
    std::vector<int64_t> slots(16);
    std::vector<float> weights(16);
    EventStream chance(5, 6);
    constexpr int kBatches = 5000;
    for (int i = 0; i < kBatches; ++i) {
      sampler->sample(slots, weights, 0.5, chance);
      for (const int64_t slot : slots) ++counts[static_cast<size_t>(slot)];
    }
    double sum = 0;
    for (int64_t slot = 0; slot < 64; ++slot) {
      const double share =
          static_cast<double>(counts[static_cast<size_t>(slot)]) / (16.0 * kBatches);
      EXPECT_NEAR(share, sampler->probability(slot), 0.004) << kind << " " << slot;
      sum += sampler->probability(slot);
    }
    EXPECT_NEAR(sum, 1, 1e-9) << kind;
  }
  EXPECT_THROW(make_sampler({.kind = "proportionl"}, 4), Error);
}

// Walks of a counter: the observation says which step of which episode it is.
EnvSpec walk_spec() {
  return {.name = "walk", .shape = {2}, .actions = 2};
}

struct Walk {
  ReplayMemory& memory;
  NStep steps;
  int64_t frame = 0;
  float episode = 0;
  float time = 0;

  void begin() {
    time = 0;
    ++episode;
    frame = memory.add_frame(std::vector<float>{episode, time});
  }
  void step(const Outcome& outcome) {
    ++time;
    const int64_t next = memory.add_frame(std::vector<float>{episode, time});
    steps.add(frame, 1, next, outcome, [&](const Transition& t) { memory.add(t); });
    frame = next;
    if (outcome.ended()) begin();
  }
};

TEST(ReplayMemory, ANextStateIsOfTheSameEpisodeAtEndsAndTimeOuts) {
  for (const int64_t n : {1, 3}) {
    ReplayMemory memory(walk_spec(), {.capacity = 50, .open_frames = 8});
    Walk walk{memory, NStep(n, 0.9)};
    walk.begin();
    const RandomStream random(2);
    EventStream chance(1, 1);
    ReplayBatch batch;
    batch.slots.resize(8);
    std::vector<float> seen(16);
    std::vector<float> next(16);
    for (uint64_t t = 0; t < 3000; ++t) {
      const double luck = random.uniform(t);
      walk.step({.reward = 1, .terminated = luck<0.2, .truncated = luck> 0.9});
      if (memory.size() < 8) continue;
      memory.sample(1, chance, batch, seen, next);
      for (size_t i = 0; i < 8; ++i) {
        ASSERT_EQ(seen[2 * i], next[2 * i]) << "another episode";
        ASSERT_GT(next[2 * i + 1], seen[2 * i + 1]);
        ASSERT_LE(next[2 * i + 1], seen[2 * i + 1] + static_cast<float>(n));
        if (batch.discounts[i] != 0) {
          const double steps = static_cast<double>(next[2 * i + 1] - seen[2 * i + 1]);
          ASSERT_NEAR(batch.discounts[i], std::pow(0.9, steps), 1e-6);
        }
      }
    }
    EXPECT_LE(memory.size(), 50);
    EXPECT_GT(memory.size(), 35);
  }
}

TEST(ReplayMemory, KeepsEachKindOfObservation) {
  const std::pair<Encoding, std::vector<float>> cases[] = {
      {Encoding::kReal, {1.5F, -2.25F, 1e30F, 0, 3, 4, 5, 6, 7, 8}},
      {Encoding::kBits, {1, 0, 0, 1, 1, 0, 1, 0, 1, 1}},
      {Encoding::kBytes, {0, 255, 17, 1, 2, 3, 4, 5, 6, 7}},
      {Encoding::kCell, {0, 0, 0, 0, 0, 0, 1, 0, 0, 0}}};
  const int64_t bytes[] = {40, 2, 10, 4};
  for (size_t i = 0; i < 4; ++i) {
    const EnvSpec spec{.name = "x", .shape = {10}, .actions = 2, .encoding = cases[i].first};
    FrameStore store(spec, 3);
    EXPECT_EQ(store.bytes_per_frame(), bytes[i]);
    for (int k = 0; k < 5; ++k) store.add(cases[i].second);
    std::vector<float> back(10);
    store.read(4, back);
    EXPECT_EQ(back, cases[i].second);
    EXPECT_EQ(store.begin(), 2);
  }
}

TEST(ReplayMemory, LeavesSlotsAloneThatWereGivenAway) {
  ReplayMemory memory(walk_spec(), {.capacity = 4, .sampler = {.kind = "proportional"}});
  Walk walk{memory, NStep(1, 0.9)};
  walk.begin();
  for (int i = 0; i < 4; ++i) walk.step({.reward = 1});
  ReplayBatch batch;
  batch.slots.resize(4);
  std::vector<float> seen(8);
  EventStream chance(1, 1);
  std::vector<float> next(8);
  memory.sample(1, chance, batch, seen, next);
  for (int i = 0; i < 4; ++i) walk.step({.reward = 1});
  const double before = memory.sampler().probability(0);
  memory.update(batch, std::vector<float>(4, 100.0F));
  EXPECT_EQ(memory.sampler().probability(0), before);
}

TEST(ReplayFolder, WhatIsRestoredGoesOnAlike) {
  for (const std::string& kind : sampler_names()) {
    const TemporaryFolder folder("replay");
    const ReplayOptions options{.capacity = 60, .open_frames = 8, .sampler = {.kind = kind}};
    ReplayMemory memory(walk_spec(), options);
    Walk walk{memory, NStep(2, 0.9)};
    walk.begin();
    const auto run = [&](int steps) {
      for (int i = 0; i < steps; ++i) {
        walk.step({.reward = 1, .terminated = i % 9 == 0, .truncated = i % 7 == 0});
      }
    };
    ReplayFolder saved(folder.path());
    run(40);
    saved.save(memory, 40);
    run(100);
    saved.save(memory, 140);
    ReplayMemory other(walk_spec(), options);
    ReplayFolder again(folder.path());
    again.restore(140, other);
    EXPECT_EQ(other.size(), memory.size());
    EXPECT_EQ(other.end(), memory.end());
    EventStream one(3, 3);
    EventStream two(3, 3);
    ReplayBatch a;
    ReplayBatch b;
    a.slots.resize(16);
    b.slots.resize(16);
    std::vector<float> seen(32);
    std::vector<float> next(32);
    std::vector<float> seen_too(32);
    std::vector<float> next_too(32);
    memory.sample(0.5, one, a, seen, next);
    other.sample(0.5, two, b, seen_too, next_too);
    EXPECT_EQ(a.slots, b.slots) << kind;
    EXPECT_EQ(a.weights, b.weights);
    EXPECT_EQ(seen, seen_too);
    EXPECT_EQ(next, next_too);
    EXPECT_THROW(again.restore(99, other), Error);
  }
}

TEST(ReplayFolder, WritesWhatIsNewAndRefusesWhatDoesNotFit) {
  const TemporaryFolder folder("replay");
  ReplayMemory memory(walk_spec(), {.capacity = 3 * kReplayChunk, .open_frames = 8});
  Walk walk{memory, NStep(1, 0.9)};
  walk.begin();
  for (int64_t i = 0; i < 2 * kReplayChunk + 10; ++i) walk.step({.reward = 1});
  ReplayFolder saved(folder.path());
  saved.save(memory, 1);
  const int64_t first = saved.bytes_written();
  for (int i = 0; i < 10; ++i) walk.step({.reward = 1});
  saved.save(memory, 2);
  EXPECT_LT(saved.bytes_written(), first / 2);

  ReplayMemory smaller(walk_spec(), {.capacity = 100});
  EXPECT_THROW(ReplayFolder(folder.path()).restore(2, smaller), Error);
  EnvSpec other = walk_spec();
  other.name = "run";
  ReplayMemory elsewhere(other, {.capacity = 3 * kReplayChunk, .open_frames = 8});
  EXPECT_THROW(ReplayFolder(folder.path()).restore(2, elsewhere), Error);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().filename().string().starts_with("frames-0")) {
      std::filesystem::resize_file(entry.path(), 1000);
    }
  }
  ReplayMemory same(walk_spec(), {.capacity = 3 * kReplayChunk, .open_frames = 8});
  EXPECT_THROW(ReplayFolder(folder.path()).restore(2, same), Error);
}

template <typename Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

// What restoring ten steps of a walk says after the only file of `field` was replaced by `bytes`,
// which are to be the items `first` to `end`, with the checksum they have.
std::string restore_changed(const char* kind, const char* field, int64_t first, int64_t end,
                            const std::string& bytes) {
  const TemporaryFolder folder("replay");
  const ReplayOptions options{.capacity = 60, .open_frames = 8, .sampler = {.kind = kind}};
  ReplayMemory memory(walk_spec(), options);
  Walk walk{memory, NStep(1, 0.9)};
  walk.begin();
  for (int i = 0; i < 10; ++i) walk.step({.reward = 1});
  ReplayFolder(folder.path()).save(memory, 1);
  const std::filesystem::path file = folder / "contents-000000001.json";
  Json contents = Json::parse(read_file(file), "contents");
  Json parts = Json::array();
  parts.push_back(Json::object({{"file", "changed.bin"},
                                {"first", first},
                                {"end", end},
                                {"crc32c", static_cast<int64_t>(runs::crc32c(bytes))}}));
  contents[field] = parts;
  write_file(folder / "changed.bin", bytes);
  write_file(file, contents.dump(-1));
  ReplayMemory other(walk_spec(), options);
  return message_of([&] { ReplayFolder(folder.path()).restore(1, other); });
}

void expect_said(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// A checksum only says that a file is what its contents say, not that both make sense.
TEST(ReplayFolder, RefusesFilesThatAreNoMemory) {
  std::vector<Transition> steps(10);
  for (int64_t i = 0; i < 10; ++i) {
    steps[static_cast<size_t>(i)] = {.frame = i, .next_frame = i + 1, .action = 1, .steps = 1};
  }
  const std::string whole = bytes_of(steps);
  EXPECT_EQ(restore_changed("uniform", "transitions", 0, 10, whole), "no error");
  expect_said(restore_changed("uniform", "transitions", 0, 10, whole + "abc"),
              "has 323 bytes, expected 10 items of 32 bytes");
  expect_said(restore_changed("uniform", "transitions", -10, 0, whole),
              "holds items -10 to 0, expected them from 0 on");
  expect_said(restore_changed("uniform", "transitions", 0, 9, whole.substr(32)),
              "has the transitions 0 to 10, found 9");
  expect_said(restore_changed("uniform", "frames", 0, 1, std::string(7, '\0')),
              "has 7 bytes, expected 1 items of 8 bytes");
  steps[3].next_frame = 11;
  expect_said(restore_changed("uniform", "transitions", 0, 10, bytes_of(steps)),
              "transition 3 has the frames 3 and 11, expected frames from 0 to 10");
  steps[3] = {.frame = 3, .next_frame = 4, .action = 2};
  expect_said(restore_changed("uniform", "transitions", 0, 10, bytes_of(steps)),
              "transition 3 has action 2, expected 0 to 1");
}

TEST(ReplayFolder, RefusesPrioritiesOfOtherSlots) {
  std::vector<double> slots = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::string whole = bytes_of(slots);
  EXPECT_EQ(restore_changed("uniform", "priorities", 0, 10, whole), "no error");
  expect_said(restore_changed("uniform", "priorities", 0, 10, whole + "a"),
              "has 81 bytes, expected 10 items of 8 bytes");
  slots[9] = 60;
  expect_said(restore_changed("uniform", "priorities", 0, 10, bytes_of(slots)),
              "the priorities have slot 60, expected 0 to 59");
  slots[9] = 8;
  expect_said(restore_changed("uniform", "priorities", 0, 10, bytes_of(slots)),
              "the priorities have slot 8 twice");
  for (const char* kind : {"uniform", "proportional", "rank"}) {
    const int64_t expected = kind[0] == 'u' ? 10 : kind[0] == 'p' ? 61 : 22;
    expect_said(restore_changed(kind, "priorities", 0, 0, ""),
                fmt::format("the priorities are 0 numbers, expected {}", expected));
  }
}

TEST(FrameStore, RefusesACellThatIsNotThere) {
  const EnvSpec spec{.name = "x", .shape = {10}, .actions = 2, .encoding = Encoding::kCell};
  FrameStore store(spec, 3);
  for (const int32_t cell : {-1, 10}) {
    const std::vector<int32_t> frame = {cell};
    expect_said(message_of([&] { store.add_encoded(std::as_bytes(std::span(frame))); }),
                fmt::format("a frame has cell {}, expected 0 to 9", cell));
  }
}

}  // namespace
}  // namespace trainyard::rl
