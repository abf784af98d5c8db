#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/json.h"
#include "engine/kernels/parallel/parallel.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

TEST(CalibrateCommand, MakesThisMachineADevice) {
  const TemporaryFolder home("calibrate");
  setenv("HOME", home.path().c_str(), 1);
  const Outcome before = run({"predict", "lenet5", "--device", "this"});
  EXPECT_EQ(before.code, 2);
  EXPECT_NE(before.err.find("trainyard calibrate"), std::string::npos) << before.err;

  const Outcome made = run({"calibrate", "--quick", "--json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(std::filesystem::exists(home.path() / ".config/trainyard/this.yaml"));
  EXPECT_FALSE(Json::parse(made.out, "output").at("samples").items().empty());

  for (const bool inference : {true, false}) {
    std::vector<std::string> arguments = {"predict", "lenet5", "--device", "this", "--json"};
    if (inference) arguments.emplace_back("--inference");
    const Outcome predicted = run(arguments);
    ASSERT_EQ(predicted.code, 0) << predicted.err;
    const Json json = Json::parse(predicted.out, "output");
    EXPECT_GT(json.at("rows").items()[0].at("images_per_s").as_number(), 0);
  }
  // Another number of threads is another device.
  const std::string threads = std::to_string(kernels::available_cores() + 1);
  const Outcome other = run({"calibrate", "--quick", "--threads", threads});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(run({"predict", "lenet5", "--device", "this-" + threads}).code, 0);
  const Outcome shown = run({"devices", "show", "this"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("point"), std::string::npos);

  const Outcome scored = run({"validate", "--this", "--model", "lenet5", "--runs", "1", "--json"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  const Json json = Json::parse(scored.out, "output");
  EXPECT_EQ(json.at("rows").items().size(), 3u);
  EXPECT_GE(json.at("mape").as_number(), 0);
  EXPECT_EQ(run({"validate", "--this", "--model", "lenet55"}).code, 2);
}

}  // namespace
}  // namespace trainyard::cli
