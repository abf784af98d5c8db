#include "runs/metrics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::runs {
namespace {

Json line(int64_t step, double loss) {
  return Json::object({{"step", step}, {"loss", loss}});
}

class Metrics : public ::testing::Test {
 protected:
  TemporaryFolder folder_{"metrics_test"};
  std::filesystem::path path_ = folder_ / "metrics.jsonl";
};

TEST_F(Metrics, AppendsWholeLines) {
  MetricsWriter writer(path_, 0);
  writer.append(line(0, 2.5));
  writer.append(line(1, std::nan("")));
  EXPECT_EQ(read_file(path_), "{\"step\":0,\"loss\":2.5}\n{\"step\":1,\"loss\":null}\n");
  EXPECT_THROW(writer.append(line(0, 1)), InternalError);
}

TEST_F(Metrics, AResumedRunLeavesTheLinesOfAnUninterruptedOne) {
  const auto run = [&](int64_t from, int64_t to) {
    MetricsWriter writer(path_, from);
    for (int64_t step = from + 1; step <= to; ++step) {
      writer.append(line(step, 1.0 / static_cast<double>(step)));
      if (step % 3 == 0) writer.append(Json::object({{"step", step}, {"accuracy", 0.5}}));
    }
  };
  run(0, 10);
  const std::string uninterrupted = read_file(path_);
  for (const int64_t checkpoint : {0, 3, 5, 6, 9}) {
    std::filesystem::remove(path_);
    run(0, 9);
    AppendFile(path_).append("{\"step\":10,\"lo");
    run(checkpoint, 10);
    EXPECT_EQ(read_file(path_), uninterrupted) << "resumed at " << checkpoint;
  }
}

TEST_F(Metrics, ReadsWhatATornFileHolds) {
  write_file(path_, "{\"step\":1}\n{\"step\":2,\"a\":[1]}\n{\"step\":3");
  const std::vector<Json> lines = read_metrics(path_);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].at("a").items()[0].as_int(), 1);
}

TEST_F(Metrics, NamesTheLineThatIsWrong) {
  write_file(path_, "{\"step\":1}\n{\"loss\":2}\n");
  EXPECT_NE(message_of([&] { read_metrics(path_); }).find("metrics.jsonl:2: expected an object"),
            std::string::npos);
  write_file(path_, "{\"step\":1}\n\n{\"step\":2}\n");
  EXPECT_NE(message_of([&] { MetricsWriter(path_, 5); }).find("metrics.jsonl:2: not valid"),
            std::string::npos);
  EXPECT_EQ(read_file(path_), "{\"step\":1}\n\n{\"step\":2}\n");
  EXPECT_THROW(MetricsWriter(path_ / "below", 0), Failure);
}

}  // namespace
}  // namespace trainyard::runs
