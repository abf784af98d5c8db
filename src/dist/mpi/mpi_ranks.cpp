#include "dist/mpi/mpi_ranks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iostream>
#include <string>
#include <sys/types.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>
#include <mpi.h>

#include "base/error.h"
#include "base/printable.h"

namespace trainyard::dist {
namespace {

// Processes of ranks, as far as this process can see them; others are taken to live.
class Processes {
 public:
  // By rank; 0: on another host.
  explicit Processes(std::vector<pid_t> processes);

  // A rank whose process has ended; -1: none is known.
  int64_t find_ended() const;
  bool is_stopped(int64_t rank) const;
  // "process 123 is stopped", "process 123 is alive", … Empty: not known.
  std::string condition(int64_t rank) const;
  pid_t process(int64_t rank) const { return processes_[static_cast<size_t>(rank)]; }

 private:
  std::vector<pid_t> processes_;
};

// While it lives, the process ends with exit code 1 and a message once the time is up: for calls
// that wait without a limit. One at a time.
class Deadline {
 public:
  // `doing` must be a literal: "start".
  Deadline(double seconds, const char* doing);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
};

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(200);

std::atomic<Clock::rep> deadline = 0;  // 0: none
std::atomic<const char*> doing_now = nullptr;
std::atomic<double> limit_now = 0;

[[noreturn]] void watch() {
  while (true) {
    std::this_thread::sleep_for(kLook);
    const Clock::rep end = deadline.load(std::memory_order_acquire);
    if (end == 0 || Clock::now().time_since_epoch().count() < end) continue;
    std::fputs(fmt::format("trainyard: process {} waited {} s for MPI to {}\n", getpid(),
                           limit_now.load(), doing_now.load())
                   .c_str(),
               stderr);
    _exit(1);
  }
}

// The letter of /proc/PID/stat (R, S, D, T, Z …); 0: there is no such process.
char process_state(pid_t process) {
  std::FILE* file = std::fopen(fmt::format("/proc/{}/stat", process).c_str(), "r");
  if (file == nullptr) return 0;
  // "123 (name) S …"; the name may hold anything.
  char text[512] = {};
  const size_t got = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  const size_t close = std::string_view(text, got).rfind(')');
  if (close == std::string_view::npos || close + 2 >= got) return 0;
  return text[close + 2];
}

Processes::Processes(std::vector<pid_t> processes) : processes_(std::move(processes)) {
  for (pid_t& process : processes_) {
    // In another container a number means somebody else, or nobody.
    if (process != 0 && process_state(process) == 0) process = 0;
  }
}

int64_t Processes::find_ended() const {
  for (size_t r = 0; r < processes_.size(); ++r) {
    if (processes_[r] == 0) continue;
    const char state = process_state(processes_[r]);
    if (state == 0 || state == 'Z' || state == 'X') return static_cast<int64_t>(r);
  }
  return -1;
}

bool Processes::is_stopped(int64_t rank) const {
  const char state = process(rank) == 0 ? 0 : process_state(process(rank));
  return state == 'T' || state == 't';
}

std::string Processes::condition(int64_t rank) const {
  const pid_t process = this->process(rank);
  if (process == 0) return {};
  const char state = process_state(process);
  const char* words = is_stopped(rank)               ? "is stopped"
                      : state == 'D'                 ? "waits for a disk"
                      : state == 'R' || state == 'S' ? "is alive"
                                                     : "has ended";
  return fmt::format("process {} {}", process, words);
}

Deadline::Deadline(double seconds, const char* doing) {
  static const bool kStarted = [] {
    std::thread(watch).detach();
    return true;
  }();
  static_cast<void>(kStarted);
  doing_now = doing;
  limit_now = seconds;
  const auto span =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  deadline.store((Clock::now() + span).time_since_epoch().count(), std::memory_order_release);
}

Deadline::~Deadline() {
  deadline.store(0, std::memory_order_release);
}

// Throws Failure with the library's words.
void check(int code, const char* doing) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0;
  MPI_Error_string(code, words.data(), &length);
  throw_failure("MPI failed to {}: {}", doing, words.data());
}

// Of calls that know no limit themselves, before and after the body.
constexpr double kSetUpLimit = 60;

// Parts follow one another. At distances of 128 MiB and other high powers of two the same place in
// all parts competes for the same lines of the caches and sums take four times as long: so the
// distance is an odd number of pages.
constexpr int64_t kPage = 4096;
constexpr int64_t kRoundPages = 64;
constexpr int64_t kExtraPages = 17;

// MPI's own data stand in front of a part, so it begins anywhere. Segments are mapped at pages:
// what is aligned here is so for all ranks.
constexpr uintptr_t kPartAlignment = 128;

std::byte* aligned(void* part) {
  const auto address = reinterpret_cast<uintptr_t>(part);
  const uintptr_t rest = address % kPartAlignment;
  return static_cast<std::byte*>(part) + (rest == 0 ? 0 : kPartAlignment - rest);
}

int64_t staggered(int64_t bytes) {
  const int64_t pages = (bytes + kPage - 1) / kPage;
  return ((pages + kRoundPages - 1) / kRoundPages * kRoundPages + kExtraPages) * kPage;
}

class MpiWindow : public SharedWindow {
 public:
  MpiWindow(MPI_Comm host, int64_t bytes) {
    // Parts begin at pages of their own.
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info), "describe a window");
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    void* mine = nullptr;
    const int64_t room = staggered(bytes + static_cast<int64_t>(kPartAlignment));
    const int code =
        MPI_Win_allocate_shared(static_cast<MPI_Aint>(room), 1, info, host, &mine, &window_);
    MPI_Info_free(&info);
    check(code, "allocate shared memory (is /dev/shm large enough?)");
    int members = 0;
    MPI_Comm_size(host, &members);
    for (int m = 0; m < members; ++m) {
      MPI_Aint size = 0;
      int unit = 0;
      void* part = nullptr;
      check(MPI_Win_shared_query(window_, m, &size, &unit, &part), "find shared memory");
      parts_.emplace_back(aligned(part), static_cast<size_t>(bytes));
    }
  }
  ~MpiWindow() override {
    // A rank that fails ends the job without waiting for the others.
    if (std::uncaught_exceptions() > 0) return;
    const Deadline limit(kSetUpLimit, "give up shared memory");
    MPI_Win_free(&window_);
  }
  MpiWindow(const MpiWindow&) = delete;
  MpiWindow& operator=(const MpiWindow&) = delete;

  std::span<std::byte> part(int64_t member) const override {
    return parts_[static_cast<size_t>(member)];
  }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::span<std::byte>> parts_;
};

