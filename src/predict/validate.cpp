#include "predict/validate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "predict/exchange.h"
#include "predict/predict.h"
#include "predict/this_machine.h"

namespace trainyard::predict {
namespace {

// Shapes the gradients' arrival where the source does not name the device.
constexpr std::string_view kStandIn = "p100";

Topology topology_of(const Measurement& row, const Device* device, const Catalog& catalog,
                     const Stack& stack) {
  Cluster cluster;
  cluster.per_host = row.gpus_per_host;
  cluster.inside = catalog.link(device != nullptr ? device->inside : "pcie3");
  cluster.between = row.network.empty() ? cluster.inside : catalog.link(row.network);
  return cluster.topology(row.gpus, stack);
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

std::string_view subject_name(Subject subject) {
  switch (subject) {
    case Subject::kTraining:
      return "training, one device";
    case Subject::kScaling:
      return "scaling";
    case Subject::kInference:
      return "inference";
  }
  return "";
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
                       std::span<const Measurement> rows)
    : catalog_(catalog), networks_(networks), rows_(rows) {
  for (const Measurement& row : rows) add(row);
}

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
  catalog_.stack(row.framework);
  item.network = &networks_.get(row.model);
  item.subject = row.mode == Mode::kInference ? Subject::kInference : Subject::kTraining;
  if (row.gpus > 1) {
    item.subject = Subject::kScaling;
    item.baseline = find_baseline(row);
    if (item.baseline == 0) return exclude("the source has no row for one device");
    find_comm_model(row.comm);
  } else if (!named) {
    return exclude("the source does not name the device");
  }
  items_.push_back(item);
}

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
  return {&item.network->merged, item.device,    static_cast<double>(item.row->batch_per_gpu),
          item.row->precision,   item.row->mode, *item.row->images_per_s};
}

double Validation::predict_scaling(const Item& item, const Stack& stack, bool paleo) const {
  const Measurement& row = *item.row;
  const auto batch = static_cast<double>(row.batch_per_gpu);
  const double alone = batch / item.baseline;
  const Topology topology = topology_of(row, item.device, catalog_, stack);
  const auto workers = static_cast<double>(row.gpus);
  if (paleo) {
    const Topology plain = topology_of(row, item.device, catalog_, Stack{});
    const double gbit = plain.widest().bytes_per_s * 8 / 1e9;
    const double comm =
        paleo::scheme_ms(nearest_scheme(row.comm), row.gpus, item.network->paleo.weight_bytes(),
                         gbit, stack.paleo.network) *
        1e-3;
    return workers * batch / (alone + comm);
  }
  const Device& device = item.device != nullptr ? *item.device : catalog_.device(kStandIn);
  const Roofline roofline(device, stack, row.precision);
  const NetworkProfile& profile = item.network->profile;
  const StepTime step = predict_step(profile, roofline, batch, Mode::kTraining);
  const double backward = alone * step.backward / step.total();
  const auto buckets =
      gradient_buckets(profile, roofline, batch, row.precision, stack.bucket_bytes);
  const Exchange exchange =
      predict_exchange(buckets, backward, topology, find_comm_model(row.comm), stack.overlaps);
  return workers * batch / (alone + exchange.exposed);
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
  if (item.subject == Subject::kScaling) return predict_scaling(item, stack, /*paleo=*/false);
  return predicted_speed(fit_row(item), stack);
}

std::vector<Score> Validation::score(const Catalog& catalog) const {
  std::vector<Score> scores;
  for (const Item& item : items_) {
    const Stack& stack = catalog.stack(item.row->framework);
    Score score{item.row, item.subject, *item.row->images_per_s, predict(item, catalog), 0};
    score.paleo = item.subject == Subject::kScaling ? predict_scaling(item, stack, /*paleo=*/true)
                                                    : paleo_speed(item, stack);
    scores.push_back(score);
  }
  return scores;
}

Stack Validation::fit_exchange(Stack stack, std::span<const Item> items) const {
  std::vector<const Item*> mine;
  for (const Item& item : items) {
    if (item.subject == Subject::kScaling && item.row->framework == stack.id) {
      mine.push_back(&item);
    }
  }
  if (mine.empty()) return stack;
  // Few numbers with few rows: a grid is enough and cannot go astray.
  constexpr double kShares[] = {0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.8, 1.0};
  Stack best = stack;
  double least = 0;
  for (const bool overlaps : {true, false}) {
    for (const double network : kShares) {
      for (const double inside : kShares) {
        Stack candidate = stack;
        candidate.overlaps = overlaps;
        candidate.network_share = network;
        candidate.inside_share = inside;
        double sum = 0;
        for (const Item* item : mine) {
          sum += std::fabs(std::log(predict_scaling(*item, candidate, /*paleo=*/false) /
                                    *item->row->images_per_s));
        }
        if (least != 0 && sum >= least) continue;
        least = sum;
        best = candidate;
      }
    }
  }
  return best;
}

std::map<std::string, Stack> Validation::fit_stacks(std::span<const Item> items) const {
  std::map<std::string, Stack> done;
  const std::function<const Stack&(const std::string&)> fit_one =
      [&](const std::string& id) -> const Stack& {
    if (const auto found = done.find(id); found != done.end()) return found->second;
    Stack prior = catalog_.stack(id);
    prior.device_factor.clear();
    for (auto& [name, efficiency] : prior.efficiency) efficiency = prior_efficiency(name);
    if (!prior.inherits.empty()) {
      const Stack& parent = fit_one(prior.inherits);
      for (auto& [name, efficiency] : prior.efficiency) {
        if (const auto found = parent.efficiency.find(name); found != parent.efficiency.end()) {
          efficiency = found->second;
        }
      }
      prior.device_factor = parent.device_factor;
    }
    std::vector<FitRow> rows;
    for (const Item& item : items) {
      if (item.subject != Subject::kScaling && item.row->framework == id) {
        rows.push_back(fit_row(item));
      }
    }
    return done.emplace(id, fit_stack(prior, rows)).first->second;
  };
  for (const Stack& stack : catalog_.stacks()) fit_one(stack.id);
  return done;
}

Catalog Validation::fit() const {
  Catalog fitted = catalog_;
  for (auto& [id, stack] : fit_stacks(items_)) {
    Stack result = fit_exchange(stack, items_);
    std::map<std::string, int> sources;
    for (const Item& item : items_) {
      if (item.row->framework == id) {
        ++sources[item.row->origin.substr(0, item.row->origin.rfind(':'))];
      }
    }
    result.fitted_to.clear();
    for (const auto& [source, rows] : sources) {
      if (!result.fitted_to.empty()) result.fitted_to += "; ";
      result.fitted_to += fmt::format("{} rows of {}", rows, source);
    }
    fitted.replace(std::move(result));
  }
  return fitted;
}

std::vector<Score> Validation::leave_one_out(Group group) const {
  const auto name_of = [group](const Item& item) {
    return group == Group::kDevice ? item.row->device : item.row->model;
  };
  std::set<std::string> names;
  for (const Item& item : items_) {
    if (item.subject != Subject::kScaling) names.insert(name_of(item));
  }
  std::vector<Score> scores;
  for (const std::string& name : names) {
    std::vector<Item> others;
    std::set<std::pair<std::string, std::string_view>> fitted_pairs;
    for (const Item& item : items_) {
      if (item.subject == Subject::kScaling || name_of(item) == name) continue;
      others.push_back(item);
      fitted_pairs.emplace(item.row->framework, device_class(*item.device));
    }
    Catalog fitted = catalog_;
    for (auto& [id, stack] : fit_stacks(others)) fitted.replace(std::move(stack));
    for (const Item& item : items_) {
      if (item.subject == Subject::kScaling || name_of(item) != name) continue;
      // Where nothing of the stack is left there is nothing to predict from.
      if (!fitted_pairs.contains({item.row->framework, device_class(*item.device)})) continue;
      scores.push_back({item.row, item.subject, *item.row->images_per_s, predict(item, fitted),
                        paleo_speed(item, fitted.stack(item.row->framework))});
    }
  }
  return scores;
}

std::string stacks_yaml(std::span<const Stack> stacks) {
  std::string out =
      "# Software stacks and how much of a device they get out; docs/predict.md defines the "
      "figures.\n"
      "# Written by `trainyard validate --fit`, which keeps names, flags and PALEO's shares and "
      "fits "
      "the rest.\nstacks:\n";
  const auto flag = [&](std::string_view name, bool value) {
    out += fmt::format("    {}: {}\n", name, value);
  };
  for (const Stack& stack : stacks) {
    if (stack.measured != nullptr) continue;  // calibrated, not fitted to rows
    out += fmt::format("  {}:\n    name: \"{}\"\n", stack.id, stack.name);
    if (!stack.inherits.empty()) out += fmt::format("    inherits: {}\n", stack.inherits);
    flag("winograd", stack.winograd);
    flag("fourier", stack.fourier);
    flag("image_by_image", stack.image_by_image);
    flag("matrix_units", stack.matrix_units);
    out += fmt::format("    paleo: [{}, {}]\n    paleo_source: \"{}\"\n", stack.paleo.compute,
                       stack.paleo.network, stack.paleo_source);
    flag("overlaps", stack.overlaps);
    out += fmt::format("    bucket_mb: {:g}\n    network_share: {:g}\n    inside_share: {:g}\n",
                       stack.bucket_bytes / 1e6, stack.network_share, stack.inside_share);
    for (const auto& [name, efficiency] : stack.efficiency) {
      out += fmt::format("    {}: {{", name);
      for (const EfficiencyField& field : efficiency_fields()) {
        if (&field != efficiency_fields().data()) out += ", ";
        out += fmt::format("{}: {:.4g}", field.name, efficiency.*field.value);
      }
      out += "}\n";
    }
    if (!stack.device_factor.empty()) {
      out += "    devices: {";
      bool first = true;
      for (const auto& [device, factor] : stack.device_factor) {
        out += fmt::format("{}{}: {:.4g}", first ? "" : ", ", device, factor);
        first = false;
      }
      out += "}\n";
    }
    if (!stack.fitted_to.empty()) out += fmt::format("    fitted_to: \"{}\"\n", stack.fitted_to);
  }
  return out;
}

}  // namespace trainyard::predict
