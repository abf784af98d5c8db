// Ranges without pictures: means and deviations that batch normalization states, carried on by the
// operators between it and the next layer.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/error.h"
#include "ops/op_def.h"
#include "quant/calibrate.h"

namespace trainyard::quant {
namespace {

constexpr double kDeviations = 4;
// Pictures whose channels have been brought to mean 0 and deviation 1 rarely go beyond.
constexpr double kPictureReach = 3;

struct Channel {
  double mean = 0;
  double sigma = 1;
  Range range;
};
using Channels = std::vector<Channel>;

Channel normal(double mean, double sigma) {
  return {mean, sigma, {mean - kDeviations * sigma, mean + kDeviations * sigma}};
}

// max(x, 0) and then min(x, high) of a normal x; the upper clamp moves the mean little.
Channel clamped(const Channel& in, double high) {
  Channel out;
  const double sigma = std::max(in.sigma, 1e-12);
  const double at = in.mean / sigma;
  const double density = std::exp(-at * at / 2) / std::sqrt(2 * std::numbers::pi);
  const double share = std::erfc(-at / std::numbers::sqrt2) / 2;
  out.mean = in.mean * share + sigma * density;
  const double square = (in.mean * in.mean + sigma * sigma) * share + in.mean * sigma * density;
  out.sigma = std::sqrt(std::max(0.0, square - out.mean * out.mean));
  out.range = {0, std::clamp(in.range.high, 0.0, high)};
  return out;
}

class RangePropagation {
 public:
  RangePropagation(const Prepared& prepared) : graph_(prepared.graph) {
    for (const ValueId id : graph_.inputs()) {
      known_[id] = {Channel{0, 1, {-kPictureReach, kPictureReach}}};
    }
    for (const NodeId id : graph_.node_ids()) {
      const NodeView node(graph_, id);
      if (node.num_outputs() == 0 || !node.has_output(0)) continue;
      const auto stated = prepared.normalized.find(graph_.value(node.output(0)).name);
      if (stated != prepared.normalized.end()) {
        known_[node.output(0)] = from(stated->second);
      } else if (auto channels = carry(node)) {
        known_[node.output(0)] = std::move(*channels);
      }
    }
  }

  std::optional<Range> range(ValueId id) const {
    const auto found = known_.find(id);
    if (found == known_.end()) return std::nullopt;
    Range range;
    for (const Channel& channel : found->second) {
      range.low = std::min(range.low, channel.range.low);
      range.high = std::max(range.high, channel.range.high);
    }
    return range;
  }

 private:
  static Channels from(const Normalized& stated) {
    Channels channels;
    for (size_t c = 0; c < stated.mean.size(); ++c) {
      channels.push_back(normal(stated.mean[c], stated.sigma[c]));
    }
    return channels;
  }

  const Channels* of(ValueId id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? nullptr : &found->second;
  }

  std::optional<Channels> carry(const NodeView& node) const {
    if (node.num_inputs() == 0 || !node.has_input(0)) return std::nullopt;
    const Channels* x = of(node.input(0));
    if (x == nullptr) return std::nullopt;
    const std::string& op = node.op();
    if (op == "Relu" || op == "Clip") return clamp(node, *x);
    if (op == "Add") return sum(*x, of(node.input(1)));
    if (op == "Concat") return join(node);
    if (op == "Pad") return pad(node, *x);
    const ops::Movement movement = ops::movement_of(node);
    const bool moves = movement == ops::Movement::kView || movement == ops::Movement::kMoved;
    const bool averages = ops::op_of(node).int8 == ops::Int8Form::kJoin;
    return moves || averages ? std::optional(*x) : std::nullopt;
  }

  static std::optional<Channels> clamp(const NodeView& node, const Channels& x) {
    double high = std::numeric_limits<double>::infinity();
    if (node.op() == "Clip") {
      const Tensor* low = node.has_input(1) ? node.input_constant(1) : nullptr;
      const Tensor* most = node.has_input(2) ? node.input_constant(2) : nullptr;
      if (low == nullptr || element_as_double(*low, 0) != 0 || most == nullptr) return std::nullopt;
      high = element_as_double(*most, 0);
    }
    Channels out;
    for (const Channel& channel : x) out.push_back(clamped(channel, high));
    return out;
  }

  static std::optional<Channels> sum(const Channels& a, const Channels* b) {
    if (b == nullptr || a.size() != b->size()) return std::nullopt;
    Channels out;
    for (size_t c = 0; c < a.size(); ++c) {
      Channel channel = normal(a[c].mean + (*b)[c].mean, std::hypot(a[c].sigma, (*b)[c].sigma));
      channel.range.low = std::max(channel.range.low, a[c].range.low + (*b)[c].range.low);
      channel.range.high = std::min(channel.range.high, a[c].range.high + (*b)[c].range.high);
      out.push_back(channel);
    }
    return out;
  }

  // Channels of zeros before and after.
  static std::optional<Channels> pad(const NodeView& node, const Channels& x) {
    const auto pads = node.input_ints(1);
    const auto rank = static_cast<size_t>(node.input_shape(0).rank());
    if (!pads || node.has_input(3) || pads->size() != 2 * rank || rank < 2) return std::nullopt;
    if ((*pads)[1] < 0 || (*pads)[rank + 1] < 0) return std::nullopt;
    const Channel zero{0, 0, {0, 0}};
    Channels out(static_cast<size_t>((*pads)[1]), zero);
    out.insert(out.end(), x.begin(), x.end());
    out.insert(out.end(), static_cast<size_t>((*pads)[rank + 1]), zero);
    return out;
  }

  std::optional<Channels> join(const NodeView& node) const {
    Channels out;
    for (const ValueId id : node.node().inputs) {
      const Channels* part = of(id);
      if (part == nullptr) return std::nullopt;
      out.insert(out.end(), part->begin(), part->end());
    }
    return out;
  }

  const Graph& graph_;
  std::map<ValueId, Channels> known_;
};

}  // namespace

ValueSteps steps_from_statistics(const Prepared& prepared, const Plan& plan,
                                 const RangeRule& rule) {
  const RangePropagation carrier(prepared);
  ValueRanges ranges;
  for (const ValueId id : plan.values) {
    const std::optional<Range> range = carrier.range(id);
    TY_REQUIRE(range,
               "without calibration pictures ranges come from batch normalization, and none "
               "leads to '{}'; give pictures with `data`, or keep the layers around it in float",
               prepared.graph.value(id).name);
    ranges[id] = *range;
  }
  return steps_of_groups(plan, ranges, rule);
}

}  // namespace trainyard::quant
