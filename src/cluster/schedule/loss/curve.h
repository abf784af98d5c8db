// Training curves: the loss after so many steps or epochs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::schedule {

// Points in ascending k, at least kFewestPoints of them, all losses finite and above 0. `rate` and
// `accuracy` are empty or as long as the rest.
struct Curve {
  std::string name = {};
  std::string unit = "epoch";  // of k: "epoch" or "step"
  std::vector<double> k = {};
  std::vector<double> loss = {};
  std::vector<double> rate = {};
  std::vector<double> accuracy = {};  // 0..1, of the test data where there is one
  std::optional<double> depth = {};   // layers of the network, where they are known
  std::string device = {};            // what it was trained on; empty: not known

  size_t size() const { return k.size(); }
  // Points first … last-1, with whatever belongs to them.
  Curve part(size_t first, size_t last) const;
};

constexpr size_t kFewestPoints = 5;

// Throws Error naming the curve and the first point that is wrong: not finite, not above 0, not in
// order; too few points; a loss that never changes, or rises from end to end.
void check_curve(const Curve& curve);

// A table with a column `epoch` or `step` and one `loss`; `learning_rate` (or `rate`), `accuracy`,
// `depth` and `device` (the same in every row) may be there. Throws Error with file, line and
// field.
Curve curve_from_csv(std::string_view text, const std::string& origin);

// The same of several curves in one table: one for each `device` and `depth`, which are required.
std::vector<Curve> curves_from_csv(std::string_view text, const std::string& origin);

// A run directory of ours, a CSV file, a TensorBoard event file or a folder with one. Many steps
// are averaged to about `most_points` points, as the rate allows. A run has the depth that the name
// of its network says (resnet20-cifar: 20). Throws Error.
Curve read_curve(const std::filesystem::path& path, size_t most_points = 400);
// The same, and of a CSV file with devices and depths one for each of them.
std::vector<Curve> read_curves(const std::filesystem::path& path, size_t most_points = 400);

// Means over groups of neighboring points, so that no more than `most` are left; a group does not
// reach over a change of the rate.
Curve averaged(const Curve& curve, size_t most);

}  // namespace trainyard::schedule
