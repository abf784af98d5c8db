#include "cluster/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/integers.h"
#include "base/text.h"
#include "base/within.h"
#include "cluster/predict/exchange.h"
#include "cluster/predict/limits.h"

namespace trainyard::predict {
namespace {

// Of the worker that has most.
int64_t share_of(const Request& request, int64_t workers) {
  if (request.scaling == Scaling::kWeak) return request.batch;
  return (request.batch + workers - 1) / workers;
}

// The time in which a step's images can be read and decoded by their hosts.
double input_seconds(const Request& request, const Row& row) {
  if (request.input_images_per_s <= 0) return 0;
  // Workers of one host share its input pipeline.
  const int64_t local = std::min(row.workers, request.cluster.per_host);
  return static_cast<double>(row.batch_per_worker * local) / request.input_images_per_s;
}

std::string limit_of(const Request& request, const Row& row, const StepTime* step) {
  if (!row.fits) {
    return fmt::format("memory: needs {}, the device has {}", bytes_text(row.memory_bytes),
                       bytes_text(request.device->memory_bytes));
  }
  const double computing = row.forward + row.backward + row.update;
  // Equal but for rounding: the step is the larger of both.
  if (row.input >= row.step * 0.999 && row.input > 0) return "input pipeline";
  if (row.exposed_comm > computing) {
    return fmt::format("communication ({})", row.comm_model);
  }
  if (step == nullptr) return "computation";
  if (step->host > step->device) return "launching kernels; a larger batch would help";
  return step->compute_bound > 0.5 ? "arithmetic" : "memory bandwidth";
}

double images_per_s(const Row& row) {
  return static_cast<double>(row.global_batch) / row.step;
}

// The row that others are compared with.
// One worker if the network fits into one device, otherwise the fewest workers that do.
const Row& base_of(const Row& one_worker, std::span<const Row> rows) {
  const Row* base = &one_worker;
  for (const Row& row : rows) {
    if (row.fits && (!base->fits || row.workers < base->workers)) base = &row;
  }
  return *base;
}

void fill_speedup(const Row& base, Row& row) {
  row.base_workers = base.workers;
  row.speedup.reset();
  row.efficiency.reset();
  // Nothing to compare: the row would not run.
  if (base.fits && !row.fits) return;
  row.speedup = images_per_s(row) / images_per_s(base);
  row.efficiency =
      *row.speedup * static_cast<double>(base.workers) / static_cast<double>(row.workers);
}

void fill_totals(const Request& request, Row& row) {
  row.images_per_s = images_per_s(row);
  row.epoch = request.dataset_images / row.images_per_s;
  row.train = row.epoch * request.epochs;
  const int64_t paid = divide_up(row.workers, request.rented_together) * request.rented_together;
  row.cost_usd = row.train / 3600 * request.usd_per_hour * static_cast<double>(paid);
  // Backward counts as two forward passes: gradients of data and of weights.
  const double passes = request.mode == Mode::kTraining ? 3 : 1;
  const double flops = 2 * request.network->profile.macs * passes * row.images_per_s;
  row.percent_of_peak =
      flops / (request.device->peak(request.precision) * static_cast<double>(row.workers));
}

void fill_memory(const Request& request, Row& row) {
  row.memory_bytes =
      predict_memory(request.network->profile, *request.device,
                     static_cast<double>(row.batch_per_worker), request.precision, request.mode);
  row.fits = row.memory_bytes <= request.device->memory_bytes;
}

Row start_row(const Request& request, int64_t workers) {
  Row row;
  row.workers = workers;
  row.batch_per_worker = share_of(request, workers);
  row.global_batch = request.scaling == Scaling::kWeak ? request.batch * workers : request.batch;
  return row;
}

Row trainyard_row(const Request& request, const Roofline& roofline, int64_t workers) {
  Row row = start_row(request, workers);
  const NetworkProfile& profile = request.network->profile;
  const auto batch = static_cast<double>(row.batch_per_worker);
  const StepTime step = predict_step(profile, roofline, batch, request.mode);
  row.forward = step.forward;
  row.backward = step.backward;
  row.update = step.update;
  if (request.mode == Mode::kTraining && workers > 1) {
    const Topology topology = request.cluster.topology(workers, *request.stack);
    const double element = request.precision == Precision::kFp16 ? 2 : 4;
    const double message = profile.parameters * element;
    const CommModel& comm = resolve_comm_model(*request.cluster.comm, topology, message);
    const auto buckets =
        gradient_buckets(profile, roofline, batch, request.precision, request.stack->bucket_bytes);
    const Exchange exchange =
        predict_exchange(buckets, row.backward, topology, comm, request.stack->overlaps);
    row.comm = exchange.busy;
    row.exposed_comm = exchange.exposed;
    row.waiting = waiting_seconds(*request.stack, step, step.total(), workers);
    row.comm_model = comm.name;
    row.algorithm_bandwidth = algorithm_bandwidth(message, exchange.whole);
    row.bus_bandwidth = bus_bandwidth(message, workers, exchange.whole);
    // Of the links as they are, not of the share that the stack makes of them.
    row.utilization = utilization(message, request.cluster.topology(workers), exchange.whole);
  }
  row.input = input_seconds(request, row);
  // Input is prepared while the device computes, so only the longer of both counts.
  row.step = std::max(step.total() + row.exposed_comm + row.waiting, row.input);
  fill_memory(request, row);
  row.limit = limit_of(request, row, &step);
  return row;
}

// The fully connected layers but the last, and what lies between them, as in "one weird trick".
paleo::Split hybrid_split(const paleo::Net& net) {
  std::vector<size_t> linear;
  for (size_t i = 0; i < net.layers.size(); ++i) {
    if (net.layers[i].kind == paleo::LayerKind::kLinear) linear.push_back(i);
  }
  TY_REQUIRE(linear.size() >= 2,
             "hybrid parallelism splits fully connected layers other than the last, and '{}' has "
             "{} of them",
             net.name, linear.empty() ? 0 : linear.size() - 1);
  // From the first up to what lies before the last.
  return {linear.front(), linear.back() - 1};
}

Row paleo_row(const Request& request, int64_t workers) {
  Row row = start_row(request, workers);
  paleo::Options options;
  options.variant = request.variant;
  options.machine = request.device->paleo_machine();
  options.percent = request.percent;
  options.pipelined = request.pipelined;
  const paleo::Net& net = request.network->paleo;
  // PALEO knows one bandwidth: that of the slowest link in use.
  const double gbit = workers <= request.cluster.per_host
                          ? request.cluster.inside.paleo_gbit_per_s
                          : request.cluster.between.paleo_gbit_per_s;
  constexpr double kMs = 1e-3;
  if (request.hybrid) {
    const paleo::Hybrid hybrid = paleo::hybrid_iteration(
        net, hybrid_split(net), row.batch_per_worker, workers, gbit, options);
    row.forward = (hybrid.data.forward_ms + hybrid.model.forward_ms) * kMs;
    row.backward = (hybrid.data.backward_ms + hybrid.model.backward_ms) * kMs;
    row.update = (hybrid.data.update_ms + hybrid.model.update_ms) * kMs;
    row.comm = hybrid.sync_ms * kMs;
    row.comm_model = "hybrid";
  } else {
    const paleo::Iteration iteration = paleo::iteration(net, row.batch_per_worker, options);
    const bool training = request.mode == Mode::kTraining;
    row.forward = iteration.forward_ms * kMs;
    row.backward = training ? iteration.backward_ms * kMs : 0;
    row.update = training ? iteration.update_ms * kMs : 0;
    if (training && workers > 1) {
      const paleo::Scheme scheme = paleo_scheme(*request.cluster.comm);
      row.comm =
          paleo::scheme_ms(scheme, workers, net.weight_bytes(), gbit, request.percent.network) *
          kMs;
      row.comm_model = request.cluster.comm->name;
    }
  }
  // PALEO does not overlap communication with computation.
  row.exposed_comm = row.comm;
  row.step = row.forward + row.backward + row.update + row.comm;
  fill_memory(request, row);
  row.limit = limit_of(request, row, nullptr);
  return row;
}

}  // namespace

void check(const Request& request) {
  TY_CHECK(request.network != nullptr && request.device != nullptr && request.stack != nullptr &&
               request.cluster.comm != nullptr,
           "an incomplete request");
  require_within("batch", request.batch, int64_t{1}, kLargestBatch);
  require_within("per-host", request.cluster.per_host, int64_t{1}, kMostWorkers);
  require_within("servers", request.cluster.servers, int64_t{0}, kMostWorkers);
  require_within("input-rate", request.input_images_per_s, 0.0, kMostImages);
  require_within("dataset", request.dataset_images, 0.0, kMostImages);
  require_within("epochs", request.epochs, 0.0, kMostEpochs);
  require_within("price", request.usd_per_hour, 0.0, kHighestPrice);
  for (const int64_t workers : request.workers) {
    require_within("workers", workers, int64_t{1}, kMostWorkers);
    TY_REQUIRE(request.scaling == Scaling::kWeak || workers <= request.batch,
               "{} workers share a batch of {}: some would have no image; use fewer workers, a "
               "larger `batch` or `scaling` weak",
               workers, request.batch);
    const double together = static_cast<double>(request.batch) *
                            (request.scaling == Scaling::kWeak ? static_cast<double>(workers) : 1);
    TY_REQUIRE(request.mode == Mode::kInference || request.dataset_images == 0 ||
                   together <= request.dataset_images,
               "a batch of {} images over {} workers is more than the {} of an epoch, which would "
               "be shorter than a step; use fewer workers, a smaller `batch` or a larger `dataset`",
               with_commas(static_cast<int64_t>(together)), with_commas(workers),
               with_commas(static_cast<int64_t>(request.dataset_images)));
  }
  TY_REQUIRE(request.precision != Precision::kFp64 || request.device->fp64 > 0,
             "the catalog has no fp64 peak for device '{}'", request.device->id);
  TY_REQUIRE(request.model != Model::kPaleo || request.precision == Precision::kFp32,
             "PALEO predicts fp32 alone; leave `precision` away, or use `cost_model` trainyard");
  TY_REQUIRE(request.mode == Mode::kInference || request.precision != Precision::kInt8,
             "int8 is for inference; add `inference`");
}

// `each_device`: the link's speed is per device, so a host has as many times more.
Topology Cluster::topology(int64_t workers) const {
  Topology topology{workers, per_host, inside.speed, between.speed, servers};
  if (between.each_device) topology.between.bytes_per_s *= static_cast<double>(topology.local());
  return topology;
}

// With what the stack reaches of the links.
Topology Cluster::topology(int64_t workers, const Stack& stack) const {
  Topology topology = this->topology(workers);
  topology.inside.bytes_per_s *=
      inside.id.starts_with("pcie") ? stack.pcie_share : stack.inside_share;
  topology.between.bytes_per_s *= stack.network_share;
  return topology;
}

std::vector<Row> predict(const Request& request) {
  check(request);
  std::vector<Row> rows;
  std::optional<Roofline> roofline;
  if (request.model == Model::kTrainyard) {
    roofline.emplace(*request.device, *request.stack, request.precision);
  }
  const auto one = [&](int64_t workers) {
    return roofline ? trainyard_row(request, *roofline, workers) : paleo_row(request, workers);
  };
  for (const int64_t workers : request.workers) {
    rows.push_back(one(workers));
    fill_totals(request, rows.back());
  }
  // Computed even if it was not asked for: speedups need it.
  const Row base = base_of(one(1), rows);
  for (Row& row : rows) fill_speedup(base, row);
  return rows;
}

std::string uneven_batch_note(int64_t batch, int64_t workers) {
  if (batch % workers == 0) return "";
  const int64_t largest = (batch + workers - 1) / workers;
  return fmt::format(
      "batch {} does not divide by {} workers: some get {} images, the others {}, "
      "and every step takes as long as the largest share",
      batch, workers, largest, largest - 1);
}

paleo::Scheme paleo_scheme(const CommModel& comm) {
  if (comm.name == "central") return paleo::Scheme::kOneToAll;
  if (comm.name == "tree") return paleo::Scheme::kTree;
  if (comm.name == "butterfly") return paleo::Scheme::kButterfly;
  throw_error("PALEO has no '{}' communication; it knows central, tree and butterfly", comm.name);
}

}  // namespace trainyard::predict
