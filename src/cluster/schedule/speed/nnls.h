// Least squares with coefficients that are not negative.
#pragma once

#include <span>
#include <vector>

namespace trainyard::schedule {

// The x >= 0 that minimizes |A x - b|, for a few columns (at most 8): the best of the unconstrained
// solutions over all choices of columns whose coefficients come out positive. `rows` holds A row by
// row.
std::vector<double> non_negative_least_squares(std::span<const double> rows,
                                               std::span<const double> b, size_t columns);

// log det of A'A with `ridge` added to its diagonal: how much the rows tell about the coefficients.
double information(std::span<const double> rows, size_t columns, double ridge);

}  // namespace trainyard::schedule
