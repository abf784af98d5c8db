#include "cluster/schedule/speed/nnls.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"

namespace trainyard::schedule {
namespace {

using Column = std::vector<double>;

// A column of which less than this share is new beside the others depends on them.
constexpr double kDependent = 1e-12;

double dot(const Column& a, const Column& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double norm(const Column& a) {
  return std::sqrt(dot(a, a));
}

// Takes out of `column` what it has of `direction`, whose norm is 1, and returns how much that was.
double remove(Column& column, const Column& direction) {
  const double share = dot(column, direction);
  for (size_t i = 0; i < column.size(); ++i) column[i] -= share * direction[i];
  return share;
}

struct Solution {
  Column x;
  double squared_residual;
};

// The x that minimizes |A x - b|; none if the columns depend on each other. Modified Gram-Schmidt
// with b as a last column, which loses no more digits than reflections do.
std::optional<Solution> least_squares(std::vector<Column> a, Column b) {
  const size_t count = a.size();
  std::vector<Column> upper(count, Column(count));  // R of A = Q R
  Column x(count);                                  // first Q'b
  Column whole(count);
  for (size_t c = 0; c < count; ++c) whole[c] = norm(a[c]);
  for (size_t c = 0; c < count; ++c) {
    upper[c][c] = norm(a[c]);
    if (upper[c][c] <= kDependent * whole[c]) return std::nullopt;
    for (double& value : a[c]) value /= upper[c][c];
    for (size_t later = c + 1; later < count; ++later) upper[c][later] = remove(a[later], a[c]);
    x[c] = remove(b, a[c]);
  }
  for (size_t c = count; c-- > 0;) {
    for (size_t later = c + 1; later < count; ++later) x[c] -= upper[c][later] * x[later];
    x[c] /= upper[c][c];
  }
  return Solution{.x = std::move(x), .squared_residual = dot(b, b)};
}

}  // namespace

std::vector<double> non_negative_least_squares(std::span<const double> rows,
                                               std::span<const double> b, size_t columns) {
  TY_CHECK(columns >= 1 && columns <= 8 && rows.size() == b.size() * columns, "{} columns",
           columns);
  std::vector<Column> a(columns, Column(b.size()));
  for (size_t i = 0; i < rows.size(); ++i) a[i % columns][i / columns] = rows[i];
  const Column wanted(b.begin(), b.end());
  std::vector<double> best(columns, 0.0);
  double least = dot(wanted, wanted);
  for (unsigned choice = 1; choice < (1U << columns); ++choice) {
    std::vector<size_t> chosen;
    std::vector<Column> part;
    for (size_t c = 0; c < columns; ++c) {
      if ((choice >> c & 1U) == 0) continue;
      chosen.push_back(c);
      part.push_back(a[c]);
    }
    const auto solution = least_squares(std::move(part), wanted);
    if (!solution || *std::ranges::min_element(solution->x) < 0) continue;
    if (solution->squared_residual >= least) continue;
    least = solution->squared_residual;
    best.assign(columns, 0.0);
    for (size_t i = 0; i < chosen.size(); ++i) best[chosen[i]] = solution->x[i];
  }
  return best;
}

double information(std::span<const double> rows, size_t columns, double ridge) {
  std::vector<Column> normal(columns, Column(columns));
  for (size_t row = 0; row < rows.size(); row += columns) {
    for (size_t i = 0; i < columns; ++i) {
      for (size_t j = 0; j < columns; ++j) normal[i][j] += rows[row + i] * rows[row + j];
    }
  }
  // The determinant is the product of the pivots of an elimination; ridge keeps them positive.
  for (size_t i = 0; i < columns; ++i) normal[i][i] += ridge;
  double sum = 0;
  for (size_t i = 0; i < columns; ++i) {
    sum += std::log(normal[i][i]);
    for (size_t j = i + 1; j < columns; ++j) {
      const double share = normal[j][i] / normal[i][i];
      for (size_t k = i; k < columns; ++k) normal[j][k] -= share * normal[i][k];
    }
  }
  return sum;
}

}  // namespace trainyard::schedule
