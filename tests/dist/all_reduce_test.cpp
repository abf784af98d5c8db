#include "dist/all_reduce.h"

#include <mutex>

#include <gtest/gtest.h>

#include "base/error.h"
#include "dist/collectives.h"
#include "dist/single.h"
#include "dist/threads.h"
#include "support/all_reduce_checks.h"

namespace trainyard::dist {
namespace {

struct Case {
  int64_t ranks;
  int64_t per_host;
};

class EveryAllReduce : public ::testing::TestWithParam<Case> {};

TEST_P(EveryAllReduce, SumsOverTheRanks) {
  int64_t checked = 0;
  for (const AllReduce* algorithm : all_reduces()) {
    run_in_threads({.ranks = GetParam().ranks, .per_host = GetParam().per_host},
                   [&](Communicator& comm) {
                     Collectives collectives(comm);
                     if (algorithm->available && !algorithm->available(collectives.context())) {
                       return;
                     }
                     const std::string wrong = check_all_reduce(collectives, *algorithm);
                     if (!wrong.empty()) throw_failure("rank {}: {}", comm.rank(), wrong);
                     if (comm.rank() == 0) ++checked;
                   });
  }
  // Threads have no library; shared memory needs one host.
  EXPECT_GE(checked, 6);
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryAllReduce,
                         testing::Values(Case{1, 0}, Case{2, 0}, Case{3, 0}, Case{4, 0}, Case{7, 0},
                                         Case{4, 2}, Case{7, 3}, Case{3, 1}),
                         [](const auto& test) {
                           return "n" + std::to_string(test.param.ranks) + "_per_host" +
                                  std::to_string(test.param.per_host);
                         });

TEST(AllReduce, AloneNothingChanges) {
  SingleProcess comm;
  Collectives collectives(comm);
  std::vector<float> values = {1, 2, 3};
  for (const AllReduce* algorithm : all_reduces()) {
    collectives.all_reduce(Elements::of(values), *algorithm);
  }
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
}

TEST(AllReduce, BroadcastsFromAnyRank) {
  for (const int64_t ranks : {1, 2, 3, 4, 7}) {
    for (int64_t root = 0; root < ranks; ++root) {
      run_in_threads({.ranks = ranks}, [&](Communicator& comm) {
        Collectives collectives(comm);
        std::vector<double> values(5, static_cast<double>(comm.rank()));
        collectives.broadcast(Elements::of(values), root);
        if (values != std::vector<double>(5, static_cast<double>(root))) {
          throw_failure("rank {} got {} from {}", comm.rank(), values[0], root);
        }
      });
    }
  }
}

TEST(AllReduce, AutoDependsOnHosts) {
  const auto chosen = [](int64_t ranks, int64_t per_host, int64_t bytes) {
    std::string name;
    run_in_threads({.ranks = ranks, .per_host = per_host}, [&](Communicator& comm) {
      Collectives collectives(comm);
      const AllReduce& algorithm =
          resolve_all_reduce(find_all_reduce("auto"), collectives.context(), bytes);
      if (comm.rank() == 0) name = algorithm.name;
    });
    return name;
  };
  EXPECT_EQ(chosen(4, 0, 1 << 20), "shared");
  EXPECT_EQ(chosen(4, 1, 1 << 10), "butterfly");
  EXPECT_EQ(chosen(4, 1, 1 << 26), "ring");
  EXPECT_EQ(chosen(4, 2, 1 << 26), "hierarchical");
}

TEST(AllReduce, UnknownNamesGetSuggestions) {
  try {
    find_all_reduce("rign");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean ring?"), std::string::npos);
  }
}

// What rank 0 says of a job whose rank 1 does `other` in place of the all-reduce.
template <typename Other>
std::string complaint(std::string_view algorithm, Other other) {
  std::string said;
  try {
    run_in_threads({.ranks = 2, .limit_s = 0.05}, [&](Communicator& comm) {
      Collectives collectives(comm);
      std::vector<float> values(100);
      if (comm.rank() == 1) {
        other(collectives);
        return;
      }
      try {
        collectives.all_reduce(Elements::of(values), find_all_reduce(algorithm));
      } catch (const Failure& failure) {
        said = failure.what();
      }
    });
  } catch (const Failure&) {
    // Rank 1 may complain as well.
  }
  return said;
}

TEST(AllReduce, WaitsHaveALimitAndNameTheRank) {
  for (const char* algorithm : {"ring", "shared", "tree"}) {
    const std::string said = complaint(algorithm, [](Collectives&) {});
    EXPECT_NE(said.find("rank 1"), std::string::npos) << algorithm << ": " << said;
  }
}

TEST(FindMessage, FindsWhatWasSent) {
  for (const int64_t ranks : {1, 2, 5}) {
    run_in_threads({.ranks = ranks}, [](Communicator& comm) {
      EXPECT_EQ(check_find_message(comm), "") << "rank " << comm.rank();
    });
  }
}

TEST(FindLate, IsWhoeverDoesNotSayThatItWaits) {
  for (const int64_t ranks : {1, 2, 5}) {
    run_in_threads({.ranks = ranks, .per_host = 2}, [](Communicator& comm) {
      EXPECT_EQ(check_find_late(comm), "") << "rank " << comm.rank();
    });
  }
}

TEST(FindMessage, ARankThatFailedIsNamed) {
  std::string said;
  const auto body = [&](Communicator& comm) {
    if (comm.rank() == 1) throw_failure("broken");
    const int64_t from = 1;
    try {
      comm.find_message({&from, 1}, 20);
    } catch (const Failure& failure) {
      said = failure.what();
    }
  };
  EXPECT_THROW(run_in_threads({.ranks = 2}, body), Failure);
  EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
}

TEST(AllReduce, DifferentSizesAreRefused) {
  for (const char* algorithm : {"ring", "shared", "tree"}) {
    const std::string said = complaint(algorithm, [&](Collectives& collectives) {
      std::vector<float> values(60);
      collectives.all_reduce(Elements::of(values), find_all_reduce(algorithm));
    });
    EXPECT_NE(said.find("rank 1"), std::string::npos) << algorithm << ": " << said;
  }
}

}  // namespace
}  // namespace trainyard::dist
