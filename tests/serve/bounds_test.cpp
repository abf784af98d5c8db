// What requests may cost, and what happens to those that come at a bad time.
#include <ctime>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "http/connection_slots.h"
#include "http/http_server.h"
#include "http/memory_budget.h"
#include "http/origin_policy.h"
#include "http/rate_limit.h"
#include "serve/fixture.h"
#include "serve/models/config_bounds.h"
#include "serve/scheduling/slow_work.h"

namespace trainyard::serve {
namespace {

TEST(MemoryBudget, HandsOutNoMoreThanThereIs) {
  const auto budget = std::make_shared<MemoryBudget>(100);
  MemoryBudget::Share one(budget);
  EXPECT_TRUE(one.grow_to(60));
  MemoryBudget::Share two(budget);
  EXPECT_FALSE(two.grow_to(41));
  EXPECT_FALSE(two.grow_to(SIZE_MAX));
  EXPECT_TRUE(two.grow_to(40));
  EXPECT_EQ(error_of([&] { two.require(41); }).substr(0, 18), "the requests under");
  one.shrink_to(10);
  const MemoryBudget::Share moved = std::move(two);
  EXPECT_EQ(budget->taken(), 50U);
  one = MemoryBudget::Share();
  EXPECT_EQ(budget->taken(), 40U);
}

TEST(ConnectionSlots, OneClientDoesNotHaveThemAll) {
  ConnectionSlots seats(4, 3);
  std::vector<std::unique_ptr<ConnectionSlot>> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(seats.take("a"));
  EXPECT_EQ(seats.take("a"), nullptr);
  const auto other = seats.take("b");
  EXPECT_NE(other, nullptr);
  EXPECT_EQ(seats.take("c"), nullptr);
  taken.pop_back();
  EXPECT_NE(seats.take("c"), nullptr);
}

// Thousands of addresses that ask at the same time are looked at now and then, not by each request.
TEST(RateLimit, CostsTheSameHoweverManyAsk) {
  RateLimit limit(1);
  const Clock::time_point now = Clock::now();
  const std::clock_t begin = std::clock();
  for (int i = 0; i < 60'000; ++i) EXPECT_TRUE(limit.allows(std::to_string(i), now));
  EXPECT_FALSE(limit.allows("1", now));
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 2.0);
}

// A pass that waits for all cores, since few jobs waited, goes on one as soon as enough have come.
TEST(ComputeGate, HearsOfJobsThatCome) {
  ComputeGate gate(3);
  std::atomic<int64_t> jobs = 1;
  const ComputeGate::Pass held(gate, 1);
  auto passed = std::async(std::launch::async, [&] {
    const ComputeGate::Pass pass(gate, [&] { return jobs.load(); });
    return pass.has_all();
  });
  EXPECT_EQ(passed.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  jobs = 2;
  gate.jobs_came();
  ASSERT_EQ(passed.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_FALSE(passed.get());
}

// Who is turned away gets back what it brought: nothing of the version that goes.
TEST(ModelVersion, HandsBackWhatItWasGivenWhenItGoes) {
  ComputeGate gate(1);
  ResponseCache cache(1 << 20);
  ModelConfig config;
  config.name = "gather";
  config.response_cache = true;
  auto model = std::make_unique<ModelVersion>(config, 1, gather_source(), Shared{gate, &cache});
  model->shut_down(Clock::now());
  Answer answer;
  InferRequest request = index_request(1);
  InferDone done = answer.done();
  EXPECT_FALSE(model->infer(request, done));
  model = nullptr;
  InferResult result;
  result.model = "another";
  done(std::move(result));
  EXPECT_EQ(answer.get().model, "another");
  EXPECT_EQ(cache.bytes(), 0);
}

TEST(ModelVersion, AnswersAnOutputOnce) {
  ComputeGate gate(1);
  ModelConfig config;
  config.name = "gather";
  ModelVersion model(config, 1, gather_source(), {gate});
  InferRequest request = index_request(1);
  request.outputs = {{.name = "OUT"}, {.name = "OUT"}};
  InferDone done = [](auto) {};
  EXPECT_EQ(error_of([&] { model.infer(request, done); }),
            "output 'OUT' already exists in request: ask for it once");
}

TEST(SlowWork, LetsSmallWorkOvertakeLarge) {
  SlowWork work(1);
  std::mutex mutex;
  std::string order;
  std::promise<void> begin;
  const std::shared_future<void> begun = begin.get_future().share();
  const Clock::time_point now = Clock::now();
  const auto piece = [&](char name, int count) {
    return [&, name, count]() mutable {
      begun.wait();
      const std::lock_guard lock(mutex);
      order += name;
      return --count > 0;
    };
  };
  work.post(SlowWork::turn_of(now, 0), piece('0', 1));
  work.post(SlowWork::turn_of(now, 1 << 26), piece('L', 3));
  work.post(SlowWork::turn_of(now + std::chrono::milliseconds(10), 1000), piece('s', 2));
  work.post(SlowWork::turn_of(now + std::chrono::hours(1), 0), piece('z', 1));
  begin.set_value();
  work.finish();
  EXPECT_EQ(order, "0ssLLLz");
}

TEST(SlowWork, SurvivesWhatIsThrown) {
  SlowWork work(1);
  work.post(Clock::now(), []() -> bool { throw std::bad_alloc(); });
  std::atomic<bool> done = false;
  work.post(Clock::now(), [&] {
    done = true;
    return false;
  });
  work.finish();
  EXPECT_TRUE(done);
}

TEST(OriginPolicy, KnowOurNames) {
  const OriginPolicy pages({"Models.Example"});
  for (const char* host : {"localhost", "LOCALHOST:80", "a.localhost", "127.0.0.1:8000", "10.1.2.3",
                           "[::1]:8000", "models.example.", "models.example:443"}) {
    EXPECT_TRUE(pages.is_our_host(host)) << host;
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
                           "models.example.evil", "xlocalhost", "[evil]"}) {
    EXPECT_FALSE(pages.is_our_host(host)) << host;
  }
  EXPECT_TRUE(OriginPolicy({"*"}).is_our_host("any.example"));
}

TEST(ConfigBounds, NameTheFieldAndItsBounds) {
  ModelConfig config;
  EXPECT_NO_THROW(check_bounds(config, "c"));
  config.warm_ups.push_back({.name = "w", .batch = 1, .count = int64_t{1} << 40});
  EXPECT_EQ(error_of([&] { check_bounds(config, "c"); }),
            "c: field 'model_warmup.count' is 1099511627776, expected 0 to 1000");
}

// Answers how long ago a request came.
class AgeHandler final : public HttpHandler {
 public:
  void handle(const HttpRequest& request, Reply reply) override {
    const auto age = std::chrono::duration_cast<std::chrono::hours>(Clock::now() - request.arrived);
    reply([age] { return HttpResponse{.body = std::to_string(age.count())}; });
  }
  void refused(Status, std::string_view) override {}
};

TEST(HttpServer, KnowsWhenARequestCameWhateverTheLimits) {
  AgeHandler handler;
  HttpOptions options;
  options.port = 0;
  options.limits.header = std::chrono::seconds(0);  // none
  HttpServer server(options, handler);
  const Address address{"127.0.0.1", server.port()};
  std::thread thread([&] { server.run(); });
  EXPECT_EQ(fetch(address, http_message("GET", "/", address, "", "")).body, "0");
  server.stop(std::chrono::seconds(5));
  thread.join();
}

}  // namespace
}  // namespace trainyard::serve
