#include "cluster/transformer/nearest_row.h"

#include <cmath>

namespace trainyard::transformer {
namespace {

// What other words for the same amount to, in doublings.
constexpr double kOtherGeneration = 4;
constexpr double kOtherDevice = 1;
constexpr double kOtherPrecision = 2;
constexpr double kOtherKind = 8;  // experts, adapters or their absence

double doublings(double a, double b) {
  return std::abs(std::log2(a / b));
}

double each(const Mapping& mapping) {
  return static_cast<double>(mapping.batch) / static_cast<double>(mapping.workers);
}

}  // namespace

const PublishedRow* nearest_row(std::span<const PublishedRow> rows, const Transformer& model,
                                const Machine& machine, const Mapping& mapping) {
  const double cost = token_flops(model, mapping.sequence).training();
  const PublishedRow* best = nullptr;
  double least = 0;
  for (const PublishedRow& row : rows) {
    if (row.pass != Pass::kTraining) continue;
    double far =
        2 * doublings(token_flops(row.model, row.mapping.sequence).training(), cost) +
        doublings(static_cast<double>(row.mapping.workers), static_cast<double>(mapping.workers)) +
        doublings(static_cast<double>(row.mapping.sequence),
                  static_cast<double>(mapping.sequence)) +
        0.5 * doublings(each(row.mapping), each(mapping));
    if (row.machine.id != machine.id) far += kOtherDevice;
    if (row.machine.generation != machine.generation) far += kOtherGeneration;
    if (row.mapping.number != mapping.number) far += kOtherPrecision;
    if ((row.model.experts > 0) != (model.experts > 0)) far += kOtherKind;
    if ((row.mapping.lora > 0) != (mapping.lora > 0)) far += kOtherKind;
    if (best != nullptr && far >= least) continue;
    best = &row;
    least = far;
  }
  return best;
}

}  // namespace trainyard::transformer
