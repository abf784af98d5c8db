#include "dist/collectives.h"

#include "base/error.h"

namespace trainyard::dist {

void Collectives::all_reduce(Elements data, const AllReduce& algorithm) {
  TY_CHECK(data.dtype == DType::kF32 || data.dtype == DType::kF64, "all-reduce of {}",
           dtype_name(data.dtype));
  if (comm_.size() == 1 || data.count == 0) return;
  TY_CHECK(algorithm.available == nullptr || algorithm.available(context_), "'{}' cannot run here",
           algorithm.name);
  algorithm.run(context_, data);
}

void Collectives::broadcast(Elements data, int64_t root) {
  tree_broadcast(Group::world(comm_), data, root);
}

std::vector<double> Collectives::all_gather(double value) {
  std::vector<double> values(static_cast<size_t>(comm_.size()));
  values[static_cast<size_t>(comm_.rank())] = value;
  ring_all_gather(Group::world(comm_), Elements::of(values));
  return values;
}

}  // namespace trainyard::dist
