#include "rl/env/child_environment.h"

#include <cmath>
#include <csignal>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/error.h"
#include "base/shell.h"

namespace trainyard::rl {
namespace {

// Of an observation, and of a line of text.
constexpr int64_t kMostNumbers = int64_t{1} << 20;
constexpr size_t kLongestLine = size_t{1} << 26;

// Whether it is finite, also as the float that it becomes.
bool is_float(double number) {
  return std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
}

// One process and the lines that come and go.
class Child {
 public:
  Child(std::string_view command, double seconds)
      : command_(command),
        seconds_(seconds),
        process_(words(command), {.own_group = true, .input = true}) {}
  ~Child() {
    // Killed without asking: environments hold nothing that needs to be saved. A command may be a
    // script that started the program.
    process_.kill_group();
    process_.wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Json ask(const Json& request) {
    const std::string line = request.dump(-1) + "\n";
    if (!process_.write_all(line, static_cast<int>(seconds_ * 1000)))
      complain("does not take requests any more", "");
    return read();
  }

  // Its next line, an object.
  Json read() {
    double waited = 0;
    size_t end = text_.find('\n');
    while (end == std::string::npos) {
      const size_t before = text_.size();
      constexpr int kLook = 200;
      if (!process_.read_some(text_, kLook)) complain("has ended", text_);
      // Only silence counts: one that writes slowly may take its time.
      if (text_.size() == before) waited += kLook / 1000.0;
      if (waited >= seconds_) {
        complain(fmt::format("has been silent for {} s", seconds_), text_);
      }
      if (text_.size() > kLongestLine) complain("writes a line without end", "");
      // Only what is new is searched, so that long lines take no quadratic time.
      end = text_.find('\n', before);
    }
    const std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    try {
      Json answer = Json::parse(line, "its answer");
      TY_REQUIRE(answer.is_object(), "expected an object");
      return answer;
    } catch (const Error& error) {
      complain(fmt::format("answers with no JSON object: {}", error.what()), line);
    }
  }

  [[noreturn]] void complain(std::string_view what, std::string_view line) const {
    throw EnvironmentFailure(
        fmt::format("the environment '{}' {}{}", command_, what,
                    line.empty() ? "" : fmt::format("; its line: {}", line.substr(0, 200))));
  }

 private:
  static std::vector<std::string> words(std::string_view command) {
    std::vector<std::string> parts = shell_words(command);
    TY_REQUIRE(!parts.empty(), "`env` exec: needs a command, as exec:'python3 game.py'");
    return parts;
  }

  std::string command_;
  double seconds_;
  ChildProcess process_;
  std::string text_;  // read, and not yet a whole line
};

// The first line of a child, without being asked.
EnvSpec spec_of(Child& child) {
  const Json hello = child.read();
  try {
    EnvSpec spec;
    spec.name = hello.find("name") == nullptr ? "exec" : hello.at("name").as_string();
    std::vector<int64_t> dims;
    for (const Json& dim : hello.at("shape").items()) dims.push_back(dim.as_int());
    spec.shape = Shape(dims);
    for (const int64_t dim : dims) TY_REQUIRE(dim > 0, "a dimension of {}", dim);
    TY_REQUIRE(spec.observation_size() <= kMostNumbers, "observations of more than {} numbers",
               kMostNumbers);
    spec.actions = hello.at("actions").as_int();
    TY_REQUIRE(spec.actions >= 1 && spec.actions <= 65536, "{} actions", spec.actions);
    if (const Json* limit = hello.find("time_limit"); limit != nullptr && !limit->is_null()) {
      spec.time_limit = limit->as_int();
    }
    return spec;
  } catch (const Error& error) {
    child.complain(fmt::format("does not describe itself: {}", error.what()), hello.dump(-1));
  }
}

class ChildEnvironment final : public Environment {
 public:
  ChildEnvironment(const EnvSpec& spec, std::vector<std::unique_ptr<Child>> children)
      : Environment(spec, static_cast<int64_t>(children.size())),
        size_(static_cast<size_t>(spec.observation_size())),
        children_(std::move(children)),
        chances_(children_.size()),
        steps_(children_.size(), 0),
        last_(children_.size(), std::vector<float>(size_)) {}

