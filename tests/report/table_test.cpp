#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/document.h"
#include "report/html.h"
#include "support/columns.h"

namespace trainyard::report {
namespace {

Table small_table() {
  Table table({{"layer", Align::kLeft, 8}, {"params"}});
  table.add_row({"features.0.weight", count_cell(1792)});
  table.add_rule();
  table.add_row({"total, all", count_cell(1234567)});
  return table;
}

TEST(Table, TextAlignsAndShortensWhereATerminalIsNarrow) {
  EXPECT_EQ(small_table().to_text(),
            "layer                 params\n"
            "─────────────────  ─────────\n"
            "features.0.weight      1,792\n"
            "─────────────────  ─────────\n"
            "total, all         1,234,567\n");
  const Columns narrow(20);
  EXPECT_EQ(small_table().to_text(),
            "layer         params\n"
            "────────── ─────────\n"
            "featu…ight     1,792\n"
            "────────── ─────────\n"
            "total, all 1,234,567\n");
}

TEST(Table, ShortensBetweenCharacters) {
  const Columns narrow(20);
  Table table({{"layer", Align::kLeft, 8}});
  table.add_row({"Übergrößenträgerübergrößenträger"});
  const std::string text = table.to_text();
  EXPECT_EQ(text.substr(text.rfind("─") + 3), "\nÜbergrößen…ßenträger\n");
}

TEST(Table, CsvKeepsExactValuesAndQuotes) {
  EXPECT_EQ(small_table().to_csv(),
            "layer,params\nfeatures.0.weight,1792\n\"total, all\",1234567\n");
}

TEST(Table, MarkdownMarksAlignment) {
  EXPECT_EQ(small_table().to_markdown(),
            "| layer | params |\n| --- | ---: |\n| features.0.weight | 1,792 |\n| total, all | "
            "1,234,567 |\n");
}

TEST(Table, MarkdownEscapesBars) {
  Table table({{"p(a|b)", Align::kLeft}});
  table.add_row({"x|y"});
  EXPECT_EQ(table.to_markdown(), "| p(a\\|b) |\n| --- |\n| x\\|y |\n");
}

TEST(Table, NarrowsGapsAndTextToFitATerminal) {
  const Columns terminal(100);
  const std::string number(20, '7');
  const auto first_line = [&](size_t name_width) {
    Table table({{"name", Align::kLeft, 60}, {"a"}, {"b"}, {"c"}});
    table.add_row({std::string(name_width, 'x'), number, number, number});
    const std::string text = table.to_text();
    const size_t rule_end = text.find('\n', text.find('\n') + 1) + 1;
    return text.substr(rule_end, text.find('\n', rule_end) - rule_end);
  };
  EXPECT_EQ(first_line(34).size(), 34U + 3 * 22);
  EXPECT_EQ(first_line(37).size(), 37U + 3 * 21);
  // One character is the ellipsis, three bytes of UTF-8.
  EXPECT_EQ(first_line(60).size(), 100U + 2);
}

Table sentences() {
  Table table({{"", Align::kLeft}, {"found", Align::kLeft}, {"images per second"}});
  table.add_row({"ok", "/usr/share/datasets/fashion", "12,345"});
  table.add_row({"missing", "say what to do", "1"});
  return table;
}

TEST(Table, SentencesTakeMoreLinesWhereATerminalIsNarrow) {
  const Columns narrow(33);
  EXPECT_EQ(sentences().to_text(),
            "                       images per\n"
            "         found             second\n"
            "───────  ───────────  ───────────\n"
            "ok       /usr/share/       12,345\n"
            "         datasets/\n"
            "         fashion\n"
            "missing  say what to            1\n"
            "         do\n");
}

TEST(Table, ColumnsThatDoNotFitFollowBelowWithTheFirstAgain) {
  const Columns narrow(20);
  Table table({{"model", Align::kLeft}, {"parameters"}, {"MACs"}});
  table.add_row({"resnet50", count_cell(25557032), si_cell(4089e6)});
  EXPECT_EQ(table.to_text(),
            "model     parameters\n"
            "────────  ──────────\n"
            "resnet50  25,557,032\n"
            "\n"
            "model      MACs\n"
            "────────  ─────\n"
            "resnet50  4.09G\n");
}

// A word longer than the terminal is cut, so that nothing of it is lost.
TEST(Table, CutsWordsThatAreTooLong) {
  const Columns narrow(20);
  Table table({{"name", Align::kLeft}});
  table.add_row({std::string(45, 'x')});
  const std::string text = table.to_text();
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 45);
  for (const std::string& line : split(text, '\n')) EXPECT_LE(width_of(line), 20U) << text;
}

TEST(Table, CsvUsesTheKeysOfColumns) {
  Table table({{"MACs", Align::kRight, 0, "macs"}, {"params"}});
  table.add_row({count_cell(1000), count_cell(2000)});
  EXPECT_EQ(table.to_csv(), "macs,params\n1000,2000\n");
}

// Also right below a rule, where a row has both marks.
TEST(Table, StruckRowsAreShownAndNeverTheBest) {
  Table table({{"run"}, {"ms", Align::kRight, 0, "", Best::kLowest}});
  table.add_row({"a", fixed_cell(4, 0)});
  table.add_row({"b", fixed_cell(3, 0)});
  table.add_rule();
  table.add_struck_row({"too large", fixed_cell(1, 0)});
  EXPECT_EQ(table.to_markdown(),
            "| run | ms |\n| ---: | ---: |\n| a | 4 |\n| b | **3** |\n| ~~too large~~ | ~~1~~ |\n");
  const std::string page = table.to_html("");
  EXPECT_NE(page.find("<tr class=\"ruled struck\">"), std::string::npos) << page;
  EXPECT_NE(page.find("<td class=\"r best\">3</td>"), std::string::npos) << page;
}

TEST(Document, JsonIsTheDataAlone) {
  Document document;
  document.blocks.emplace_back(Heading{"Counts"});
  document.data = Json::object({{"params", int64_t{7}}});
  EXPECT_EQ(render(document, Format::kJson), "{\n  \"params\": 7\n}\n");
  EXPECT_EQ(render(document, Format::kText), "Counts\n======\n");
}

TEST(Document, LinesOfAListingHaveTheColorOfTheirMark) {
  Document document;
  document.blocks.emplace_back(Listing{
      "Files", {{"a.json", {{"{\"n\": 2}", "nodes"}, {"<b>"}}}, {"b.yaml", {{"n: 2", "nodes"}}}}});
  EXPECT_EQ(render(document, Format::kText),
            "Files\n\na.json\nnodes | {\"n\": 2}\n      | <b>\n\nb.yaml\nnodes | n: 2\n");
  const std::string page = render(document, Format::kHtml);
  EXPECT_NE(page.find("<span class=\"mark-0\" title=\"nodes\">{&quot;n&quot;: 2}</span>"),
            std::string::npos);
  EXPECT_NE(page.find("<span class=\"mark-0\" title=\"nodes\">n: 2</span>"), std::string::npos);
  EXPECT_NE(page.find("<span>&lt;b&gt;</span>"), std::string::npos);
}

// The job of lab ml-clouds has 22 fields.
TEST(Document, TwentyTwoMarksHaveColorsOfTheirOwn) {
  ListingColumn column{"a.json", {}};
  for (int i = 0; i < 22; ++i) column.lines.push_back({"x", "field " + std::to_string(i)});
  Document document;
  document.blocks.emplace_back(Listing{"Files", {column}});
  const std::string page = render(document, Format::kHtml);
  EXPECT_NE(page.find("<span class=\"mark-21\" title=\"field 21\">"), std::string::npos);
  if (web_style().empty()) GTEST_SKIP() << "built without Node";
  EXPECT_NE(web_style().find(".mark-21"), std::string::npos);
}

TEST(Html, NumbersStayInALineWithTheirUnit) {
  EXPECT_EQ(marked_html("40 % of 5 ms, 3 servers, 2 s."),
            "40\u00a0% of 5\u00a0ms, 3 servers, 2\u00a0s.");
  EXPECT_EQ(marked_html("`sleep 5 s` & **2 h**"),
            "<code>sleep 5 s</code> &amp; <strong>2\u00a0h</strong>");
}

}  // namespace
}  // namespace trainyard::report
