#include "program/lab/notebook.h"

#include <set>

#include <gtest/gtest.h>

namespace trainyard::lab {
namespace {

report::Document lab_report() {
  report::Document document;
  document.title = "How fast";
  document.lead = "Is it fast?";
  document.blocks.emplace_back(report::Heading{"The \"speed\""});
  document.blocks.emplace_back(report::Paragraph{"What was done."});
  report::Table table({{"batch"}, {"speed"}});
  table.add_row({"8", "100"});
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(report::Paragraph{"It is fast.", report::Tone::kAnswer});
  return document;
}

std::string source_of(const Json& cell) {
  std::string text;
  for (const Json& line : cell.at("source").items()) text += line.as_string();
  return text;
}

TEST(Notebook, HasTheQuestionTheCodeAndASectionPerHeading) {
  const Json file =
      Json::parse(notebook(lab_report(),
                           {.choices = {.scale = Scale::kQuick, .set = {"a=1"}}, .name = "speed"}),
                  "f");
  EXPECT_EQ(file.at("nbformat").as_int(), 4);
  const auto& cells = file.at("cells").items();
  ASSERT_EQ(cells.size(), 5U);
  EXPECT_EQ(source_of(cells[0]), "# How fast\n\nIs it fast?\n");
  EXPECT_EQ(
      source_of(cells[1]),
      "# Trainyard's Python package.\nimport trainyard as ty\n\n# Runs the commands, or takes "
      "the results that are there already.\n"
      "lab = ty.lab(\"speed\", scale=\"quick\", set=[\"a=1\"])");
  EXPECT_NE(source_of(cells[2]).find("## The \"speed\"\n"), std::string::npos);
  EXPECT_EQ(source_of(cells[3]), "# The table.\nlab.section(\"The \\\"speed\\\"\").figure(1)");
  EXPECT_EQ(cells[3].at("outputs").items().size(), 1U);
  // What the answer says is an output: it is computed when the cell is executed.
  EXPECT_EQ(source_of(cells[4]).find("It is fast."), std::string::npos);
  EXPECT_NE(source_of(cells[4]).find("\n"
                                     R"(lab.section("The \"speed\"").answer(1))"),
            std::string::npos);
  EXPECT_NE(cells[4].at("outputs").dump(-1).find("It is fast."), std::string::npos);
  std::set<std::string> ids;
  for (const Json& cell : cells) ids.insert(cell.at("id").as_string());
  EXPECT_EQ(ids.size(), cells.size());
}

TEST(Notebook, FormulasAreLatexInTheText) {
  report::Document document = lab_report();
  document.blocks.insert(document.blocks.begin() + 2, report::Formula(R"(S = \frac{v}{b})"));
  const Json file = Json::parse(notebook(document, {.name = "speed"}), "f");
  const std::string source = source_of(file.at("cells").items()[2]);
  EXPECT_NE(source.find("What was done.\n\n$$S=\\frac{v}{b}$$\n"), std::string::npos) << source;
}

// Texts and formulas with numbers are outputs, as answers are.
TEST(Notebook, NumbersInTheTextAreThoseOfTheResults) {
  report::Document document = lab_report();
  document.blocks.insert(document.blocks.begin() + 2,
                         report::Formula(R"(S = \frac{100}{8} = 12.5)"));
  document.blocks.insert(document.blocks.begin() + 3, report::Paragraph{"In all 3 runs."});
  document.blocks.insert(document.blocks.begin() + 4, report::Paragraph{"**1. Speed**"});
  const Json file = Json::parse(notebook(document, {.name = "speed"}), "f");
  const auto& cells = file.at("cells").items();
  EXPECT_NE(source_of(cells[3]).find(".passage(2)"), std::string::npos) << source_of(cells[3]);
  EXPECT_NE(cells[3].at("outputs").dump(-1).find("$$S=\\\\frac{100}{8}=12.5$$"), std::string::npos);
  EXPECT_NE(source_of(cells[4]).find(".passage(3)"), std::string::npos) << source_of(cells[4]);
  EXPECT_EQ(source_of(cells[4]).find("In all 3"), std::string::npos);
  EXPECT_NE(source_of(cells[5]).find("**1. Speed**"), std::string::npos);
}

TEST(Notebook, PricesAreNoFormulas) {
  report::Document document = lab_report();
  document.lead = "Is it $2 or $3?";
  document.blocks.emplace_back(
      report::Paragraph{"$11.18 instead of $9.23, as `$HOME` says", report::Tone::kWhy});
  const Json file = Json::parse(notebook(document, {.name = "speed"}), "f");
  EXPECT_EQ(source_of(file.at("cells").items()[0]), "# How fast\n\nIs it \\$2 or \\$3?\n");
  const std::string why = source_of(file.at("cells").items().back());
  EXPECT_NE(why.find("\\$11.18 instead of \\$9.23, as `$HOME` says"), std::string::npos) << why;
}

TEST(Notebook, BlankLeavesTheConclusionOut) {
  const std::string text = notebook(lab_report(), {.name = "speed", .blank = true});
  EXPECT_EQ(text.find("It is fast."), std::string::npos);
  EXPECT_NE(text.find("Your conclusion"), std::string::npos);
  EXPECT_EQ(text, notebook(lab_report(), {.name = "speed", .blank = true}));
}

}  // namespace
}  // namespace trainyard::lab
