// What actors send and what checkpoints hold may be damaged: each of them is refused, by name.
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "rl/distributed/actor_messages.h"
#include "rl/distributed/train_agent.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::rl {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

EnvSpec two_numbers() {
  return {.name = "x", .shape = {2}, .actions = 2};
}

// Two transitions over three frames.
ExperienceBatch good_parcel() {
  ExperienceBatch parcel;
  parcel.frames.resize(3 * 2 * sizeof(float));
  parcel.transitions = {{.frame = 0, .next_frame = 1, .action = 1, .steps = 1},
                        {.frame = 1, .next_frame = 2, .action = 0, .steps = 1}};
  parcel.errors = {0.5, 0.25};
  return parcel;
}

std::string unpacking(const ExperienceBatch& parcel) {
  ReplayMemory memory(two_numbers(), {.capacity = 10, .open_frames = 4});
  std::string said = message_of<Failure>([&] { unpack(parcel, memory); });
  EXPECT_EQ(memory.size(), said == "no error" ? 2 : 0);
  return said;
}

TEST(ExperienceBatch, MustHaveAnErrorPerTransition) {
  ExperienceBatch parcel = good_parcel();
  EXPECT_EQ(unpacking(parcel), "no error");
  parcel.errors.pop_back();
  EXPECT_EQ(unpacking(parcel),
            "an actor's message has 2 transitions, 1 errors and 24 bytes of frames of 8");
  parcel = good_parcel();
  parcel.frames.pop_back();
  EXPECT_EQ(unpacking(parcel),
            "an actor's message has 2 transitions, 2 errors and 23 bytes of frames of 8");
}

TEST(ExperienceBatch, RefersToItsOwnFramesAndToActionsThatThereAre) {
  ExperienceBatch parcel = good_parcel();
  parcel.transitions[1].next_frame = 3;
  EXPECT_EQ(unpacking(parcel), "an actor's message has action 0 between the frames 1 and 3 of 3");
  parcel.transitions[1] = {.frame = -1, .next_frame = 2, .action = 0};
  EXPECT_EQ(unpacking(parcel), "an actor's message has action 0 between the frames -1 and 2 of 3");
  parcel.transitions[1] = {.frame = 1, .next_frame = 2, .action = 2};
  EXPECT_EQ(unpacking(parcel), "an actor's message has action 2 between the frames 1 and 2 of 3");
}

TEST(ExperienceBatch, IsReadFromItsOwnBytesAlone) {
  const std::vector<std::byte> whole = good_parcel().bytes();
  EXPECT_EQ(ExperienceBatch::from_bytes(whole).errors, good_parcel().errors);
  const auto reading = [](std::span<const std::byte> bytes) {
    return message_of<Failure>([&] { ExperienceBatch::from_bytes(bytes); });
  };
  EXPECT_EQ(reading(std::span(whole).first(whole.size() - 1)), "an actor's message is cut short");
  std::vector<std::byte> longer = whole;
  longer.resize(whole.size() + 3);
  EXPECT_EQ(reading(longer), "an actor's message has 3 bytes too many");
  // So many items that their bytes are 0 in 64 bits.
  const int64_t none = 0;
  const int64_t count = int64_t{1} << 59;
  std::vector<std::byte> many(2 * sizeof(int64_t));
  std::memcpy(many.data(), &none, sizeof(none));
  std::memcpy(many.data() + sizeof(none), &count, sizeof(count));
  EXPECT_EQ(reading(many), "an actor's message is cut short");
}

TEST(Sampler, RefusesErrorsThatAreNotFinite) {
  for (const char* kind : {"proportional", "rank"}) {
    const auto sampler = make_sampler({.kind = kind}, 4);
    for (const double error : {kNaN, kInfinity}) {
      EXPECT_THROW(sampler->add(1, error), Failure) << kind;
    }
    sampler->add(0, 1);
    const std::vector<int64_t> slots = {0};
    const std::vector<float> errors = {std::numeric_limits<float>::quiet_NaN()};
    EXPECT_THROW(sampler->update(slots, errors), Failure) << kind;
    std::vector<double> priorities = sampler->priorities();
    sampler->set_priorities(priorities, 1);
    // The last but one of ranks; the others are slots and counts.
    double& largest = priorities[priorities.size() - (kind[0] == 'r' ? 2 : 1)];
    for (const double wrong : {kNaN, -1.0}) {
      largest = wrong;
      EXPECT_THROW(sampler->set_priorities(priorities, 1), Error) << kind;
    }
  }
}

RlConfig small(const std::string& agent) {
  RlConfig config = preset_config("CartPole-v1", agent);
  config.hidden = "8";
  config.batch = 4;
  config.capacity = 200;
  config.start = 20;
  config.steps = 60;
  config.eval_episodes = 1;
  config.threads = 1;
  return config;
}

// A checkpoint whose file of environments and counters was changed; what resuming says.
class DamagedRun : public testing::Test {
 protected:
  DamagedRun() {
    config_.n_step = 3;
    RunHooks hooks;
    hooks.should_stop = [count = 0]() mutable { return ++count > 30; };
    train_agent(config_, &directory_, hooks);
    for (const auto& entry : std::filesystem::directory_iterator(directory_.checkpoints())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("run-")) file_ = entry.path();
    }
    whole_ = read_file(file_);
  }

  std::string resuming(const std::string& from, const std::string& to) {
    const size_t at = whole_.find(from);
    EXPECT_NE(at, std::string::npos) << whole_;
    write_file(file_, std::string(whole_).replace(at, from.size(), to));
    return message_of<Error>([&] { train_agent(config_, &directory_, {}); });
  }
  void expect_refused(const std::string& from, const std::string& to, const std::string& part) {
    const std::string said = resuming(from, to);
    EXPECT_NE(said.find(file_.string()), std::string::npos) << said;
    EXPECT_NE(said.find(part), std::string::npos) << said;
  }

  const TemporaryFolder folder_{"damage"};
  RlConfig config_ = small("dqn");
  const runs::RunDirectory directory_ = runs::RunDirectory::create(folder_.path(), "run", "m", "d");
  std::filesystem::path file_;
  std::string whole_;
};

TEST_F(DamagedRun, IsRefusedWithTheFileAndWhatIsWrong) {
  expect_refused(R"("open":[[)", R"("open":[[1,)", "an open step is a frame, an action and");
  expect_refused(R"("open":[[)", R"("open":[[1,2,1]],"was":[[)", "action 2, expected 0 to 1");
  expect_refused(R"("open":[[)", R"("open":[[1,7,1],[)", "3 open steps, expected less than 3");
  expect_refused(R"("frame":)", R"("frame":9)", "expected 0 to ");
  expect_refused(R"("explored":)", R"("explored":"x","was":)", "expected a whole number");
  expect_refused(R"("copies":[)", R"("copies":[],"were":[)", "the run has 0 copies");
  expect_refused(R"("progress":)", R"("rogress":)", "progress");
  expect_refused("{", "[", "");
  EXPECT_EQ(resuming("{", "{"), "no error");
}

}  // namespace
}  // namespace trainyard::rl
