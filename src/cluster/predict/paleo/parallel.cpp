// PALEO's model and hybrid parallelism: a run of layers split over the workers.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "cluster/predict/paleo/model.h"

namespace trainyard::predict::paleo {
namespace {

// Devices of one switch; crossing to another halves the bandwidth.
constexpr int64_t kDevicesPerGroup = 4;

// Activations fetched from other devices. Without a link PALEO uses the memory bandwidth.
class Fetch {
 public:
  Fetch(std::optional<double> gbit_per_s, const Options& options)
      : gigabytes_(gbit_per_s ? *gbit_per_s / 8 : options.machine.memory_gbps),
        percent_(options.percent.network),
        tick_(Pricer(options.machine, 1).tick_ms()) {}

  double one(double elements) const { return ms(elements, gigabytes_); }

  // A concatenation on `device` of parts from `workers` devices. Split layers carry text ids and
  // the rest the number 0, so that `split` false means every part is remote.
  double gather(double elements_each, int64_t workers, int64_t device, bool split) const {
    double bandwidth = gigabytes_;
    double sum = 0;
    for (int64_t parent = 0; parent < workers; ++parent) {
      if (split && parent == device) continue;
      // The halved bandwidth stays halved for the parents that follow.
      if (device / kDevicesPerGroup != parent / kDevicesPerGroup) bandwidth /= 2;
      sum += ms(elements_each, bandwidth);
    }
    return sum;
  }

 private:
  double ms(double elements, double gigabytes) const {
    return std::max(tick_, elements * kFloatBytes / kGibi / gigabytes * 1e3 / percent_);
  }

  double gigabytes_;
  double percent_;
  double tick_;
};

double elements_out(const Layer& layer) {
  if (layer.kind == LayerKind::kConv) {
    const ConvShape shape = resolve(layer.conv, Variant::kHead);
    return static_cast<double>(shape.oh * shape.ow * shape.cout);
  }
  if (layer.kind == LayerKind::kLinear) return static_cast<double>(layer.conv.cout);
  if (layer.kind == LayerKind::kDropout) return static_cast<double>(layer.in_elements);
  return static_cast<double>(layer.out_elements);
}

Layer part_of(const Layer& layer, int64_t workers) {
  Layer part = layer;
  part.conv.cout /= workers;
  part.in_elements /= workers;
  part.out_elements /= workers;
  return part;
}

// The two passes of the split run on one device after another.
struct Passes {
  double forward = 0;
  double backward = 0;
};

bool has_weights(const Layer& layer) {
  return layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear;
}

// Stages end where parts are gathered; a stage takes as long as its slowest device.
struct SplitRun {
  Passes lower;
  Passes upper;
  double parameters = 0;
};

SplitRun run_split(const Net& net, const Split& split, int64_t batch, int64_t workers,
                   const Fetch& fetch, const Options& options) {
  SplitRun run;
  const auto n = static_cast<double>(batch);
  size_t at = split.first;
  while (at <= split.last) {
    Passes work;
    const double in = n * elements_out(net.layers[at - 1]);
    size_t next = at;
    do {
      const Layer part = part_of(net.layers[next], workers);
      run.parameters += static_cast<double>(workers * part.parameters());
      work.forward += layer_times(part, batch, Pass::kForward, options).total(false);
      Times backward = layer_times(part, batch, Pass::kDataGradient, options);
      backward += layer_times(part, batch, Pass::kFilterGradient, options);
      work.backward += backward.total(false);
      ++next;
    } while (next <= split.last && !has_weights(net.layers[next]));
    double slowest = 0;
    double all = 0;
    for (int64_t device = 0; device < workers; ++device) {
      const double arrival = at == split.first ? fetch.one(in)
                                               : fetch.gather(in / static_cast<double>(workers),
                                                              workers, device, /*split=*/true);
      slowest = std::max(slowest, arrival);
      all += arrival;
    }
    run.lower.forward += slowest + work.forward;
    run.lower.backward += slowest + work.backward;
    run.upper.forward += all + static_cast<double>(workers) * work.forward;
    run.upper.backward += all + static_cast<double>(workers) * work.backward;
    at = next;
  }
  return run;
}

Net without(const Net& net, const Split& split) {
  Net rest{net.name, {}};
  for (size_t i = 0; i < net.layers.size(); ++i) {
    if (i < split.first || i > split.last) rest.layers.push_back(net.layers[i]);
  }
  return rest;
}

void check(const Net& net, const Split& split, int64_t workers) {
  TY_REQUIRE(0 < split.first && split.first <= split.last && split.last < net.layers.size(),
             "layers {} to {} cannot be split: the net has {} layers and the first one stays",
             split.first, split.last, net.layers.size());
  for (size_t i = split.first; i <= split.last; ++i) {
    const Layer& layer = net.layers[i];
    TY_REQUIRE(!has_weights(layer) || layer.conv.cout % workers == 0,
               "layer '{}' has {} outputs, which {} workers cannot share evenly", layer.name,
               layer.conv.cout, workers);
  }
}

}  // namespace

Hybrid hybrid_iteration(const Net& net, const Split& split, int64_t batch, int64_t workers,
                        double gbit_per_s, const Options& options) {
  Hybrid hybrid;
  if (workers == 1) {
    hybrid.data = iteration(net, batch, options);
    hybrid.model.update_ms = update_times(options.machine, 0).total(false);
    return hybrid;
  }
  check(net, split, workers);
  const Fetch fetch(gbit_per_s, options);
  const Net rest = without(net, split);
  hybrid.data = iteration(rest, batch, options);
  const auto n = static_cast<double>(batch);
  const auto k = static_cast<double>(workers);
  const double joined = fetch.gather(n * elements_out(net.layers[split.last]) / k, workers, 0,
                                     /*split=*/false);
  hybrid.data.forward_ms += joined;
  hybrid.data.backward_ms += joined;
  hybrid.sync_ms =
      scheme_ms(Scheme::kTree, workers, rest.weight_bytes(), gbit_per_s, options.percent.network);

  const SplitRun run = run_split(net, split, batch, workers, fetch, options);
  // One fetch is hidden by pipelining; it is counted in elements, not bytes, and at full bandwidth.
  const double hidden =
      n * elements_out(net.layers[split.first - 1]) / kGibi / (gbit_per_s / 8) * 1e3 * (k - 1);
  hybrid.model.forward_ms = (run.lower.forward - hidden) * k + hidden;
  hybrid.model.backward_ms = (run.lower.backward - hidden) * k + hidden;
  hybrid.model.update_ms = update_times(options.machine, kFloatBytes * run.parameters).total(false);
  return hybrid;
}

ModelParallel model_parallel(const Net& net, const Split& split, int64_t batch, int64_t workers,
                             const Options& options) {
  check(net, split, workers);
  TY_REQUIRE(workers <= kDevicesPerGroup,
             "PALEO's model parallelism stops at {} workers, asked for {}; try hybrid",
             kDevicesPerGroup, workers);
  const Fetch fetch(std::nullopt, options);
  const SplitRun run = run_split(net, split, batch, workers, fetch, options);
  const Iteration rest = iteration(without(net, split), batch, options);
  const auto n = static_cast<double>(batch);
  const double joined =
      fetch.gather(n * elements_out(net.layers[split.last]) / static_cast<double>(workers), workers,
                   0, /*split=*/false);
  return {rest.forward_ms + joined + run.lower.forward,
          rest.forward_ms + joined + run.upper.forward,
          rest.backward_ms + joined + run.lower.backward,
          rest.backward_ms + joined + run.upper.backward};
}

}  // namespace trainyard::predict::paleo
