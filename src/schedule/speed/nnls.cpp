#include "schedule/speed/nnls.h"

#include <limits>

#include <Eigen/Dense>

#include "base/error.h"

namespace trainyard::schedule {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<double> non_negative_least_squares(std::span<const double> rows,
                                               std::span<const double> b, size_t columns) {
  TY_CHECK(columns >= 1 && columns <= 8 && rows.size() == b.size() * columns, "{} columns",
           columns);
  const Eigen::Map<const RowMajor> matrix(rows.data(), static_cast<Eigen::Index>(b.size()),
                                          static_cast<Eigen::Index>(columns));
  const Eigen::Map<const Eigen::VectorXd> wanted(b.data(), static_cast<Eigen::Index>(b.size()));
  std::vector<double> best(columns, 0.0);
  double least = wanted.squaredNorm();
  for (unsigned choice = 1; choice < (1U << columns); ++choice) {
    std::vector<Eigen::Index> chosen;
    for (size_t c = 0; c < columns; ++c) {
      if ((choice >> c & 1U) != 0) chosen.push_back(static_cast<Eigen::Index>(c));
    }
    const Eigen::MatrixXd part = matrix(Eigen::all, chosen);
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factored(part);
    if (factored.rank() < part.cols()) continue;
    const Eigen::VectorXd x = factored.solve(wanted);
    if (x.minCoeff() < 0) continue;
    const double residual = (part * x - wanted).squaredNorm();
    if (residual >= least) continue;
    least = residual;
    best.assign(columns, 0.0);
    for (size_t i = 0; i < chosen.size(); ++i) {
      best[static_cast<size_t>(chosen[i])] = x[static_cast<Eigen::Index>(i)];
    }
  }
  return best;
}

double information(std::span<const double> rows, size_t columns, double ridge) {
  const auto size = static_cast<Eigen::Index>(columns);
  const Eigen::Map<const RowMajor> matrix(rows.data(),
                                          static_cast<Eigen::Index>(rows.size() / columns), size);
  const Eigen::MatrixXd normal =
      matrix.transpose() * matrix + ridge * Eigen::MatrixXd::Identity(size, size);
  return 2 * Eigen::MatrixXd(normal.llt().matrixL()).diagonal().array().log().sum();
}

}  // namespace trainyard::schedule
