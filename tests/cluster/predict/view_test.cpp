#include "cluster/predict/view.h"

#include <gtest/gtest.h>

#include "cluster/predict/catalog.h"

namespace trainyard::report {
namespace {

TEST(PredictionReport, BarsAddUpToTheStep) {
  const predict::Catalog catalog = predict::Catalog::built_in();
  predict::Request request;
  request.device = &catalog.device("v100");
  request.stack = &catalog.default_stack(*request.device);
  // Input takes less than the rest, then more than it.
  predict::Row hidden;
  hidden.forward = 0.01;
  hidden.backward = 0.02;
  hidden.update = 0.001;
  hidden.exposed_comm = 0.003;
  hidden.waiting = 0.002;
  hidden.input = 0.03;
  hidden.step = 0.036;
  predict::Row slow = hidden;
  slow.workers = 2;
  slow.input = slow.step = 0.05;
  const std::vector<predict::Row> rows = {hidden, slow};
  PredictionContext context;
  context.network = "n";
  const Document document = prediction_document(context, request, rows);
  EXPECT_NEAR(document.data.at("rows").items()[0].at("waiting_ms").as_number(), 2, 1e-9);
  size_t charts = 0;
  for (const Block& block : document.blocks) {
    const auto* const chart = std::get_if<Chart>(&block);
    if (chart == nullptr || chart->kind != ChartKind::kStackedBar) continue;
    ++charts;
    for (size_t i = 0; i < rows.size(); ++i) {
      double sum = 0;
      for (const Series& series : chart->series) sum += series.points[i].y;
      EXPECT_NEAR(sum, rows[i].step * 1e3, 1e-6) << i;
    }
    EXPECT_EQ(chart->series.back().name, "waiting for input");
    EXPECT_NEAR(chart->series.back().points[0].y, 0, 1e-6);
  }
  EXPECT_EQ(charts, 1U);
}

}  // namespace
}  // namespace trainyard::report
