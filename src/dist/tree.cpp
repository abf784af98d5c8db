// tree: whole messages up a binomial tree to rank 0 and down again.
#include "dist/all_reduce.h"

namespace trainyard::dist {
namespace {

void run_tree(ReduceContext& context, Elements data) {
  const Group group = Group::world(context.comm);
  const Elements other = context.scratch(data);
  for (int64_t distance = 1; distance < group.size(); distance *= 2) {
    if ((group.me() & distance) != 0) {
      group.send(group.me() - distance, data);
      break;
    }
    if (group.me() + distance < group.size()) {
      group.receive(group.me() + distance, other);
      add(data, other);
    }
  }
  tree_broadcast(group, data, 0);
}

}  // namespace

void tree_broadcast(const Group& group, Elements data, int64_t root) {
  const int64_t n = group.size();
  const int64_t place = (group.me() - root + n) % n;
  int64_t distance = 1;
  while (distance < n && (place & distance) == 0) distance *= 2;
  if (place != 0) group.receive((place - distance + root) % n, data);
  for (distance /= 2; distance > 0; distance /= 2) {
    if (place + distance < n) group.send((place + distance + root) % n, data);
  }
}

extern const AllReduce kTree = {"tree", "whole messages up a binomial tree and down again", nullptr,
                                run_tree};

}  // namespace trainyard::dist
