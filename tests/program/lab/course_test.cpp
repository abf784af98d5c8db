// Questions of the course: where they are answered, and the report of a problem.
#include "program/lab/course.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "program/lab/lab_report.h"
#include "program/lab/listings.h"
#include "program/lab/notebook.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::lab {
namespace {

TEST(Course, HasTheQuestionsOfFiveDocuments) {
  std::map<std::string, int64_t> points;
  size_t questions = 0;
  for (const CourseProblem& problem : course_problems()) {
    for (const CourseQuestion& question : problem.questions) {
      if (!question.bonus) points[problem.id] += question.points;
      ++questions;
    }
  }
  EXPECT_EQ(questions, 94U);
  // As the documents give them.
  const std::map<std::string, int64_t> given = {
      {"hw3-p1", 15},  {"hw3-p2", 30}, {"hw3-p3", 35}, {"hw3-p4", 20}, {"hw4-p1", 25},
      {"hw4-p2", 20},  {"hw4-p3", 30}, {"hw4-p4", 25}, {"hw5-a", 50},  {"hw5-b", 50},
      {"hw7-p1", 6},   {"hw7-p2", 20}, {"hw7-p3", 24}, {"hw7-p4", 20}, {"lab5-p1", 15},
      {"lab5-p2", 15}, {"lab5-p3", 20}};
  EXPECT_EQ(points, given);
  EXPECT_EQ(course_question("hw5-a.3.1").label, "Homework 5, A.3.1");
  EXPECT_NE(message_of([] { course_question("hw7-p2.9"); }).find("Did you mean hw7-p2."),
            std::string::npos);
  EXPECT_NE(message_of([] { course_problem("hw7p2"); }).find("Did you mean hw7-p2"),
            std::string::npos);
}

TEST(Course, EveryQuestionHasALab) {
  const auto places = course_places(all_labs());
  for (const CourseProblem& problem : course_problems()) {
    for (const CourseQuestion& question : problem.questions) {
      EXPECT_TRUE(places.contains(question.id)) << question.id;
    }
  }
}

constexpr const char* kAnswers = R"(
title: Two parts
question: What?
steps:
  - {name: first, run: "models --one"}
  - {name: second, run: "models --two"}
report:
  - answer: "Both: {{ .first[0].result.n + sum_of_second }}."
    course: [hw7-p2.1, hw7-p2.2]
  - text: Nobody asked this.
  - heading: The first part
    course: hw7-p2.1
  - table: {rows: '[{n: .first[0].result.n}]', columns: [{key: n}]}
  - why: It is a principle.
  - heading: The second part
  - answer: "Second: {{ .second[0].result.n }}."
    course: hw7-p2.3
)";

class CourseDocumentTest : public ::testing::Test {
 protected:
  CourseDocumentTest() : folder_("course") {
    write_file(folder_ / "parts.yaml", kAnswers);
    write_file(folder_ / "parts.jq", "def sum_of_second: [.second[].result.n] | add;\n");
    lab_ = load_lab((folder_ / "parts.yaml").string());
    data_ = Json::parse(
        R"({"settings": {}, "quick": true, "scale": "quick", "machine": {"threads": 2}, "load_average": 0,
            "first": [{"result": {"n": 3}}], "second": [{"result": {"n": 4}}]})",
        "test");
  }

  report::Document document() const {
    return course_document(course_problem("hw7-p2"),
                           {{&lab_, cells_of(lab_, {}, folder_.path()), data_}}, "trainyard");
  }

  static size_t count(const std::string& text, const std::string& piece) {
    size_t n = 0;
    for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++n;
    return n;
  }

  TemporaryFolder folder_;
  Lab lab_;
  Json data_;
};

TEST_F(CourseDocumentTest, EachQuestionHasItsPartsOnce) {
  const std::string text = report::render(document(), report::Format::kText);
  for (const char* piece :
       {"Homework 7, problem 2: Data parallelism", "Question 1 (5 points)", "Asked: Epoch time",
        "=> Both: 7.", "Why: It is a principle.", "trainyard models --one",
        "Answered together with a question before this one.", "=> Second: 4.",
        "Note: No lab answers this question."}) {
    EXPECT_EQ(count(text, piece), 1U) << piece << "\n" << text;
  }
  EXPECT_EQ(text.find("Nobody asked this"), std::string::npos);
  EXPECT_LT(text.find("Question 3"), text.find("=> Second"));
  // The command of the second step belongs to the first answer by a function, and to its own.
  EXPECT_EQ(count(text, "trainyard models --two"), 2U) << text;
}

