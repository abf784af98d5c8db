#include "rl/distributed/actor_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/error.h"
#include "rl/distributed/actor_messages.h"
#include "rl/distributed/remote_actor.h"
#include "train/servers/parameter_messages.h"

namespace trainyard::rl {
namespace {

// The first thing that the process reads; the settings as YAML follow.
struct ActorSetup {
  int64_t rank = 0;
  int64_t ranks = 0;
  int64_t life = 0;  // processes of this rank before it
  int64_t bytes = 0;
};

template <typename Message>
std::string_view bytes_of(const Message& message) {
  static_assert(std::is_trivially_copyable_v<Message>);
  return {reinterpret_cast<const char*>(&message), sizeof(message)};
}

// Why a process has to be replaced.
class ActorDied : public Failure {
 public:
  using Failure::Failure;
};

// The supervisor's end of the two pipes. Each call throws ActorDied if the process does not answer
// any more, Failure if it gave up by itself.
class ActorProcess {
 public:
  ActorProcess(const dist::Communicator& comm, const RlConfig& config, int64_t life)
      : limit_s_(comm.limit_s()),
        process_(std::vector<std::string>{path_of_this_program(), "rl", "actor"},
                 {.own_group = true, .input = true}) {
    RlConfig own = config;
    const std::string yaml = settings_of(own).to_yaml();
    send(bytes_of(ActorSetup{comm.rank(), comm.size(), life, static_cast<int64_t>(yaml.size())}));
    send(yaml);
  }
  ~ActorProcess() {
    if (ended_) return;
    process_.send(SIGKILL);
    process_.wait();
  }
  ActorProcess(const ActorProcess&) = delete;
  ActorProcess& operator=(const ActorProcess&) = delete;

  void send(std::string_view bytes) {
    if (process_.write_all(bytes, static_cast<int>(limit_s_ * 1000))) return;
    process_.send(SIGKILL);
    complain();
  }

  // Exactly so many bytes.
  std::string read(size_t count) {
    constexpr int kLookMs = 200;
    double waited = 0;
    while (text_.size() < count) {
      const size_t before = text_.size();
      if (!process_.read_some(text_, kLookMs)) complain();
      waited = text_.size() > before ? 0 : waited + kLookMs / 1000.0;
      if (waited < limit_s_) continue;
      throw ActorDied(fmt::format("process {} was silent for {} s", process_.id(), limit_s_));
    }
    std::string bytes = text_.substr(0, count);
    text_.erase(0, count);
    return bytes;
  }

  // It has said all it will.
  void wait() {
    process_.wait();
    ended_ = true;
  }

 private:
  [[noreturn]] void complain() {
    const int code = process_.wait();
    ended_ = true;
    constexpr int kSignals = 128;
    if (code > kSignals) {
      throw ActorDied(
          fmt::format("process {} was ended by signal {}", process_.id(), code - kSignals));
    }
    throw_failure("process {} gave up with exit code {}", process_.id(), code);
  }

  double limit_s_;
  ChildProcess process_;
  std::string text_;  // read, and not yet taken
  bool ended_ = false;
};

// Passes messages on until the learner wants no more.
class Supervisor {
 public:
  Supervisor(dist::Communicator& comm, const RlConfig& config) : comm_(comm), config_(config) {}

  void run() {
    for (int64_t life = 0;; ++life) {
      try {
        ActorProcess process(comm_, config_, life);
        while (!pass_on(process)) {
        }
        process.wait();
        return;
      } catch (const ActorDied& why) {
        if (++problems_ >= kMostProblems) throw;
        if (tell(why.what())) return;
      } catch (const Failure& why) {
        throw_failure("actor {}: {}", comm_.rank(), why.what());
      }
    }
  }

