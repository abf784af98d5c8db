#include "report/fields.h"

#include <gtest/gtest.h>

namespace trainyard::report {
namespace {

struct Times {
  double seconds = 0;
  double share = 0;
};

struct Row {
  std::string name;
  int64_t workers = 0;
  std::optional<double> speedup = {};
  bool fits = false;
  Times times;
};

Fields<Row> row_fields() {
  const Fields<Times> times = {{"step_ms", {"step ms"}, scaled(&Times::seconds, 1e3), Fixed{1}},
                               percent_field<Times>("share", {"of all"}, &Times::share)};
  const auto label = [](const Row& row) { return Cell("<" + row.name + ">"); };
  return joined<Row>({{"name", {"network", Align::kLeft}, &Row::name, label},
                      {"workers", {"workers", Align::kRight, 0, "", Best::kLowest}, &Row::workers},
                      {"speedup", {"speed-up"}, &Row::speedup, Fixed{2}},
                      {"fits", {"fits", Align::kLeft}, &Row::fits},
                      {"twice", [](const Row& row) { return row.workers * 2; }},
                      Field<Row>::shown({"note"}, [](const Row&) { return Cell("seen"); })},
                     of_part<Row>(times, &Row::times));
}

std::vector<Row> two_rows() {
  return {{"a", 1000, std::nullopt, true, {0.25, 0.5}}, {"b", 2000, 1.5, false, {0.5, 0.125}}};
}

TEST(Fields, OneListMakesTheTable) {
  EXPECT_EQ(table_of(row_fields(), two_rows()).to_markdown(),
            "| network | workers | speed-up | fits | note | step ms | of all |\n"
            "| --- | ---: | ---: | --- | ---: | ---: | ---: |\n"
            "| <a> | **1,000** | - | yes | seen | 250.0 | 50.0 % |\n"
            "| <b> | 2,000 | 1.50 | no | seen | 500.0 | 12.5 % |\n");
}

TEST(Fields, HeadsOfCsvAreTitlesOrKeys) {
  EXPECT_EQ(table_of(row_fields(), two_rows()).to_csv(),
            "network,workers,speed-up,fits,note,step ms,of all\n"
            "<a>,1000,-,yes,seen,250,0.5\n"
            "<b>,2000,1.5,no,seen,500,0.125\n");
  const std::string keyed = table_of(row_fields(), two_rows(), Heads::kKeys).to_csv();
  EXPECT_EQ(keyed.substr(0, keyed.find('\n')), "name,workers,speedup,fits,note,step_ms,share");
}

TEST(Fields, ObjectsHaveValuesAndNullForWhatIsAbsent) {
  const Json list = objects_of(row_fields(), two_rows());
  EXPECT_EQ(list.items()[0].dump(-1),
            "{\"name\":\"a\",\"workers\":1000,\"speedup\":null,\"fits\":true,\"twice\":2000,"
            "\"step_ms\":250,\"share\":50}");
  EXPECT_EQ(list.items()[1].at("speedup").as_number(), 1.5);
}

}  // namespace
}  // namespace trainyard::report
