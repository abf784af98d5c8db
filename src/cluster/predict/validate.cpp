#include "cluster/predict/validate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "cluster/predict/predict.h"
#include "cluster/predict/this_machine.h"

namespace trainyard::predict {
namespace {

// Shapes the gradients' arrival where the source does not name the device.
constexpr std::string_view kStandIn = "p100";

Cluster cluster_of(const Measurement& row, const Device* device, const Catalog& catalog) {
  Cluster cluster;
  cluster.per_host = row.gpus_per_host;
  cluster.inside = catalog.link(device != nullptr ? device->inside : "pcie3");
  cluster.between = row.network.empty() ? cluster.inside : catalog.link(row.network);
  cluster.comm = &find_comm_model(row.comm);
  return cluster;
}

bool real_data(const Measurement& row) {
  return row.note.starts_with("real data");
}

// PALEO's way of saying what the row did; butterfly is its stand-in for what it does not know.
paleo::Scheme nearest_scheme(const std::string& comm) {
  if (comm == "central") return paleo::Scheme::kOneToAll;
  if (comm == "tree") return paleo::Scheme::kTree;
  return paleo::Scheme::kButterfly;
}

}  // namespace

std::string_view subject_name(MeasuredTask subject) {
  switch (subject) {
    case MeasuredTask::kTraining:
      return "training, one device";
    case MeasuredTask::kScaling:
      return "scaling";
    case MeasuredTask::kInference:
      return "inference";
    case MeasuredTask::kFromOne:
      return "scaling, one device predicted too";
    case MeasuredTask::kOneProcess:
      break;
  }
  return "scaling, one process";
}

Summary summarize(std::span<const Score> scores) {
  Summary sum;
  for (const Score& score : scores) {
    sum.rows += 1;
    sum.mape += std::fabs(score.error());
    sum.bias += score.error();
    sum.paleo_mape += std::fabs(score.paleo_error());
    sum.paleo_bias += score.paleo_error();
  }
  if (sum.rows == 0) return sum;
  const auto n = static_cast<double>(sum.rows);
  for (double* value : {&sum.mape, &sum.bias, &sum.paleo_mape, &sum.paleo_bias}) *value /= n;
  return sum;
}

Validation::Validation(const Catalog& catalog, Networks& networks,
                       std::span<const Measurement> rows, Hierarchy::Start start)
    : catalog_(catalog), networks_(networks), rows_(rows), start_(start) {
  for (const Measurement& row : rows) add(row);
  for (const Item& item : items_) {
    if (on_one_device(item.subject)) single_.push_back(&item);
  }
}

// Every row is scored or excluded with a reason that the report counts; none is dropped silently.
void Validation::add(const Measurement& row) {
  const auto exclude = [&](std::string reason) { excluded_.push_back({&row, std::move(reason)}); };
  if (!row.images_per_s) return exclude("ran out of memory, so there is no speed");
  if (real_data(row)) return exclude("real data: the source's input pipeline is not described");
  if (row.note.starts_with("repeats")) {
    return exclude("half precision: the source repeats the speed of single precision");
  }
  Item item{&row};
  const bool named = row.device != "pascal-unnamed";
  if (named) item.device = &catalog_.device(row.device);
  const Stack& stack = catalog_.stack(row.framework);
  item.network = &networks_.get(row.model);
  item.subject = row.mode == Mode::kInference ? MeasuredTask::kInference : MeasuredTask::kTraining;
  if (row.gpus > 1) {
    item.baseline = find_baseline(row);
    item.subject = item.baseline == 0  ? MeasuredTask::kFromOne
                   : stack.one_process ? MeasuredTask::kOneProcess
                                       : MeasuredTask::kScaling;
    if (item.baseline == 0 && !named) return exclude("the source does not name the device");
    find_comm_model(row.comm);
  } else if (!named) {
    return exclude("the source does not name the device");
  }
  items_.push_back(item);
}

// Scaling is judged from the speed that the same source measured on one device, so that errors of
// the single-device prediction do not count twice; 0: the source has none.
double Validation::find_baseline(const Measurement& row) const {
  for (const Measurement& other : rows_) {
    const bool matches = other.gpus == 1 && other.images_per_s && other.source == row.source &&
                         other.device == row.device && other.model == row.model &&
                         other.batch_per_gpu == row.batch_per_gpu &&
                         other.precision == row.precision && other.mode == row.mode &&
                         real_data(other) == real_data(row) && other.network == row.network;
    if (matches) return *other.images_per_s;
  }
  // The same testbed under another name of its network: over RDMA or not.
  for (const Measurement& other : rows_) {
    const bool matches = other.gpus == 1 && other.images_per_s && other.source == row.source &&
                         other.device == row.device && other.model == row.model &&
                         other.batch_per_gpu == row.batch_per_gpu && other.mode == row.mode &&
                         real_data(other) == real_data(row) && other.network != "40gbe" &&
                         row.network != "40gbe";
    if (matches) return *other.images_per_s;
  }
  return 0;
}

FitRow Validation::fit_row(const Item& item) const {
  return {&item.network->merged,
          item.device,
          &catalog_.stack(item.row->framework),
          static_cast<double>(item.row->batch_per_gpu),
          item.row->precision,
          item.row->mode,
          *item.row->images_per_s,
          item.row->updates};
}

ScalingRow Validation::scaling_row(const Item& item, const Catalog& catalog) const {
  const Measurement& row = *item.row;
  const Stack& stack = catalog.stack(row.framework);
  const Device& device = catalog.device(item.device != nullptr ? row.device : kStandIn);
  const Roofline roofline(device, stack, row.precision);
  ScalingRow out;
  out.stack = &stack;
  out.batch = static_cast<double>(row.batch_per_gpu);
  out.step = predict_step(item.network->merged, roofline, out.batch, Mode::kTraining, row.updates);
  out.alone = item.baseline > 0 ? out.batch / item.baseline : out.step.total();
  out.buckets = gradient_buckets(item.network->profile, roofline, out.batch, row.precision,
                                 stack.bucket_bytes);
  out.cluster = cluster_of(row, item.device, catalog_);
  out.workers = row.gpus;
  out.images_per_s = *row.images_per_s;
  return out;
}

double Validation::paleo_scaling(const Item& item, const Stack& stack) const {
  const Measurement& row = *item.row;
  const auto batch = static_cast<double>(row.batch_per_gpu);
  const Topology plain = cluster_of(row, item.device, catalog_).topology(row.gpus);
  const double gbit = plain.widest().bytes_per_s * 8 / 1e9;
  const double comm =
      paleo::scheme_ms(nearest_scheme(row.comm), row.gpus, item.network->paleo.weight_bytes(), gbit,
                       stack.paleo.network) *
      1e-3;
  const double speed = item.baseline > 0 ? item.baseline : paleo_speed(item, stack);
  return static_cast<double>(row.gpus) * batch / (batch / speed + comm);
}

double Validation::paleo_speed(const Item& item, const Stack& stack) const {
  paleo::Options options;
  // One GPU's own figures also where PALEO's table has a board of two.
  const Device& device = *item.device;
  options.machine = {device.clock_hz / 1e6, device.fp32 / 1e9, device.bytes_per_s / 1e9};
  options.percent = stack.paleo;
  const paleo::Iteration time =
      paleo::iteration(item.network->paleo, item.row->batch_per_gpu, options);
  const double ms = item.row->mode == Mode::kInference ? time.forward_ms : time.compute_ms();
  return static_cast<double>(item.row->batch_per_gpu) / ms * 1e3;
}

double Validation::predict(const Item& item, const Catalog& catalog) const {
  const Stack& stack = catalog.stack(item.row->framework);
  if (!on_one_device(item.subject)) return scaled_speed(scaling_row(item, catalog), stack);
  FitRow row = fit_row(item);
  row.device = &catalog.device(item.row->device);
  return predicted_speed(row, stack);
}

void Validation::describe(const Item& item, Score& score) const {
  const Stack& stack = catalog_.stack(item.row->framework);
  score.family = stack.family;
  if (item.device == nullptr) return;
  score.kind = item.device->kind;
  score.matrix_units = item.device->fp16_matrix > 0;
  score.support = stack.rows_on(item.device->id);
}

// What the step waits for most: the host that issues kernels, the copy of the input, or the device.
std::string_view Validation::bound_of(const Item& item, const Catalog& catalog) const {
  const Roofline roofline(catalog.device(item.row->device), catalog.stack(item.row->framework),
                          item.row->precision);
  const StepTime step =
      predict_step(item.network->merged, roofline, static_cast<double>(item.row->batch_per_gpu),
                   item.row->mode, item.row->updates);
  if (step.host > step.device) return "launches";
  if (step.copy > step.device) return "copy of the input";
  return step.compute_bound > 0.5 ? "arithmetic" : "memory";
}

std::vector<Score> Validation::score(const Catalog& catalog) const {
  std::vector<Score> scores;
  for (const Item& item : items_) {
    const Stack& stack = catalog.stack(item.row->framework);
    Score score{item.row, item.subject, *item.row->images_per_s, predict(item, catalog), 0};
    score.paleo =
        on_one_device(item.subject) ? paleo_speed(item, stack) : paleo_scaling(item, stack);
    if (item.device != nullptr) score.bound = bound_of(item, catalog);
    describe(item, score);
    scores.push_back(score);
  }
  return scores;
}

std::string_view group_name(Group group) {
  switch (group) {
    case Group::kNetwork:
      return "network";
    case Group::kDevice:
      return "device";
    case Group::kFamily:
      return "stack family";
    case Group::kConfiguration:
      break;
  }
  return "network on the device with the stack";
}

std::vector<Score> Validation::leave_one_out(Group group, bool supported) const {
  const LeftOut& left = left_out(group);
  std::vector<Score> scores;
  for (size_t i = 0; i < single_.size(); ++i) {
    const Item& item = *single_[i];
    if (supported && !left.supported[i]) continue;
    const double measured = *item.row->images_per_s;
    Score score{item.row, item.subject, measured, measured * std::exp(left.errors[i]),
                paleo_speed(item, catalog_.stack(item.row->framework))};
    describe(item, score);
    scores.push_back(score);
  }
  return scores;
}

}  // namespace trainyard::predict
