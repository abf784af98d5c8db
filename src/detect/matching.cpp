#include "detect/matching.h"

#include <algorithm>

namespace trainyard::detect {
namespace {

// Tiny areas do not divide by zero.
constexpr double kLeastArea = 1e-5;
// More than any overlap.
constexpr double kForced = 2;

double match_overlap(const Region& a, const Region& b) {
  const double width = std::max(0.0, std::min(a.right, b.right) - std::max(a.left, b.left));
  const double height = std::max(0.0, std::min(a.bottom, b.bottom) - std::max(a.top, b.top));
  const double shared = width * height;
  return shared / (a.width() * a.height() + b.width() * b.height() - shared + kLeastArea);
}

}  // namespace

Matcher::Matcher(std::vector<Prior> priors) : priors_(std::move(priors)) {
  for (const Prior& prior : priors_) regions_.push_back(region_of(prior));
}

void Matcher::match(std::span<const Object> objects, std::vector<Match>& out) const {
  out.assign(priors_.size(), {});
  if (objects.empty()) return;
  std::vector<double> best(priors_.size(), -1);
  std::vector<size_t> taken(priors_.size(), 0);
  std::vector<size_t> forced(objects.size(), 0);
  for (size_t o = 0; o < objects.size(); ++o) {
    double most = -1;
    for (size_t p = 0; p < regions_.size(); ++p) {
      const double found = match_overlap(objects[o].region, regions_[p]);
      if (found > best[p]) {
        best[p] = found;
        taken[p] = o;
      }
      if (found > most) {
        most = found;
        forced[o] = p;
      }
    }
  }
  for (size_t o = 0; o < objects.size(); ++o) {
    best[forced[o]] = kForced;
    taken[forced[o]] = o;
  }
  for (size_t p = 0; p < priors_.size(); ++p) {
    if (best[p] < kMatchOverlap) continue;
    const Object& object = objects[taken[p]];
    out[p] = {.label = object.label, .offsets = encode(object.region, priors_[p])};
  }
}

std::vector<double> Matcher::best_overlaps(std::span<const Region> regions) const {
  std::vector<double> all;
  for (const Region& region : regions) {
    double best = 0;
    for (const Region& prior : regions_) best = std::max(best, overlap(region, prior));
    all.push_back(best);
  }
  return all;
}

}  // namespace trainyard::detect
