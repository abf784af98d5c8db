#include "base/csv.h"

#include <gtest/gtest.h>

#include "support/error_message.h"

namespace trainyard {
namespace {

TEST(Csv, ReadsQuotedFieldsAndSkipsComments) {
  const CsvTable table =
      CsvTable::parse("# a comment\nname,value\n\"a, \"\"b\"\"\nc\",1.5\r\n\nd,\n", "t.csv");
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table.row(0).text("name"), "a, \"b\"\nc");
  EXPECT_DOUBLE_EQ(table.row(0).number("value"), 1.5);
  EXPECT_EQ(table.row(1).line(), 6);
  EXPECT_FALSE(table.row(1).maybe_number("value"));
}

TEST(Csv, QuotesInCommentsMeanNothing) {
  const CsvTable table = CsvTable::parse("# from x,\"y\na\n1\n# the end,\"", "t.csv");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table.row(0).text("a"), "1");
  EXPECT_EQ(table.row(0).line(), 3);
}

TEST(Csv, ErrorsNameFileLineAndField) {
  const CsvTable table = CsvTable::parse("a,b\n1,x\n", "t.csv");
  EXPECT_EQ(message_of([&] { table.row(0).number("b"); }),
            "t.csv:2: field 'b': expected a number, found 'x'");
  EXPECT_EQ(message_of([&] { table.row(0).text("c"); }),
            "t.csv:2: field 'c': there is no such column");
  EXPECT_EQ(message_of([] { CsvTable::parse("a,b\n1\n", "t.csv"); }),
            "t.csv:2: 1 fields, but the first line names 2 columns");
  EXPECT_EQ(message_of([] { CsvTable::parse("a\n\"1\n", "t.csv"); }),
            "t.csv:2: a quoted field is not closed");
  EXPECT_EQ(message_of([&] {
              table.require_columns({"a", "z"});
            }),
            "t.csv:1: column 'z' is missing; columns here: a, b");
  EXPECT_EQ(message_of([] { CsvTable::parse("", "t.csv"); }),
            "t.csv: empty, expected a line of column names");
}

TEST(Csv, WritingQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
}

}  // namespace
}  // namespace trainyard
