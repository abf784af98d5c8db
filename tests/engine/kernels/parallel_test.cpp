// Work shared among threads: every part once, meetings, helpers that come late, nested work.
#include "engine/kernels/parallel/parallel.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/kernels/parallel/team.h"

namespace trainyard::kernels {
namespace {

class Parallel : public ::testing::Test {
 protected:
  void SetUp() override { before_ = threads(); }
  void TearDown() override { set_threads(before_); }

 private:
  int before_ = 1;
};

TEST_F(Parallel, EveryItemOnceWhateverTheNumberOfThreads) {
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    for (const int64_t items : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(items));
      // Often, so that helpers are met awake, asleep and late.
      for (int round = 0; round < 200; ++round) {
        parallel_for(items, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) seen[static_cast<size_t>(i)] += 1;
        });
        if (round % 50 == 49) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      for (const auto& times : seen) EXPECT_EQ(times, 200) << count << " threads";
    }
  }
}

// How work is cut must not depend on who does it: results are the same to the bit.
TEST_F(Parallel, PartsAreTheSameInEveryRun) {
  set_threads(3);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> right{0};
    parallel_for(10, [&](int64_t begin, int64_t end) {
      const bool known =
          (begin == 0 && end == 3) || (begin == 3 && end == 6) || (begin == 6 && end == 10);
      if (known) ++right;
    });
    EXPECT_EQ(right, 3);
  }
}

TEST_F(Parallel, WorkInsideOfWorkStaysOnItsThread) {
  set_threads(2);
  std::atomic<int> parts{0};
  parallel_for(2, [&](int64_t, int64_t) {
    parallel_for(4, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(end - begin, 4);
      ++parts;
    });
  });
  EXPECT_EQ(parts, 2);
}

TEST_F(Parallel, PartsThatWaitForEachOtherMeet) {
  struct Counts {
    Team team;
    std::atomic<int> before{0};
    std::atomic<int> wrong{0};
  } counts;
  for (int round = 1; round <= 50; ++round) {
    counts.team.run(
        3,
        [](void* data) {
          auto& c = *static_cast<Counts*>(data);
          for (int meeting = 0; meeting < 2; ++meeting) {
            c.before += 1;
            c.team.meet();
            if (c.before % 3 != 0) c.wrong += 1;
            c.team.meet();
          }
        },
        &counts);
    EXPECT_EQ(counts.before, round * 6);
  }
  EXPECT_EQ(counts.wrong, 0);
}

TEST_F(Parallel, EveryThreadHasItsOwnTeam) {
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      set_threads(2);
      for (int round = 0; round < 100; ++round) {
        parallel_for(100, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 100 * 100);
}

// Many teams on few cores, with gaps about as long as helpers spin: they are always about to sleep
// or to wake, and owners lose their core in the middle of waking them. A helper that missed one
// wake-up would never come again, and the meeting of the next region would not end.
TEST_F(Parallel, NoHelperIsLostOnABusyMachine) {
  constexpr int kOwners = 4;
  constexpr int kParts = 3;
  constexpr int kRegions = 2000;
  std::atomic<int64_t> ran{0};
  struct Region {
    std::atomic<int64_t>& ran;
    bool meets;
  };
  const auto own = [&](int owner) {
    Team team;
    for (int round = 0; round < kRegions; ++round) {
      Region region{ran, round % 16 == 15};
      team.run(
          kParts,
          [](void* data) {
            const auto& work = *static_cast<Region*>(data);
            work.ran += 1;
            if (work.meets) place().team->meet();
          },
          &region);
      const auto gap = std::chrono::microseconds((round * 7 + owner * 13) % 90);
      const auto end = std::chrono::steady_clock::now() + gap;
      while (std::chrono::steady_clock::now() < end) {
      }
    }
  };
  std::vector<std::thread> owners;
  for (int owner = 0; owner < kOwners; ++owner) owners.emplace_back(own, owner);
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(ran, int64_t{kOwners} * kParts * kRegions);
}

void keep_to(const cpu_set_t& cores) {
  ASSERT_EQ(sched_setaffinity(0, sizeof cores, &cores), 0);
}

// A helper is brought to the owner's core, where both would take turns: its next part is elsewhere.
// The scheduler may bring it back once in a while.
TEST_F(Parallel, HelpersLeaveTheOwnersCore) {
  if (available_cores() < 2) GTEST_SKIP() << "there is one core";
  constexpr int kTimes = 30;
  struct State {
    cpu_set_t all;
    cpu_set_t owners;
    std::atomic<bool> bring{true};
    std::atomic<int> brought{0};
    std::atomic<int> stayed{0};
    std::thread::id owner = std::this_thread::get_id();
  } state;
  ASSERT_EQ(sched_getaffinity(0, sizeof state.all, &state.all), 0);
  const int core = sched_getcpu();
  CPU_ZERO(&state.owners);
  CPU_SET(core, &state.owners);
  Team team;
  team.grow(2);
  keep_to(state.owners);
  while (state.brought < kTimes) {
    team.run(
        2,
        [](void* data) {
          auto& s = *static_cast<State*>(data);
          const bool owns = std::this_thread::get_id() == s.owner;
          if (!owns && s.bring.exchange(false)) {
            keep_to(s.owners);
            keep_to(s.all);
          } else if (!owns) {
            s.stayed += static_cast<int>(CPU_ISSET(sched_getcpu(), &s.owners) != 0);
            s.brought += 1;
            s.bring = true;
          } else if (place().part == 0) {
            // So that the helper comes before the owner has time for its part.
            std::this_thread::sleep_for(std::chrono::microseconds(200));
          }
        },
        &state);
  }
  keep_to(state.all);
  EXPECT_LT(state.stayed, kTimes / 3);
}

// Threads take address space for their stacks.
void ask_for_threads_without_room() {
  const rlimit limit{rlim_t{1} << 20U, rlim_t{1} << 20U};
  setrlimit(RLIMIT_AS, &limit);
  try {
    set_threads(64);
    parallel_for(64, [](int64_t, int64_t) {});
  } catch (const Failure& failure) {
    (void)!write(STDERR_FILENO, failure.what(), std::strlen(failure.what()));
    _exit(1);
  }
}

TEST_F(Parallel, AThreadThatCannotStartIsAFailure) {
  EXPECT_EXIT(ask_for_threads_without_room(), ::testing::ExitedWithCode(1), "cannot be started");
}

}  // namespace
}  // namespace trainyard::kernels