class MpiRank : public Communicator {
 public:
  MpiRank(int64_t rank, std::vector<int64_t> hosts, MPI_Comm world, MPI_Comm host,
          std::vector<pid_t> processes)
      : Communicator(rank, std::move(hosts)),
        world_(world),
        host_(host),
        processes_(std::move(processes)),
        board_(host, sizeof(int64_t)),
        waiting_at_(static_cast<size_t>(size()), 0) {
    if (host_members().front() == rank) std::ranges::fill(board_.part(0), std::byte{});
  }

  void exchange(const Outgoing* out, const Incoming* in) override {
    const std::span<const std::byte> sent = out != nullptr ? out->bytes : decltype(out->bytes){};
    const std::span<std::byte> got = in != nullptr ? in->bytes : decltype(in->bytes){};
    // An empty message is a message too: the first round always runs.
    for (size_t at = 0; at == 0 || at < std::max(sent.size(), got.size()); at += kMostBytes) {
      const bool sends = out != nullptr && (at == 0 || at < sent.size());
      const bool receives = in != nullptr && (at == 0 || at < got.size());
      exchange_piece(sends ? out->to : -1, piece(sent, at), receives ? in->from : -1,
                     piece(got, at));
    }
  }

  std::optional<int64_t> find_message(std::span<const int64_t> from, double seconds) override {
    const auto look = [&] {
      for (size_t i = 0; i < from.size(); ++i) {
        const int64_t rank = from[looked_at_++ % from.size()];
        int flag = 0;
        check(MPI_Iprobe(static_cast<int>(rank), kTag, world_, &flag, MPI_STATUS_IGNORE), "look");
        if (flag != 0) return rank;
      }
      return int64_t{-1};
    };
    // Such a wait may last as long as others compute: it leaves them the core.
    constexpr double kNap = 50e-6;
    int64_t found = look();
    if (found < 0 && seconds > 0) {
      poll_until(
          0, [&] { return (found = look()) >= 0; }, Backoff(kNap),
          [&](double waited) {
            require_all_alive();
            return waited < seconds;
          });
    }
    return found < 0 ? std::nullopt : std::optional(found);
  }

