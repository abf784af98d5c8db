#include "report/table.h"

#include <gtest/gtest.h>

namespace trainyard::report {
namespace {

Table small_table() {
  Table table({{"layer", Align::kLeft, 8}, {"params"}});
  table.add_row({"features.0.weight", count_cell(1792)});
  table.add_rule();
  table.add_row({"total, all", count_cell(1234567)});
  return table;
}

TEST(Table, TextAlignsAndShortens) {
  EXPECT_EQ(small_table().to_text(),
            "layer        params\n"
            "────────  ─────────\n"
            "feat…ght      1,792\n"
            "────────  ─────────\n"
            "tota…all  1,234,567\n");
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

TEST(Document, JsonIsTheDataAlone) {
  Document document;
  document.blocks.emplace_back(Heading{"Counts"});
  document.data = Json::object({{"params", int64_t{7}}});
  EXPECT_EQ(render(document, Format::kJson), "{\n  \"params\": 7\n}\n");
  EXPECT_EQ(render(document, Format::kText), "Counts\n======\n");
}

}  // namespace
}  // namespace trainyard::report
