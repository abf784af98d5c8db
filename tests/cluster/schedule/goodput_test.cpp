// Pollux' simulator on one of its workloads (tools/schedule_fixtures.py).
#include "cluster/schedule/simulator/goodput.h"

#include <gtest/gtest.h>

#include "cluster/schedule/policies/policies.h"
#include "cluster/schedule/summary.h"
#include "fixture.h"
#include "support/error_message.h"

namespace trainyard::schedule {
namespace {

SimulationResult run_pollux(const Json& data, const Json& one, Policy& policy, bool elastic) {
  std::map<std::string, std::shared_ptr<GoodputApplication>> applications;
  for (const auto& [name, app] : data.at("applications").members()) {
    applications[name] = std::make_shared<GoodputApplication>(read_application(app));
  }
  const Json& table = one.at("jobs");
  std::vector<Job> jobs;
  for (size_t i = 0; i < table.at("name").items().size(); ++i) {
    const std::string& name = table.at("application").items()[i].as_string();
    const int64_t batch = table.at("batch_size").items()[i].as_int();
    const auto& app = applications.at(name);
    Job job;
    job.id = table.at("name").items()[i].as_string();
    job.arrival = table.at("submit_s").items()[i].as_number();
    job.worker = {0, 1, 0, 0};
    job.rigid = !elastic;
    job.gang = static_cast<int32_t>(table.at("num_replicas").items()[i].as_int());
    job.most_workers =
        elastic ? (name == "ncf" ? 1 : static_cast<int32_t>(batch / app->least_local)) : job.gang;
    job.progress = std::make_shared<GoodputProgress>(app, batch);
    jobs.push_back(std::move(job));
  }
  const Json& shape = data.at("cluster");
  const Cluster cluster = Cluster::uniform(static_cast<int32_t>(shape.at("nodes").as_int()),
                                           {0, shape.at("gpus_per_node").as_number(), 0, 0});
  return simulate(cluster, jobs, policy,
                  {.interval = shape.at("interval_s").as_number(),
                   .restart_seconds = shape.at("restart_delay_s").as_number()});
}

void expect_like(const SimulationResult& result, const Json& expected) {
  EXPECT_NEAR(summarize(result).average / expected.at("avg_jct_s").as_number(), 1, 0.005);
  size_t same = 0;
  for (const JobResult& job : result.jobs) {
    same += job.completion_time() == expected.at("jct_s").at(job.id).as_number();
  }
  EXPECT_GT(same, result.jobs.size() * 9 / 10);
}

TEST(PolluxOracle, Tiresias) {
  const Json data = fixture("pollux.json");
  for (const Json& one : data.at("cases").items()) {
    const auto policy = make_policy("tiresias-pollux");
    expect_like(run_pollux(data, one, *policy, false), one.at("results").at("tiresias"));
  }
}

TEST(PolluxOracle, Optimus) {
  const Json data = fixture("pollux.json");
  for (const Json& one : data.at("cases").items()) {
    const auto policy = make_policy("optimus-pollux");
    expect_like(run_pollux(data, one, *policy, true), one.at("results").at("optimus"));
  }
}

// What reading an application of two epochs says after one member became `value`.
std::string read_changed(const char* key, const char* value) {
  Json data = Json::parse(R"({"init_batch_size": 12, "max_batch_size": 384, "min_local_bsz": 4,
      "max_local_bsz": 12, "max_epochs": 2, "progress_after_epoch": [0, 10, 20],
      "by_batch_size": {"12": {"completion_epoch": 1, "iterations_after_epoch": [5, 9],
                               "grad_sqr": [1, 2], "grad_var": [3, 4]}},
      "step_sync_seconds": {"1|12": [0.9, 0.1]}})",
                          "application");
  data[key] = Json::parse(value, "value");
  // Another test of the folder has one of its own.
  return trainyard::message_of([&] { read_application(data); });
}

TEST(Goodput, RefusesApplicationsThatCannotBeRun) {
  EXPECT_EQ(read_changed("max_local_bsz", "8"), "no error");
  EXPECT_EQ(read_changed("max_local_bsz", "0"), "'max_local_bsz' is 0, expected 1 to 1000000000");
  EXPECT_EQ(read_changed("max_batch_size", "9223372036854775807"),
            "'max_batch_size' is 9223372036854775807, expected 1 to 1000000000");
  EXPECT_EQ(read_changed("progress_after_epoch", "[0, 10]"),
            "'progress_after_epoch' has 2 numbers, expected 3");
  EXPECT_EQ(read_changed("progress_after_epoch", "[0, 10, 10]"),
            "'progress_after_epoch' is 10 after 10, expected more");
  EXPECT_EQ(read_changed("step_sync_seconds", R"({"1|12": [0.9]})"),
            "'step_sync_seconds' of '1|12' has 1 numbers, expected 2");
  EXPECT_EQ(read_changed("step_sync_seconds", R"({"1|12": [0.5, 0.75]})"),
            "'step_sync_seconds' of '1|12' is 0.5 and 0.75, expected a step above 0 and up to as "
            "much of synchronization");
}

TEST(Goodput, RefusesRecordsThatAreTooShort) {
  const auto said = [](const char* batch, const char* completion, const char* squares) {
    return read_changed("by_batch_size", fmt::format(R"({{"{}": {{"completion_epoch": {},
                            "iterations_after_epoch": [5, 9], "grad_sqr": {},
                            "grad_var": [3, 4]}}}})",
                                                     batch, completion, squares)
                                             .c_str());
  };
  EXPECT_EQ(said("12", "1", "[1, 2]"), "no error");
  EXPECT_EQ(said("many", "1", "[1, 2]"),
            "'by_batch_size' has 'many', expected a batch of 1 to 1000000000");
  EXPECT_EQ(said("12", "2", "[1, 2]"), "'completion_epoch' is 2, expected less than 2");
  EXPECT_EQ(said("12", "1", "[1]"), "'grad_sqr' has 1 numbers, expected 2");
  EXPECT_EQ(read_changed("by_batch_size", "{}"),
            "'by_batch_size' is empty, expected at least one batch");
}

// Between measured batches and numbers of workers and nodes lines; beyond them the last.
TEST(StepTable, Interpolates) {
  StepTable table;
  EXPECT_TRUE(table.empty());
  table.add_placement("12", 10, {1.0, 0.1});
  table.add_placement("12", 20, {3.0, 0.3});
  table.add_placement("44", 10, {4.0, 0.4});
  table.add_counts(4, 8, 10, {8.0, 0.8});
  EXPECT_EQ(table.at({2, 1}, 10), (StepSeconds{1.0, 0.1}));  // a rotation
  EXPECT_DOUBLE_EQ(table.at({1, 2}, 15).first, 2.0);
  EXPECT_DOUBLE_EQ(table.at({1, 2}, 40).first, 3.0);
  EXPECT_DOUBLE_EQ(table.at({2, 2}, 10).first, 1 + 1.0 / 5 * 3);  // from 3 to 8 workers
  EXPECT_DOUBLE_EQ(table.at({4, 2, 2}, 10).second, 0.6);          // between 2 and 4 nodes
  EXPECT_DOUBLE_EQ(table.at({2, 2, 2, 2, 2}, 10).first, 8.0);
}

}  // namespace
}  // namespace trainyard::schedule