  void tell_waiting(int64_t task) override {
    // Sent by and by, so what is sent stays.
    const int64_t& kept = told_.emplace_back(task);
    for (int64_t r = 0; r < size(); ++r) {
      if (r == rank()) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      check(MPI_Isend(&kept, 1, MPI_INT64_T, static_cast<int>(r), kWaitingTag, world_, &request),
            "tell that it waits");
      MPI_Request_free(&request);
    }
  }

  std::unique_ptr<SharedWindow> open_window(int64_t bytes) override {
    const Deadline limit(limit_s(), "allocate shared memory");
    return std::make_unique<MpiWindow>(host_, bytes);
  }

  std::string condition(int64_t rank) const override { return processes_.condition(rank); }
  bool is_stopped(int64_t rank) const override { return processes_.is_stopped(rank); }

  bool has_library() const override { return true; }

  void library_all_reduce(Elements data) override {
    const MPI_Datatype type = data.dtype == DType::kF64 ? MPI_DOUBLE : MPI_FLOAT;
    for (int64_t begin = 0; begin < data.count; begin += kMostBytes) {
      const Elements part = data.range(begin, std::min<int64_t>(data.count, begin + kMostBytes));
      const Deadline limit(limit_s(), "all-reduce");
      check(MPI_Allreduce(MPI_IN_PLACE, part.data, static_cast<int>(part.count), type, MPI_SUM,
                          world_),
            "all-reduce");
    }
  }

 protected:
  std::vector<int64_t> waiting_at() override {
    while (true) {
      int there = 0;
      MPI_Status status{};
      check(MPI_Iprobe(MPI_ANY_SOURCE, kWaitingTag, world_, &there, &status), "look");
      if (there == 0) return waiting_at_;
      check(MPI_Recv(&waiting_at_[static_cast<size_t>(status.MPI_SOURCE)], 1, MPI_INT64_T,
                     status.MPI_SOURCE, kWaitingTag, world_, MPI_STATUS_IGNORE),
            "hear who waits");
    }
  }

  // Whoever sees first that a rank has ended writes it down, so that all name the same one although
  // those who have seen it end as well.
  void require_all_alive() const override {
    const std::atomic_ref<int64_t> noted(*reinterpret_cast<int64_t*>(board_.part(0).data()));
    int64_t nobody = 0;
    if (const int64_t ended = processes_.find_ended(); ended >= 0) {
      noted.compare_exchange_strong(nobody, ended + 1);
    }
    const int64_t ended = noted.load() - 1;
    if (ended < 0) return;
    throw_failure("rank {} (process {}) has ended unexpectedly; rank {} stops", ended,
                  processes_.process(ended), rank());
  }

 private:
  // MPI counts in int.
  static constexpr int64_t kMostBytes = int64_t{1} << 30;
  static constexpr int kTag = 1;
  static constexpr int kWaitingTag = 2;

  template <typename Byte>
  static std::span<Byte> piece(std::span<Byte> bytes, size_t at) {
    if (at >= bytes.size()) return {};
    return bytes.subspan(at, std::min<size_t>(kMostBytes, bytes.size() - at));
  }

  void exchange_piece(int64_t to, std::span<const std::byte> sent, int64_t from,
                      std::span<std::byte> got) {
    std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (from >= 0) {
      check(MPI_Irecv(got.data(), static_cast<int>(got.size()), MPI_BYTE, static_cast<int>(from),
                      kTag, world_, &requests[0]),
            "receive");
    }
    if (to >= 0) {
      check(MPI_Isend(sent.data(), static_cast<int>(sent.size()), MPI_BYTE, static_cast<int>(to),
                      kTag, world_, &requests[1]),
            "send");
    }
    std::array<MPI_Status, 2> states{};
    std::array<bool, 2> done = {from < 0, to < 0};
    const bool finished = wait_for(from >= 0 ? from : to, kSpins, [&] {
      for (size_t i = 0; i < 2; ++i) {
        if (done[i]) continue;
        int flag = 0;
        check(MPI_Test(&requests[i], &flag, &states[i]), i == 0 ? "receive" : "send");
        done[i] = flag != 0;
      }
      return done[0] && done[1];
    });
    if (!finished) complain(done[0], to, sent.size(), from, got.size());
    if (from >= 0) check_size(states[0], from, got.size());
  }

