#include "cluster/predict/calibration_view.h"

namespace trainyard::report {
namespace {

using predict::Amount;
using predict::Family;
using predict::Pass;

bool costs_anything(const predict::Amounts& rates) {
  for (const double rate : rates) {
    if (rate > 0) return true;
  }
  return false;
}

double rate_of(const predict::Amounts& rates, Amount amount) {
  return rates[static_cast<size_t>(amount)];
}

// Giga per second; "-" where it costs nothing.
Cell speed_cell(double rate) {
  return rate > 0 ? fixed_cell(1e-9 / rate, 1) : Cell("-");
}

double far_rate(const predict::Amounts& rates) {
  return rate_of(rates, Amount::kBytes) + rate_of(rates, Amount::kFar);
}

template <typename F>
void for_each_cost(const predict::MeasuredCosts& costs, F&& f) {
  for (size_t family = 0; family < predict::kFamilies; ++family) {
    for (size_t pass = 0; pass < predict::kPasses; ++pass) {
      if (!costs_anything(costs.seconds[family][pass])) continue;
      f(static_cast<Family>(family), static_cast<Pass>(pass), costs.seconds[family][pass]);
    }
  }
}

}  // namespace

Table measured_costs_table(const predict::MeasuredCosts& costs, const predict::Device& device,
                           std::span<const predict::MeasuredSample> samples) {
  std::vector<Column> columns = {{"family", Align::kLeft},
                                 {"pass", Align::kLeft},
                                 {"GFLOP/s"},
                                 {"of peak"},
                                 {"near GB/s"},
                                 {"far GB/s"},
                                 {"weights GB/s"},
                                 {"us"}};
  if (!samples.empty()) {
    columns.push_back({"samples"});
    columns.push_back({"error"});
  }
  Table table(std::move(columns));
  for_each_cost(costs, [&](Family family, Pass pass, const predict::Amounts& rates) {
    const double per_flop = rate_of(rates, Amount::kFlops);
    std::vector<Cell> cells = {
        predict::family_name(family),
        predict::pass_name(pass),
        speed_cell(per_flop),
        per_flop > 0 ? percent_cell(1 / (per_flop * device.fp32)) : Cell("-"),
        speed_cell(rate_of(rates, Amount::kBytes)),
        speed_cell(far_rate(rates)),
        speed_cell(rate_of(rates, Amount::kWeights)),
        fixed_cell(rate_of(rates, Amount::kKernels) * 1e6, 1)};
    if (!samples.empty()) {
      const predict::FamilyError error = predict::family_error(samples, costs, family, pass);
      cells.push_back(count_cell(error.samples));
      cells.push_back(error.samples > 0 ? percent_cell(error.error) : Cell("-"));
    }
    table.add_row(std::move(cells));
  });
  return table;
}

Json measured_costs_json(const predict::MeasuredCosts& costs) {
  Json out = Json::array();
  for_each_cost(costs, [&](Family family, Pass pass, const predict::Amounts& rates) {
    out.push_back(Json::object({{"family", predict::family_name(family)},
                                {"pass", predict::pass_name(pass)},
                                {"s_per_flop", rate_of(rates, Amount::kFlops)},
                                {"s_per_near_byte", rate_of(rates, Amount::kBytes)},
                                {"s_per_far_byte", far_rate(rates)},
                                {"s_per_weight_byte", rate_of(rates, Amount::kWeights)},
                                {"s_per_kernel", rate_of(rates, Amount::kKernels)}}));
  });
  return out;
}

Json samples_json(std::span<const predict::MeasuredSample> samples,
                  const predict::MeasuredCosts& costs) {
  Json out = Json::array();
  for (const predict::MeasuredSample& sample : samples) {
    Json terms = Json::array();
    double fitted = 0;
    for (const predict::Term& term : sample.terms) {
      fitted += costs.time(term);
      terms.push_back(Json::object({{"family", predict::family_name(term.family)},
                                    {"pass", predict::pass_name(term.pass)},
                                    {"flops", term.flops},
                                    {"bytes", term.bytes},
                                    {"weight_bytes", term.weights}}));
    }
    out.push_back(Json::object(
        {{"measured_s", sample.seconds}, {"fitted_s", fitted}, {"terms", std::move(terms)}}));
  }
  return out;
}

}  // namespace trainyard::report
