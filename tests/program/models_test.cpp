#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "models/zoo/model.h"
#include "support/run_program.h"

namespace trainyard::cli {
namespace {

TEST(ModelsCommand, ListsEveryModelInEveryFormat) {
  for (const char* format : {"text", "md", "csv", "json"}) {
    const Outcome outcome = run({"models", "--format", format});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const models::ModelDef* model : models::all_models()) {
      EXPECT_NE(outcome.out.find(model->name), std::string::npos) << format << " " << model->name;
    }
  }
}

TEST(ModelsCommand, JsonHasTheFigures) {
  const Json json = Json::parse(run({"models", "--json"}).out, "models");
  ASSERT_EQ(json.at("models").items().size(), models::all_models().size());
  for (const Json& model : json.at("models").items()) {
    EXPECT_GT(model.at("params").as_int(), 0) << model.at("name").as_string();
    EXPECT_GT(model.at("macs").as_int(), 0) << model.at("name").as_string();
    // Channels, height and width of pictures; the tokens of a text.
    EXPECT_FALSE(model.at("input").items().empty()) << model.at("name").as_string();
    EXPECT_FALSE(model.at("paper").at("title").as_string().empty());
  }
}

TEST(ModelsCommand, ShowsOneModelInFull) {
  const Outcome outcome = run({"models", "mobilenet_v2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* text : {"3,504,872", "classes, image, width", "arXiv:1801.04381", "1x1000"}) {
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " in\n" << outcome.out;
  }
  const Json json = Json::parse(run({"models", "mobilenet_v2", "--json"}).out, "mobilenet_v2");
  EXPECT_EQ(json.at("params").as_int(), 3'504'872);
}

TEST(ModelsCommand, UnknownModelIsAWrongRequest) {
  const Outcome outcome = run({"models", "resnet5O"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("Did you mean resnet50"), std::string::npos) << outcome.err;
}

// The page holds what `trainyard models --format md` prints.
TEST(ModelsCommand, TheDocumentedTableIsCurrent) {
  const std::string page = read_file(TY_DOCS_DIR "/models.md");
  const std::string table = run({"models", "--format", "md"}).out;
  EXPECT_NE(page.find(table), std::string::npos) << "docs/models.md does not hold this table:\n"
                                                 << table;
}

}  // namespace
}  // namespace trainyard::cli