 private:
  // A message and its answer; whether that says stop.
  bool pass_on(ActorProcess& process) {
    ActorHeader header;
    const std::string head = process.read(sizeof(header));
    std::memcpy(&header, head.data(), sizeof(header));
    const std::string body = process.read(static_cast<size_t>(header.bytes));
    train::send_message(comm_, kLearnerRank, header);
    if (!body.empty()) comm_.send(kLearnerRank, std::as_bytes(std::span(body)));
    if (header.kind == ActorMessage::kTransitions) problems_ = 0;
    const auto answer = train::receive_message<LearnerAnswer>(comm_, kLearnerRank);
    rest_.resize(static_cast<size_t>(header.answer_bytes));
    if (!rest_.empty()) comm_.receive(kLearnerRank, std::as_writable_bytes(std::span(rest_)));
    process.send(bytes_of(answer));
    process.send(rest_);
    return answer.stop != 0;
  }

  bool tell(const std::string& why) {
    train::send_message(
        comm_, kLearnerRank,
        ActorHeader{.kind = ActorMessage::kProblem, .bytes = static_cast<int64_t>(why.size())});
    comm_.send(kLearnerRank, std::as_bytes(std::span(why)));
    return train::receive_message<LearnerAnswer>(comm_, kLearnerRank).stop != 0;
  }

  dist::Communicator& comm_;
  const RlConfig& config_;
  std::string rest_;
  int64_t problems_ = 0;
};

// The supervisor closed its end.
class SupervisorExited : public Failure {
 public:
  using Failure::Failure;
};

// The actor's end: whatever rank it speaks to, the supervisor passes it on.
class PipeRank final : public dist::Communicator {
 public:
  PipeRank(int64_t rank, int64_t ranks, int in, int out)
      : Communicator(rank, std::vector<int64_t>(static_cast<size_t>(ranks), 0)),
        in_(in),
        out_(out) {}

  void exchange(const dist::Outgoing* out, const dist::Incoming* in) override {
    if (out != nullptr) write(out->bytes);
    if (in != nullptr) read(in->bytes);
  }
  std::optional<int64_t> find_message(std::span<const int64_t> from, double seconds) override {
    pollfd ready{.fd = in_, .events = POLLIN, .revents = 0};
    const bool there = poll(&ready, 1, static_cast<int>(seconds * 1000)) > 0;
    return there ? std::optional(from.front()) : std::nullopt;
  }
  std::unique_ptr<dist::SharedWindow> open_window(int64_t /*bytes*/) override {
    TY_CHECK(false, "an actor's process shares no memory");
  }

  void read(std::span<std::byte> to) const {
    while (!to.empty()) {
      const ssize_t got = ::read(in_, to.data(), to.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw SupervisorExited("the learner is gone");
      to = to.subspan(static_cast<size_t>(got));
    }
  }

 private:
  void write(std::span<const std::byte> from) const {
    while (!from.empty()) {
      const ssize_t put = ::write(out_, from.data(), from.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) throw SupervisorExited("the learner is gone");
      from = from.subspan(static_cast<size_t>(put));
    }
  }

  int in_;
  int out_;
};

}  // namespace

void supervise_actor(dist::Communicator& comm, const RlConfig& config) {
  Supervisor(comm, config).run();
}

void run_actor_process() {
  signal(SIGPIPE, SIG_IGN);
  // Whatever else writes to stdout must not be among the messages.
  const int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    ActorSetup hello;
    const PipeRank start(0, 1, STDIN_FILENO, out);
    start.read(std::as_writable_bytes(std::span(&hello, 1)));
    constexpr int64_t kMostSettings = 1 << 20;
    TY_REQUIRE(hello.rank >= 1 && hello.rank < hello.ranks && hello.life >= 0 && hello.bytes >= 0 &&
                   hello.bytes <= kMostSettings,
               "rl actor is started by rl train, which tells it what to do");
    std::string yaml(static_cast<size_t>(hello.bytes), ' ');
    start.read(std::as_writable_bytes(std::span(yaml)));
    RlConfig config;
    settings_of(config).read_yaml(yaml, "the learner's settings");
    PipeRank link(hello.rank, hello.ranks, STDIN_FILENO, out);
    run_actor(link, config, static_cast<uint64_t>(hello.life));
  } catch (const SupervisorExited&) {
    return;
  }
}

}  // namespace trainyard::rl
