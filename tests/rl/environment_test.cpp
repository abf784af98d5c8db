#include "rl/env/environment.h"

#include <tuple>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_message.h"

namespace trainyard::rl {
namespace {

// All that a run with actions by turns shows, one copy or several.
struct Shown {
  std::vector<float> observations;
  std::vector<float> rewards;
};

Shown play(Environment& environment, uint64_t seed, int64_t copy, int steps) {
  const auto copies = static_cast<size_t>(environment.copies());
  const auto size = static_cast<size_t>(environment.spec().observation_size());
  std::vector<float> observations(copies * size);
  std::vector<Outcome> outcomes(copies);
  Shown shown;
  environment.reset(seed, observations);
  for (int t = 0; t < steps; ++t) {
    const std::vector<int32_t> actions(copies,
                                       static_cast<int32_t>(t / 2 % environment.spec().actions));
    environment.step(actions, observations, outcomes);
    const size_t mine = static_cast<size_t>(copy) * size;
    shown.observations.insert(shown.observations.end(), observations.begin() + mine,
                              observations.begin() + mine + size);
    shown.rewards.push_back(outcomes[static_cast<size_t>(copy)].reward);
    for (size_t i = 0; i < copies; ++i) {
      if (!outcomes[i].ended()) continue;
      environment.begin_episode(static_cast<int64_t>(i),
                                std::span(observations).subspan(i * size, size));
    }
  }
  return shown;
}

TEST(Environment, ASeedDecidesARunAndACopyIsTheSameAmongMore) {
  for (const EnvironmentDef* known : all_environments()) {
    const auto one = known->make({}, 1);
    const auto many = known->make({}, 3);
    const Shown first = play(*one, 7, 0, 300);
    EXPECT_EQ(play(*one, 7, 0, 300).observations, first.observations) << known->name;
    EXPECT_EQ(play(*many, 7, 0, 300).observations, first.observations) << known->name;
    EXPECT_EQ(play(*many, 7, 0, 300).rewards, first.rewards) << known->name;
    if (std::string_view(known->name).starts_with("Cliff")) continue;  // without luck
    EXPECT_NE(play(*many, 7, 2, 300).observations, first.observations) << known->name;
  }
}

TEST(Environment, AStateGoesOnWhereItWasTaken) {
  for (const EnvironmentDef* known : all_environments()) {
    const auto one = known->make({}, 1);
    play(*one, 3, 0, 120);
    const auto other = known->make({}, 1);
    std::vector<float> observation(static_cast<size_t>(one->spec().observation_size()));
    other->reset(3, observation);
    other->set_state(0, Json::parse(one->state(0).dump(-1), "state"), one->episode_steps(0));
    other->chance(0).set_drawn(one->chance(0).drawn());
    std::vector<float> own(observation.size());
    for (int32_t t = 0; t < 20; ++t) {
      const int32_t action = t % static_cast<int32_t>(one->spec().actions);
      Outcome outcome;
      Outcome same;
      one->step({&action, 1}, own, {&outcome, 1});
      other->step({&action, 1}, observation, {&same, 1});
      ASSERT_EQ(own, observation) << known->name << ", step " << t;
      ASSERT_EQ(outcome.ended(), same.ended());
      if (!outcome.ended()) continue;
      one->begin_episode(0, own);
      other->begin_episode(0, observation);
      ASSERT_EQ(own, observation) << known->name;
    }
  }
}

TEST(Environment, ATimeLimitTruncatesAndDoesNotTerminate) {
  const auto car = make_environment("MountainCar-v0,time_limit=5", 1);
  std::vector<float> observation(2);
  car->reset(1, observation);
  const int32_t idle = 1;
  Outcome outcome;
  for (int t = 0; t < 5; ++t) car->step({&idle, 1}, observation, {&outcome, 1});
  EXPECT_TRUE(outcome.truncated);
  EXPECT_FALSE(outcome.terminated);
}

TEST(Environment, NamesAreFoundHoweverTheyAreWritten) {
  for (const char* name : {"MinAtar/SpaceInvaders-v0", "space_invaders", "minatar:space-invaders",
                           "SPACEINVADERS", "MinAtar/space_invaders"}) {
    EXPECT_EQ(find_environment(name).name, "MinAtar/SpaceInvaders-v0") << name;
  }
  EXPECT_EQ(find_environment("cartpole").name, "CartPole-v1");
  EXPECT_EQ(make_environment("MinAtar/Breakout-v1", 1)->spec().actions, 3);
  EXPECT_EQ(make_environment("breakout,minimal=yes", 1)->spec().actions, 3);
  EXPECT_EQ(make_environment("FrozenLake-v1,map=8x8,slippery=no", 1)->spec().shape, Shape{64});
}

TEST(Environment, AnUnknownNameOrOptionIsAWrongRequest) {
  try {
    find_environment("CartPool-v1");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean CartPole-v1?"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(make_environment("cartpole,gravity=3", 1), Error);
  EXPECT_THROW(make_environment("cartpole,time_limit=soon", 1), Error);
  EXPECT_THROW(make_environment("cartpole", 0), Error);
  EXPECT_THROW(make_environment("cartpole", 1)->set_state(0, Json(3), 0), Error);
}

// What a game says to the state after its first reset with one member changed.
std::string set_changed(const char* game, const char* key, const Json& value) {
  const auto environment = make_environment(game, 1);
  std::vector<float> observation(static_cast<size_t>(environment->spec().observation_size()));
  environment->reset(1, observation);
  Json state = environment->state(0);
  state[key] = value;
  return message_of([&] { environment->set_state(0, state, 0); });
}

// Places of a checkpoint or recording become places in arrays.
TEST(Environment, AStateWithPlacesOffTheBoardIsRefused) {
  const std::tuple<const char*, const char*, int64_t, int64_t> ranges[] = {
      {"breakout", "ball_dir", 0, 3},
      {"breakout", "ball_x", 0, 9},
      {"breakout", "pos", 0, 9},
      {"breakout", "last_y", 0, 9},
      {"breakout", "last_action", 0, 5},
      {"space_invaders", "pos", 0, 9},
      {"freeway", "pos", 0, 9},
      {"asterix", "player_x", 0, 9},
      {"asterix", "player_y", 1, 8},
      {"seaquest", "sub_x", 0, 9},
      {"seaquest", "sub_y", 0, 8},
      {"seaquest", "oxygen", -1000000, 200},
      {"seaquest", "diver_count", -1000000, 6}};
  for (const auto& [game, key, low, high] : ranges) {
    EXPECT_EQ(set_changed(game, key, Json(low)), "no error") << game << " " << key;
    EXPECT_EQ(set_changed(game, key, Json(high)), "no error") << game << " " << key;
    for (const int64_t wrong : {low - 1, high + 1, high + (int64_t{1} << 32)}) {
      EXPECT_EQ(set_changed(game, key, Json(wrong)),
                fmt::format("'{}' of a state is a whole number from {} to {}, found {}", key, low,
                            high, wrong));
    }
  }
  EXPECT_EQ(set_changed("breakout", "ball_y", Json(9)),
            "'ball_y' of a state is below 9 unless the game is over, found 9");
  const Json row = Json::array_of(std::vector<int64_t>(10, 1));
  EXPECT_EQ(set_changed("breakout", "brick_map", Json(Json::Array(10, row))),
            "'brick_map' of a state has bricks in row 9, the paddle's, expected none");
}

TEST(Environment, AStateWithThingsOffTheBoardIsRefused) {
  const std::tuple<const char*, const char*, const char*, const char*> cases[] = {
      {"freeway", "cars", "[[10,1,3,3]]", "'x of a car' of a state is a whole number from 0 to 9"},
      {"freeway", "cars", "[[3,1,3,-6]]", "'speed of a car'"},
      {"freeway", "cars", "[[3,1,3]]", "a car is x, lane, timer and speed, found [3,1,3]"},
      {"asterix", "entities", "[[-1,1,true,true]]", "'x of an entity'"},
      {"asterix", "entities", "[[1]]", "an entity is x, row, direction and gold, found [1]"},
      {"seaquest", "e_fish", "[[4,10,true,3]]", "'y of a swimmer'"},
      {"seaquest", "f_bullets", "[[400,1,true]]", "'x of a swimmer'"}};
  for (const auto& [game, key, first, said] : cases) {
    Json list = Json::parse(first, "list");
    // Eight cars or lanes.
    for (int i = 1; i < 8; ++i) list.push_back(Json(list.items()[0]));
    const std::string message = set_changed(game, key, list);
    EXPECT_NE(message.find(said), std::string::npos) << message;
  }
}

TEST(Environment, AGameThatIsOverStaysOver) {
  const auto environment = make_environment("breakout", 1);
  std::vector<float> observation(static_cast<size_t>(environment->spec().observation_size()));
  environment->reset(1, observation);
  Json state = environment->state(0);
  state["ball_y"] = 9;
  state["terminal"] = true;
  environment->set_state(0, state, 0);
  const int32_t idle = 0;
  Outcome outcome;
  environment->step({&idle, 1}, observation, {&outcome, 1});
  EXPECT_TRUE(outcome.terminated);
  EXPECT_EQ(outcome.reward, 0);
  EXPECT_EQ(environment->state(0).at("ball_y").as_int(), 9);
}

}  // namespace
}  // namespace trainyard::rl
