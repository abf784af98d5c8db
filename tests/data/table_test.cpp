// Tables: how cells are read, what columns are taken for, and what is refused.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "data/table/cell_reader.h"
#include "data/table/table_set.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::data {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const std::string& text) {
  const TableText table(text, "t.csv");
  CellReader reader(table);
  std::vector<std::string_view> cells;
  Rows rows;
  while (reader.next(cells)) rows.emplace_back(cells.begin(), cells.end());
  return rows;
}

TEST(CellReader, ReadsQuotesBlanksAndSeparators) {
  EXPECT_EQ(rows_of("a, b ,c\n1,\"x, \"\"y\"\"\nz\",\n\n3,4,5"),
            (Rows{{"a", "b", "c"}, {"1", "x, \"y\"\nz", ""}, {"3", "4", "5"}}));
  EXPECT_EQ(rows_of("\xef\xbb\xbf"
                    "a;b\r\n1,5;2\r\n"),
            (Rows{{"a", "b"}, {"1,5", "2"}}));
  EXPECT_EQ(rows_of("a\tb\n\t2\n"), (Rows{{"a", "b"}, {"", "2"}}));
  EXPECT_EQ(rows_of("  1.5   2  \n 3 4\n"), (Rows{{"1.5", "2"}, {"3", "4"}}));
}

TEST(CellReader, RefusesWhatIsNoTable) {
  EXPECT_THROW(rows_of(""), Error);
  EXPECT_THROW(rows_of("\n\n"), Error);
  EXPECT_THROW(rows_of(std::string("a,b\n\0", 5)), Error);
  EXPECT_THROW(rows_of("a,b\n\"1,2\n"), Error);
  EXPECT_THROW(rows_of("a,b\n\"1\"2,3\n"), Error);
  const std::string wide(2'000'000, ',');
  EXPECT_NE(message_of([&] { rows_of(wide); }).find("16384 cells"), std::string::npos);
}

class Tables : public testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "t.csv") const {
    write_file(folder_.path() / name, text);
    return (folder_.path() / name).string();
  }
  std::unique_ptr<Dataset> open(const std::string& text, const std::string& options,
                                Split split = Split::kTrain) const {
    return open_dataset("csv:" + write(text) + "," + options, split);
  }
  std::string message(const std::string& text, const std::string& options) const {
    return message_of([&] { open(text, options); });
  }
  static const TableColumn& column(const Dataset& set, std::string_view name) {
    for (const TableColumn& column : set.table()->columns) {
      if (column.name == name) return column;
    }
    throw_error("there is no '{}'", name);
  }

  TemporaryFolder folder_{"tables"};
};

const std::string kFolder = TY_TABLE_DIR;

TEST_F(Tables, TellWhatColumnsAre) {
  const std::string spec = "csv:" + kFolder + "/houses.csv,target=price";
  const auto set = open_dataset(spec, Split::kTrain);
  EXPECT_EQ(set->target_kind(), TargetKind::kNumber);
  EXPECT_EQ(set->size(), 192);
  EXPECT_EQ(open_dataset(spec, Split::kTest)->size(), 48);
  // A name in each row and the same country in all say nothing.
  EXPECT_EQ(set->table()->columns.size(), 5U);
  EXPECT_EQ(set->problems().size(), 2U);
  EXPECT_EQ(column(*set, "district").values,
            (std::vector<std::string>{"east", "north", "south", "west, by the river"}));
  EXPECT_TRUE(column(*set, "age").may_miss);
  EXPECT_FALSE(column(*set, "area").may_miss);
  // Area, rooms, age and whether it is missing; four districts, three ways of heating.
  EXPECT_EQ(set->table()->width(), 4 + 4 + 3);
  std::vector<float> row(5);
  set->read_row(0, row);
  EXPECT_GT(row[0], 1);

  const auto flowers = open_dataset("csv:" + kFolder + "/flowers.csv,target=kind", Split::kTest);
  EXPECT_EQ(flowers->class_names(), (std::vector<std::string>{"aster", "bellis", "crocus"}));
  EXPECT_EQ(flowers->size(), 30);
  int64_t asters = 0;
  for (int64_t i = 0; i < flowers->size(); ++i) asters += flowers->label(i) == 0 ? 1 : 0;
  EXPECT_EQ(asters, 10) << "every class gives its share";
}

TEST_F(Tables, MeasureTrainingRowsOnly) {
  const std::string test = write("x,y\n1000,0.5\n", "test.csv");
  const auto set = open("x,y\n1,0.5\n3,1.25\n?,2\n", "target=y,test=" + test);
  EXPECT_EQ(set->size(), 3);
  EXPECT_DOUBLE_EQ(column(*set, "x").mean, 2);
  EXPECT_DOUBLE_EQ(column(*set, "x").std, 1);
  const auto other = open_dataset(
      "csv:" + write("x,y\n1,0.5\n3,1.25\n?,2\n") + ",target=y,test=" + test, Split::kTest);
  EXPECT_EQ(*other->table(), *set->table());
  std::vector<float> row(1);
  other->read_row(0, row);
  EXPECT_EQ(row[0], 1000);
  Loader loader(*set, {.batch = 4});
  loader.start_epoch(0);
  const Batch* const batch = loader.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->valid, 3);
  EXPECT_EQ(batch->input().shape(), (Shape{4, 1}));
  EXPECT_TRUE(std::isnan(batch->input().values<float>()[2]));
  EXPECT_EQ(batch->numbers.values<float>()[1], 1.25F);
}

