// Which parameters each parameter server holds.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainyard::train {

enum class ShardRule : uint8_t {
  kEven,  // the largest first, each to the server with the fewest elements so far
  kHash,  // by a hash of its number, as MXNet does with small ones
  kPaa,   // Optimus' parameter assignment: small ones to the fewest requests, large ones cut
};
// "even", "hash" or "paa"; throws Error otherwise.
ShardRule parse_shard_rule(std::string_view text);

// Elements of a parameter that lie together; in Optimus' count every piece is a request of its own.
struct ParameterPiece {
  size_t parameter = 0;
  int64_t first = 0;
  int64_t elements = 0;
  auto operator<=>(const ParameterPiece&) const = default;
};
using Shards = std::vector<std::vector<ParameterPiece>>;  // by server, ascending

// Whole parameters but for kPaa. Throws Error if there are fewer parameters than servers. A server
// that a rule leaves empty takes the smallest piece of the one with the most.
Shards shard_parameters(std::span<const int64_t> elements, int64_t servers,
                        ShardRule rule = ShardRule::kEven);

// Optimus' assignment (Peng et al., EuroSys 2018, section 5.3): avg is the mean size of a
// server's part; blocks from large to small; up to 1 % of avg to the server with the fewest
// requests; up to avg where the least room is left over; larger ones are cut along the servers'
// room, the last piece by best fit.
Shards assign_with_cuts(std::span<const int64_t> elements, int64_t servers);

}  // namespace trainyard::train
