#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

TEST(JobsCommand, NewRenderCheckImportAndRenderAgain) {
  const TemporaryFolder folder("jobs");
  const std::string job = (folder / "job.yaml").string();
  EXPECT_EQ(run({"jobs", "new", "-o", job}).code, 0);
  write_file((folder / "mine.yaml").string(), "name: mine\n");
  EXPECT_EQ(run({"jobs", "new", "-o", (folder / "mine.yaml").string()}).code, 2);
  EXPECT_EQ(run({"jobs", "check", job}).code, 0);
  const std::string out = (folder / "out").string();
  const Outcome rendered = run({"jobs", "render", job, "--to", "all", "-o", out, "--json"});
  ASSERT_EQ(rendered.code, 0) << rendered.err;
  const Json data = Json::parse(rendered.out, "json");
  EXPECT_EQ(data.at("renderings").items().size(), 9U);
  for (const Json& rendering : data.at("renderings").items()) {
    const Json& file = rendering.at("files").items().at(0);
    const std::string path = out + "/" + file.at("name").as_string();
    EXPECT_EQ(read_file(path), file.at("text").as_string());
    EXPECT_EQ(run({"jobs", "check", path}).code, 0) << path;
    const std::string again = (folder / "again.yaml").string();
    ASSERT_EQ(run({"jobs", "import", path, "-o", again}).code, 0) << path;
    const Outcome second =
        run({"jobs", "render", again, "--to", rendering.at("platform").as_string(), "--json"});
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(Json::parse(second.out, "json")
                  .at("renderings")
                  .items()
                  .at(0)
                  .at("files")
                  .items()
                  .at(0)
                  .at("text")
                  .as_string(),
              file.at("text").as_string());
  }
}

TEST(JobsCommand, WrongFilesExitWithTwoAndSayWhere) {
  const TemporaryFolder folder("jobs_wrong");
  const std::string job = (folder / "job.yaml").string();
  write_file(job,
             "name: a\ncommand: x\nimage: i\nnods: 2\nmachine: {accelerator: v100, count: 3}\n");
  const Outcome checked = run({"jobs", "check", job});
  EXPECT_EQ(checked.code, 2);
  EXPECT_NE(checked.err.find("Did you mean nodes"), std::string::npos) << checked.err;
  const Outcome rendered = run({"jobs", "render", job, "--to", "slurm"});
  EXPECT_EQ(rendered.code, 2);
  EXPECT_NE(rendered.err.find(job + ":4: field 'nods'"), std::string::npos) << rendered.err;
  write_file(job, "name: a\ncommand: x\nimage: i\nmachine: {accelerator: v100, count: 3}\n");
  const Outcome refused =
      run({"jobs", "render", job, "--to", "all", "-o", (folder / "out").string()});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("field 'machine.count'"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  EXPECT_EQ(run({"jobs", "render", job, "--to", "slurn"}).code, 2);
  EXPECT_NE(run({"jobs", "chek", job}).err.find("Did you mean check"), std::string::npos);
  EXPECT_EQ(run({"jobs", "check", job, "--hours", "2"}).code, 2);
}

TEST(JobsCommand, PlanCompareAndPlatforms) {
  const TemporaryFolder folder("jobs_plan");
  const std::string job = (folder / "job.yaml").string();
  ASSERT_EQ(run({"jobs", "new", "-o", job}).code, 0);
  const Outcome plan = run({"jobs", "plan", job, "--json"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  const Json planned = Json::parse(plan.out, "json");
  for (const Json& offer : planned.at("offers").items()) {
    // Never a price without its date.
    if (offer.find("usd_per_hour") == nullptr) continue;
    EXPECT_FALSE(offer.at("date").as_string().empty());
  }
  const Outcome compared =
      run({"jobs", "compare", job, "--to", "sagemaker,vertex", "--format", "html"});
  ASSERT_EQ(compared.code, 0) << compared.err;
  EXPECT_NE(compared.out.find("class=\"mark-"), std::string::npos);
  const Outcome platforms = run({"jobs", "platforms", "--to", "ibm", "--format", "md"});
  ASSERT_EQ(platforms.code, 0);
  EXPECT_EQ(platforms.out.find("| Amazon SageMaker |"), std::string::npos);
  EXPECT_EQ(run({"jobs", "platforms", "--to", "ibn"}).code, 2);
}

}  // namespace
}  // namespace trainyard::cli