TEST_F(Tables, TakeWishes) {
  const std::string text = "a,b,c\n1,1,5\n2,2,7\n1,3,8\n2,4,9\n3,5,11\n";
  EXPECT_EQ(open(text, "target=c,task=number")->target_kind(), TargetKind::kNumber);
  const auto classes = open(text, "target=a,task=classes,ignore=b");
  EXPECT_EQ(classes->class_names(), (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(classes->table()->columns.size(), 1U);
  const auto kinds = open(text, "target=c,task=number,categories=a+b,test=0.2");
  EXPECT_EQ(column(*kinds, "b").kind, ColumnKind::kCategory);
  const auto plain = open(text, "target=c,task=number,normalize=no");
  EXPECT_EQ(column(*plain, "b").std, 1);
  // Without names columns are numbered.
  const auto bare = open("1,2,3.5\n2,3,4.5\n4,4,9.25\n5,7,1.5\n", "target=3");
  EXPECT_EQ(column(*bare, "1").kind, ColumnKind::kNumber);
  EXPECT_EQ(open("1,2\n3,4.5\n5,6\n7,8\n", "target=2,header=yes")->size(), 2);
}

TEST_F(Tables, SayWhatIsWrong) {
  const std::string text = "size,color,price\n1,red,3.5\n2,blue,4.5\n3,red,5.5\n";
  EXPECT_NE(message(text, "target=prise").find("Did you mean price"), std::string::npos);
  EXPECT_NE(message(text, "test=0.5").find("target=COLUMN"), std::string::npos);
  EXPECT_NE(message("a,b\n1,2\n2,2\n", "target=b").find("'2' in every row"), std::string::npos);
  EXPECT_NE(message("a,b\n1,NA\n2,\n", "target=b").find("empty in all 2 rows"), std::string::npos);
  EXPECT_NE(message("a,b\n5,1.5\n5,2.5\n5,4\n", "target=b").find("no column is left"),
            std::string::npos);
  EXPECT_NE(message("a,b\n1,2\n3\n", "target=b").find("line 3: 1 cells"), std::string::npos);
  EXPECT_NE(message("a,a\n1,2\n3,4\n", "target=a").find("two columns"), std::string::npos);
  EXPECT_NE(message(text, "target=color,task=number").find("is to be a number"), std::string::npos);
  EXPECT_NE(message(text, "target=price,paint=1").find("there is no option"), std::string::npos);
  EXPECT_NE(message(text, "target=price,ignore=sise").find("Did you mean size"), std::string::npos);
  std::string ids = "id,x\n";
  for (int i = 0; i < 50; ++i) ids += fmt::format("n{},{}\n", i, i);
  EXPECT_NE(message(ids, "target=id").find("no classes"), std::string::npos);
  // One over its deviation would be infinity.
  EXPECT_NE(message("a,b\n1e-40,1.5\n2e-40,2.5\n4e-40,4\n", "target=b").find("multiply it"),
            std::string::npos);
  // Their difference would be infinity.
  EXPECT_NE(message("a,b\n-3.3e38,1.5\n3.3e38,2.5\n1,4\n", "target=b").find("beyond 1e+30"),
            std::string::npos);
  EXPECT_NE(message("a,b\n1,3.3e38\n2,-3.3e38\n4,1.5\n", "target=b,task=number").find("unit"),
            std::string::npos);
  // Infinity is a text, which makes categories of the column: too many to learn from.
  EXPECT_EQ(open("a,b,c\ninf,1,1.5\n2,2,2.5\n3,1,7.5\n4,2,1.25\n", "target=c")->problems().size(),
            1U);
}

TEST_F(Tables, NotesSurviveTheFile) {
  const auto set = open_dataset("csv:" + kFolder + "/houses.csv,target=price", Split::kTrain);
  const std::string text = set->table()->json().dump(-1);
  EXPECT_EQ(TableSchema::parse(text, "note"), *set->table());
  EXPECT_THROW(TableSchema::parse("{}", "note"), Error);
  EXPECT_THROW(TableSchema::parse("{\"columns\":[],\"target\":{\"name\":\"x\"}}", "note"), Error);
}

TEST_F(Tables, RowsAreReadByTheNamesOfTheirColumns) {
  const auto set =
      open("size,color,price\n1,red,3.5\n2,blue,4.5\n4,red,5.5\n5,blue,7.5\n", "target=price");
  const Tensor rows = parse_rows("color,weight,size\nblue,9,7\ngreen,9,\n", "sent", *set->table());
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(rows.values<float>()[0], 7);
  EXPECT_EQ(rows.values<float>()[1], 0);
  EXPECT_TRUE(std::isnan(rows.values<float>()[2]));
  EXPECT_TRUE(std::isnan(rows.values<float>()[3])) << "not seen in training";
  EXPECT_EQ(parse_rows("7,red\n", "sent", *set->table()).values<float>()[1], 1);
  EXPECT_THROW(parse_rows("size,weight\n1,2\n", "sent", *set->table()), Error);
  EXPECT_THROW(parse_rows("size,color\nbig,red\n", "sent", *set->table()), Error);
}

}  // namespace
}  // namespace trainyard::data