  void reset(uint64_t seed, std::span<float> observations) override {
    for (size_t i = 0; i < children_.size(); ++i) {
      chances_[i] = EventStream(seed, hash_text("child") + i);
      begin(i, observations.subspan(i * size_, size_));
    }
  }

  void step(std::span<const int32_t> actions, std::span<float> observations,
            std::span<Outcome> outcomes) override {
    // One after the other: while a child is waited for, the others are idle.
    for (size_t i = 0; i < children_.size(); ++i) {
      const Json answer = children_[i]->ask(Json::object({{"step", actions[i]}}));
      take(i, answer, observations.subspan(i * size_, size_));
      outcomes[i] = outcome_of(i, answer);
    }
  }

  void begin_episode(int64_t copy, std::span<float> observation) override {
    begin(static_cast<size_t>(copy), observation);
  }

  Json state(int64_t /*copy*/) const override { return {}; }
  void set_state(int64_t /*copy*/, const Json& /*state*/, int64_t /*steps*/) override {
    throw_error("the state of {} lies in another process; it begins new episodes instead",
                spec().name);
  }
  int64_t episode_steps(int64_t copy) const override {
    return steps_.at(static_cast<size_t>(copy));
  }
  void observe(int64_t copy, std::span<float> observation) const override {
    const std::vector<float>& last = last_.at(static_cast<size_t>(copy));
    std::copy(last.begin(), last.end(), observation.begin());
  }
  EventStream& chance(int64_t copy) override { return chances_.at(static_cast<size_t>(copy)); }

 private:
  void begin(size_t i, std::span<float> observation) {
    // Whole numbers that any language reads exactly.
    const int64_t seed = chances_[i].between(0, int64_t{1} << 31);
    take(i, children_[i]->ask(Json::object({{"reset", seed}})), observation);
    steps_[i] = 0;
  }

  void take(size_t i, const Json& answer, std::span<float> to) {
    const Json* numbers = answer.find("observation");
    if (numbers == nullptr || !numbers->is_array() || numbers->items().size() != size_) {
      children_[i]->complain(fmt::format("gives no observation of {} numbers", size_),
                             answer.dump(-1));
    }
    for (size_t k = 0; k < size_; ++k) {
      // One NaN would spread through the network, so it is refused here.
      const Json& number = numbers->items()[k];
      if (!number.is_number() || !is_float(number.as_number())) {
        children_[i]->complain("gives an observation that is not finite", answer.dump(-1));
      }
      to[k] = static_cast<float>(number.as_number());
    }
    last_[i].assign(to.begin(), to.end());
  }

  Outcome outcome_of(size_t i, const Json& answer) {
    try {
      const double reward = answer.at("reward").as_number();
      TY_REQUIRE(is_float(reward), "the reward is {}", reward);
      // Counted here too, for children that do not end episodes by themselves.
      const bool late = ++steps_[i] >= spec().time_limit && spec().time_limit > 0;
      const Json* truncated = answer.find("truncated");
      return {.reward = static_cast<float>(reward),
              .terminated = answer.at("terminated").as_bool(),
              .truncated = late || (truncated != nullptr && truncated->as_bool())};
    } catch (const Error& error) {
      children_[i]->complain(fmt::format("gives no outcome: {}", error.what()), answer.dump(-1));
    }
  }

  size_t size_;
  std::vector<std::unique_ptr<Child>> children_;
  std::vector<EventStream> chances_;
  std::vector<int64_t> steps_;
  std::vector<std::vector<float>> last_;
};

}  // namespace

std::unique_ptr<Environment> start_children(std::string_view command, int64_t copies,
                                            double seconds) {
  std::vector<std::unique_ptr<Child>> children;
  EnvSpec spec;
  // All processes run the same command, so they must agree.
  for (int64_t i = 0; i < copies; ++i) {
    children.push_back(std::make_unique<Child>(command, seconds));
    const EnvSpec said = spec_of(*children.back());
    if (i > 0 && (said.shape != spec.shape || said.actions != spec.actions)) {
      children.back()->complain("describes itself differently from copy to copy", "");
    }
    spec = said;
  }
  return std::make_unique<ChildEnvironment>(spec, std::move(children));
}

}  // namespace trainyard::rl
