#include "train/sharding.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"

namespace trainyard::train {
namespace {

// Stable, so that every rank deals parameters of equal size alike.
std::vector<size_t> largest_first(std::span<const int64_t> elements) {
  std::vector<size_t> order(elements.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return elements[a] > elements[b]; });
  return order;
}

size_t least(const std::vector<int64_t>& values) {
  return static_cast<size_t>(std::min_element(values.begin(), values.end()) - values.begin());
}

// What each server has so far.
struct Loads {
  std::vector<int64_t> elements;
  std::vector<int64_t> requests;
  int64_t room = 0;  // that a server is to have

  // The server on which the least room is left over; without one, the emptiest.
  size_t best_fit(int64_t size) const {
    size_t best = elements.size();
    for (size_t s = 0; s < elements.size(); ++s) {
      if (room - elements[s] < size) continue;
      if (best == elements.size() || elements[s] > elements[best]) best = s;
    }
    return best == elements.size() ? least(elements) : best;
  }
  void add(size_t server, int64_t size) {
    elements[server] += size;
    requests[server] += 1;
  }
};

Loads empty_loads(std::span<const int64_t> elements, int64_t servers) {
  const auto count = static_cast<size_t>(servers);
  const int64_t all = std::accumulate(elements.begin(), elements.end(), int64_t{0});
  return {std::vector<int64_t>(count), std::vector<int64_t>(count), all / servers};
}

// At most 1 % of a server's fair part: Optimus counts the request of such a block, not its size.
bool is_small(int64_t size, const Loads& loads, std::span<const int64_t> elements) {
  const auto all =
      static_cast<double>(std::accumulate(elements.begin(), elements.end(), int64_t{0}));
  return static_cast<double>(size) <= all / static_cast<double>(loads.elements.size()) / 100;
}

// There are at least as many pieces as servers, so the fullest shard has two while another has
// none.
void fill_empty(Shards& shards) {
  for (std::vector<ParameterPiece>& shard : shards) {
    if (!shard.empty()) continue;
    auto& most = *std::max_element(shards.begin(), shards.end(), [](const auto& a, const auto& b) {
      return a.size() < b.size();
    });
    const auto smallest = std::min_element(
        most.begin(), most.end(),
        [](const ParameterPiece& a, const ParameterPiece& b) { return a.elements < b.elements; });
    shard.push_back(*smallest);
    most.erase(smallest);
  }
}

Shards deal_whole(std::span<const int64_t> elements, int64_t servers, ShardRule rule) {
  Shards shards(static_cast<size_t>(servers));
  Loads loads = empty_loads(elements, servers);
  for (const size_t parameter : largest_first(elements)) {
    const size_t server =
        rule == ShardRule::kHash ? mix_bits(parameter) % shards.size() : least(loads.elements);
    shards[server].push_back({parameter, 0, elements[parameter]});
    loads.add(server, elements[parameter]);
  }
  return shards;
}

}  // namespace

ShardRule parse_shard_rule(std::string_view text) {
  const std::vector<std::string> names = {"even", "hash", "paa"};
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<ShardRule>(i);
  }
  throw_error("shard is '{}', expected even, hash or paa.{}", text, did_you_mean(text, names));
}

Shards shard_parameters(std::span<const int64_t> elements, int64_t servers, ShardRule rule) {
  TY_REQUIRE(servers <= static_cast<int64_t>(elements.size()),
             "{} servers for {} parameters: there is not one for each", servers, elements.size());
  Shards shards = rule == ShardRule::kPaa ? assign_with_cuts(elements, servers)
                                          : deal_whole(elements, servers, rule);
  fill_empty(shards);
  for (std::vector<ParameterPiece>& shard : shards) std::sort(shard.begin(), shard.end());
  return shards;
}

Shards assign_with_cuts(std::span<const int64_t> elements, int64_t servers) {
  TY_REQUIRE(servers >= 1, "{} servers, expected 1 or more", servers);
  Shards shards(static_cast<size_t>(servers));
  Loads loads = empty_loads(elements, servers);
  std::vector<int64_t> dealt(elements.size());
  const auto put = [&](size_t server, size_t parameter, int64_t size) {
    shards[server].push_back({parameter, dealt[parameter], size});
    dealt[parameter] += size;
    loads.add(server, size);
  };
  for (const size_t parameter : largest_first(elements)) {
    int64_t size = elements[parameter];
    if (is_small(size, loads, elements)) {
      put(least(loads.requests), parameter, size);
    } else if (size <= loads.room) {
      put(loads.best_fit(size), parameter, size);
    } else {
      // The emptiest servers first, as they were before the block came.
      std::vector<size_t> order(shards.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return loads.elements[a] < loads.elements[b]; });
      for (size_t next = 0; size > 0; ++next) {
        const int64_t room =
            next < order.size() ? loads.room - loads.elements[order[next]] : size + 1;
        if (size < room) {
          put(loads.best_fit(size), parameter, size);
          break;
        }
        if (room <= 0) continue;
        put(order[next], parameter, room);
        size -= room;
      }
    }
  }
  return shards;
}

}  // namespace trainyard::train