TEST_F(CourseDocumentTest, TheLabSaysWhatIsAsked) {
  const std::string text =
      report::render(lab_document(lab_, data_, "trainyard"), report::Format::kText);
  EXPECT_NE(text.find("Asked: Homework 7, 2.3 (5 points): How much"), std::string::npos) << text;
  EXPECT_NE(text.find("Why: It is a principle."), std::string::npos) << text;
  EXPECT_EQ(text.find("--scale course"), std::string::npos) << text;
  Json data = data_;
  data["scale"] = "course";
  EXPECT_NE(report::render(lab_document(lab_, data, "trainyard"), report::Format::kText)
                .find("the course's configuration (`--scale course`)"),
            std::string::npos);
  for (const auto format : {report::Format::kHtml, report::Format::kMarkdown}) {
    const std::string page = report::render(lab_document(lab_, data_, "trainyard"), format);
    EXPECT_NE(
        page.find(format == report::Format::kHtml ? "<aside class=\"why\">" : "> **Why:** It"),
        std::string::npos);
  }
}

TEST_F(CourseDocumentTest, UnknownQuestionsAreErrorsWithTheirPlace) {
  std::string text = kAnswers;
  text.replace(text.find("hw7-p2.3"), 8, "hw7-p2.7");
  write_file(folder_ / "wrong.yaml", text);
  const std::string message =
      message_of([&] { course_places({load_lab((folder_ / "wrong.yaml").string())}); });
  EXPECT_NE(message.find("wrong.yaml:17"), std::string::npos) << message;
  EXPECT_NE(message.find("hw7-p2.7"), std::string::npos) << message;
}

TEST_F(CourseDocumentTest, TheNotebookHasTextBesideItsFigureAndAnswersFromResults) {
  const Json file = Json::parse(notebook(document(), {.choices = {.scale = Scale::kQuick},
                                                      .name = "hw7-p2",
                                                      .course = true,
                                                      .runs = "/there/runs"}),
                                "notebook");
  std::vector<std::string> sources;
  for (const Json& cell : file.at("cells").items()) {
    std::string source = cell.at("cell_type").as_string() + ": ";
    for (const Json& line : cell.at("source").items()) source += line.as_string();
    sources.push_back(source);
  }
  const auto place = [&](const std::string& piece) {
    for (size_t i = 0; i < sources.size(); ++i) {
      if (sources[i].find(piece) != std::string::npos) return i;
    }
    ADD_FAILURE() << piece;
    return sources.size();
  };
  EXPECT_NE(sources[1].find("lab = ty.course(\"hw7-p2\", scale=\"quick\", "
                            "runs_dir=ty.find_runs(\"/there/runs\"))"),
            std::string::npos)
      << sources[1];
  const size_t answer = place("lab.section(\"Question 1 (5 points)\").answer(1)");
  const size_t figure = place("lab.section(\"Question 1 (5 points)\").figure(1)");
  EXPECT_LT(answer, place("**The first part**"));
  EXPECT_LT(place("**The first part**"), figure);
  EXPECT_LT(figure, place("**Why:** It is a principle"));
  EXPECT_NE(sources[answer].find("code: # "), std::string::npos);
  EXPECT_EQ(sources[place("trainyard models --one")].find("code:"), std::string::npos);
}

// What is written of the labs is what they are.
TEST(Course, ThePageIsMadeOfTheLabs) {
  const std::string page = read_file(std::string(TY_DOCS_DIR) + "/labs.md");
  const size_t begin = page.find(kPageMarker);
  ASSERT_NE(begin, std::string::npos);
  EXPECT_TRUE(page.substr(begin) == labs_page())
      << "docs/labs.md is not what the labs say: run `trainyard lab list --page docs/labs.md`";
}

TEST(Course, TheListHasEveryQuestion) {
  const Json data = course_list_document("").data;
  EXPECT_EQ(data.at("questions").items().size(), 94U);
  EXPECT_EQ(course_list_document("hw7-p1").data.at("questions").items().size(), 1U);
  EXPECT_THROW(course_list_document("hw9"), Error);
}

}  // namespace
}  // namespace trainyard::lab