  [[noreturn]] void complain(bool received, int64_t to, size_t sent, int64_t from,
                             size_t got) const {
    if (!received) {
      throw_failure("rank {} waited {} s for {} bytes from rank {}{}", rank(), limit_s(), got, from,
                    stopped_ranks());
    }
    throw_failure("rank {} waited {} s for rank {} to take {} bytes{}", rank(), limit_s(), to, sent,
                  stopped_ranks());
  }

  void check_size(const MPI_Status& status, int64_t from, size_t wanted) const {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (static_cast<size_t>(count) != wanted) {
      throw_failure("rank {} expected {} bytes from rank {}, which sent {}", rank(), wanted, from,
                    count);
    }
  }

  // Each poll lets the library work; a few before others get the core.
  static constexpr int kSpins = 100;

  MPI_Comm world_ = MPI_COMM_NULL;
  MPI_Comm host_ = MPI_COMM_NULL;
  Processes processes_;
  MpiWindow board_;  // in the part of the first member: 1 + the first rank that ended
  size_t looked_at_ = 0;
  std::deque<int64_t> told_;
  std::vector<int64_t> waiting_at_;  // by rank
};

// A host is named by its lowest rank.
std::vector<int64_t> find_hosts(MPI_Comm world, MPI_Comm host, int rank, int size) {
  int64_t first = rank;
  check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT64_T, MPI_MIN, host), "find the hosts");
  std::vector<int64_t> hosts(static_cast<size_t>(size));
  check(MPI_Allgather(&first, 1, MPI_INT64_T, hosts.data(), 1, MPI_INT64_T, world),
        "find the hosts");
  return hosts;
}

// Of the ranks on the host of `rank`; 0 for the others.
std::vector<pid_t> find_processes(MPI_Comm world, int rank, const std::vector<int64_t>& hosts) {
  const int mine = getpid();
  std::vector<int> all(hosts.size());
  check(MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, world), "find the processes");
  for (size_t r = 0; r < all.size(); ++r) {
    if (hosts[r] != hosts[static_cast<size_t>(rank)]) all[r] = 0;
  }
  return {all.begin(), all.end()};
}

int run_body(const std::function<int(Communicator&)>& body) {
  MPI_Comm world = MPI_COMM_WORLD;
  check(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN), "set up");
  int rank = 0;
  int size = 1;
  check(MPI_Comm_rank(world, &rank), "set up");
  check(MPI_Comm_size(world, &size), "set up");
  MPI_Comm host = MPI_COMM_NULL;
  std::unique_ptr<MpiRank> comm;
  {
    const Deadline limit(kSetUpLimit, "find the ranks of this host");
    check(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host),
          "find the ranks of this host");
    const std::vector<int64_t> hosts = find_hosts(world, host, rank, size);
    comm = std::make_unique<MpiRank>(rank, hosts, world, host, find_processes(world, rank, hosts));
  }
  const int code = body(*comm);
  comm.reset();
  const Deadline limit(kSetUpLimit, "leave the job");
  MPI_Comm_free(&host);
  return code;
}

[[noreturn]] void end_job(int code, const char* why) {
  std::cerr << "trainyard: " + printable(why) + "\n" << std::flush;
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

}  // namespace

bool launched_as_rank() {
  constexpr const char* kSigns[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  return std::any_of(std::begin(kSigns), std::end(kSigns),
                     [](const char* sign) { return std::getenv(sign) != nullptr; });
}

int run_as_mpi_rank(const std::function<int(Communicator&)>& body) {
  {
    const Deadline limit(kSetUpLimit, "start");
    int level = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "start");
  }
  try {
    const int code = run_body(body);
    const Deadline limit(kSetUpLimit, "end the job");
    MPI_Finalize();
    return code;
  } catch (const Error& error) {
    end_job(2, error.what());
  } catch (const Failure& failure) {
    end_job(1, failure.what());
  } catch (const std::exception& bug) {
    end_job(3, bug.what());
  }
}

}  // namespace trainyard::dist
