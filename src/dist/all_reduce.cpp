#include "dist/all_reduce.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::dist {

extern const AllReduce kAuto;
extern const AllReduce kButterfly;
extern const AllReduce kHierarchical;
extern const AllReduce kLibrary;
extern const AllReduce kReduceBroadcast;
extern const AllReduce kRing;
extern const AllReduce kShared;
extern const AllReduce kTree;

namespace {

constexpr const AllReduce* kAlgorithms[] = {
    &kReduceBroadcast, &kTree, &kRing, &kButterfly, &kHierarchical, &kShared, &kLibrary, &kAuto,
};

enum class HostSpread : uint8_t { kOneHost, kRankPerHost, kManyPerHost };

// The first row that fits. Several hosts: few steps below the size where latency no longer rules,
// then few bytes on the network.
struct Choice {
  HostSpread place;
  int64_t below_bytes;
  const AllReduce* algorithm;
};
constexpr int64_t kAnySize = std::numeric_limits<int64_t>::max();
constexpr Choice kTable[] = {
    {HostSpread::kOneHost, kAnySize, &kShared},
    {HostSpread::kRankPerHost, 256 * 1024, &kButterfly},
    {HostSpread::kRankPerHost, kAnySize, &kRing},
    {HostSpread::kManyPerHost, 16 * 1024, &kButterfly},
    {HostSpread::kManyPerHost, kAnySize, &kHierarchical},
};

HostSpread place_of(const ReduceContext& context) {
  const auto hosts = context.comm.hosts();
  if (context.host.members() == context.comm.size()) return HostSpread::kOneHost;
  std::vector<int64_t> seen;
  for (const int64_t host : hosts) {
    if (std::find(seen.begin(), seen.end(), host) != seen.end()) return HostSpread::kManyPerHost;
    seen.push_back(host);
  }
  return HostSpread::kRankPerHost;
}

}  // namespace

std::span<const AllReduce* const> all_reduces() {
  return kAlgorithms;
}

const AllReduce& find_all_reduce(std::string_view name) {
  std::vector<std::string> names;
  for (const AllReduce* algorithm : kAlgorithms) {
    if (algorithm->name == name) return *algorithm;
    names.emplace_back(algorithm->name);
  }
  throw_error("all-reduce '{}' is not known.{} There are: {}", name, did_you_mean(name, names),
              join(names, ", "));
}

const AllReduce& resolve_all_reduce(const AllReduce& algorithm, const ReduceContext& context,
                                    int64_t bytes) {
  if (&algorithm != &kAuto) return algorithm;
  const HostSpread place = place_of(context);
  for (const Choice& choice : kTable) {
    if (choice.place == place && bytes < choice.below_bytes) return *choice.algorithm;
  }
  return kRing;
}

}  // namespace trainyard::dist
