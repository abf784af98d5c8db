#include "cluster/predict/sweep.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cluster/predict/exchange.h"
#include "cluster/predict/limits.h"

namespace trainyard::predict {
namespace {

// What one device does with one batch, whatever the cluster.
struct DeviceStep {
  StepTime step;
  std::vector<GradientBucket> buckets;
  double memory = 0;
};

// Network, device and precision; batches are worked out once.
class Bench {
 public:
  Bench(const Network& network, const Device& device, const Stack& stack, Precision precision)
      : network_(network),
        device_(device),
        stack_(stack),
        precision_(precision),
        roofline_(device, stack, precision) {}

  const DeviceStep& at(int64_t batch) {
    const auto found = known_.find(batch);
    if (found != known_.end()) return found->second;
    const auto images = static_cast<double>(batch);
    DeviceStep alone;
    alone.step = predict_step(network_.merged, roofline_, images, Mode::kTraining);
    alone.buckets =
        gradient_buckets(network_.profile, roofline_, images, precision_, stack_.bucket_bytes);
    alone.memory = predict_memory(network_.profile, device_, images, precision_, Mode::kTraining);
    // References stay valid: an unordered_map does not move its elements.
    return known_.emplace(batch, std::move(alone)).first->second;
  }

 private:
  const Network& network_;
  const Device& device_;
  const Stack& stack_;
  Precision precision_;
  Roofline roofline_;
  std::unordered_map<int64_t, DeviceStep> known_;
};

// A single value stands for a list of one. Keeps the default of `target` if the key is absent.
template <typename T>
void read_list(const YamlView& root, std::string_view key, std::vector<T>& target,
               const std::function<T(const YamlView&)>& read) {
  const auto found = root.find(key);
  if (!found) return;
  target.clear();
  if (found->json().is_array()) {
    for (const YamlView& item : found->items()) target.push_back(read(item));
  } else {
    target.push_back(read(*found));
  }
  if (target.empty()) found->fail("the list is empty");
}

int64_t between(const YamlView& view, int64_t most) {
  const int64_t value = view.integer();
  if (value < 1 || value > most) view.fail(fmt::format("expected 1 to {}, found {}", most, value));
  return value;
}

int64_t worker_count(const YamlView& view) {
  return between(view, kMostWorkers);
}

int64_t batch_size(const YamlView& view) {
  return between(view, kLargestBatch);
}

double positive_below(const YamlView& view, double most) {
  const double value = view.positive();
  if (value > most) view.fail(fmt::format("expected at most {}, found {}", most, value));
  return value;
}

Scaling read_scaling(const YamlView& view) {
  const std::string text = view.text();
  if (text != "weak" && text != "strong") {
    view.fail(fmt::format("expected weak or strong, found '{}'", text));
  }
  return text == "strong" ? Scaling::kStrong : Scaling::kWeak;
}

Precision read_precision(const YamlView& view) {
  try {
    return precision_from_name(view.text());
  } catch (const Error& error) {
    view.fail(error.what());
  }
}

// The rows of one network on one device: everything but the cluster is fixed.
class Grid {
 public:
  Grid(const SweepSpec& spec, const Catalog& catalog, const Device& device, const Stack& stack)
      : spec_(spec), stack_(stack) {
    for (const std::string& comm : spec.comms) comms_.push_back(&find_comm_model(comm));
    for (const std::string& link : spec.links) {
      Cluster cluster;
      cluster.per_host = spec.per_host;
      cluster.inside = catalog.link(spec.inside.empty() ? device.inside : spec.inside);
      cluster.between = catalog.between(device, link);
      clusters_.push_back(std::move(cluster));
    }
    // 0: no price is known, and the cost is then 0 too.
    const RentableInstance* offer = catalog.cheapest(device.id);
    usd_per_hour_ = offer != nullptr ? offer->per_device() : 0;
    memory_ = device.memory_bytes;
  }

  void add_rows(Bench& bench, SweepRow row, std::vector<SweepRow>& out) const {
    for (const Scaling scaling : spec_.scalings) {
      row.scaling = scaling;
      for (const int64_t batch : spec_.batches) {
        for (const int64_t workers : spec_.workers) {
          const bool strong = scaling == Scaling::kStrong;
          // Some workers would have no image, or an epoch not one step.
          if (strong && workers > batch) continue;
          const double together =
              static_cast<double>(batch) * (strong ? 1.0 : static_cast<double>(workers));
          if (together > spec_.dataset_images) continue;
          row.batch = batch;
          row.workers = workers;
          // The largest share decides, as all wait for it.
          add_clusters(bench.at(strong ? (batch + workers - 1) / workers : batch), row, out);
        }
      }
    }
  }

 private:
  void add_clusters(const DeviceStep& alone, SweepRow row, std::vector<SweepRow>& out) const {
    const auto workers = static_cast<double>(row.workers);
    const double images =
        static_cast<double>(row.batch) * (row.scaling == Scaling::kStrong ? 1.0 : workers);
    row.memory_bytes = alone.memory;
    row.fits = alone.memory <= memory_;
    for (size_t link = 0; link < clusters_.size(); ++link) {
      const Topology topology = clusters_[link].topology(row.workers, stack_);
      for (size_t comm = 0; comm < comms_.size(); ++comm) {
        double exposed = 0;
        if (row.workers > 1) {
          exposed = predict_exchange(alone.buckets, alone.step.backward, topology, *comms_[comm],
                                     stack_.overlaps)
                        .exposed +
                    waiting_seconds(stack_, alone.step, alone.step.total(), row.workers);
        }
        row.link = static_cast<int32_t>(link);
        row.comm = static_cast<int32_t>(comm);
        row.step = alone.step.total() + exposed;
        row.images_per_s = images / row.step;
        row.train = spec_.dataset_images * spec_.epochs / row.images_per_s;
        row.cost_usd = row.train / 3600 * usd_per_hour_ * workers;
        out.push_back(row);
      }
    }
  }

  const SweepSpec& spec_;
  const Stack& stack_;
  std::vector<const CommModel*> comms_;
  std::vector<Cluster> clusters_;
  double usd_per_hour_ = 0;
  double memory_ = 0;
};

}  // namespace

// Checked for overflow, since a sweep file may list anything.
int64_t SweepSpec::configurations() const {
  int64_t product = 1;
  for (const size_t size : {models.size(), devices.size(), workers.size(), batches.size(),
                            comms.size(), scalings.size(), links.size(), precisions.size()}) {
    product = checked_product({product, static_cast<int64_t>(size)});
  }
  return product;
}

SweepSpec read_sweep(std::string_view text, const std::string& origin) {
  const auto document = YamlDocument::parse(text, origin);
  const YamlView root = document->root();
  root.only({"models", "devices", "workers", "batch", "comm", "scaling", "link", "precision",
             "stack", "per_host", "dataset_images", "epochs"});
  SweepSpec spec;
  const std::function<std::string(const YamlView&)> words = [](const YamlView& v) {
    return v.text();
  };
  read_list<std::string>(root, "models", spec.models, words);
  read_list<std::string>(root, "devices", spec.devices, words);
  read_list<int64_t>(root, "workers", spec.workers, worker_count);
  read_list<int64_t>(root, "batch", spec.batches, batch_size);
  read_list<std::string>(root, "comm", spec.comms, words);
  read_list<Scaling>(root, "scaling", spec.scalings, read_scaling);
  read_list<std::string>(root, "link", spec.links, words);
  read_list<Precision>(root, "precision", spec.precisions, read_precision);
  // Both are required; at() says so with the place in the file.
  root.at("models");
  root.at("devices");
  spec.stack = root.text_or("stack", "");
  if (const auto found = root.find("per_host")) spec.per_host = worker_count(*found);
  if (const auto found = root.find("dataset_images"))
    spec.dataset_images = positive_below(*found, kMostImages);
  if (const auto found = root.find("epochs")) spec.epochs = positive_below(*found, kMostEpochs);
  TY_REQUIRE(spec.configurations() <= kMostConfigurations,
             "{}: {} configurations, expected at most {}", origin, spec.configurations(),
             kMostConfigurations);
  return spec;
}

std::vector<SweepRow> run_sweep(const SweepSpec& spec, const Catalog& catalog, Networks& networks) {
  std::vector<SweepRow> rows;
  rows.reserve(static_cast<size_t>(spec.configurations()));
  for (size_t d = 0; d < spec.devices.size(); ++d) {
    const Device& device = catalog.device(spec.devices[d]);
    const Stack& stack =
        spec.stack.empty() ? catalog.default_stack(device) : catalog.stack(spec.stack);
    const Grid grid(spec, catalog, device, stack);
    for (size_t m = 0; m < spec.models.size(); ++m) {
      for (size_t p = 0; p < spec.precisions.size(); ++p) {
        // One bench per network and precision: its batches serve all clusters and scalings.
        Bench bench(networks.get(spec.models[m]), device, stack, spec.precisions[p]);
        SweepRow row;
        row.model = static_cast<int32_t>(m);
        row.device = static_cast<int32_t>(d);
        row.precision = spec.precisions[p];
        grid.add_rows(bench, row, rows);
      }
    }
  }
  return rows;
}

Measure measure_from_name(std::string_view name) {
  if (name == "time") return [](const SweepRow& row) { return row.train; };
  if (name == "cost") return [](const SweepRow& row) { return row.cost_usd; };
  if (name == "memory") return [](const SweepRow& row) { return row.memory_bytes; };
  if (name == "workers")
    return [](const SweepRow& row) { return static_cast<double>(row.workers); };
  const std::vector<std::string> names = {"time", "cost", "memory", "workers"};
  throw_error("'{}' cannot be made small.{} There are: {}", name, did_you_mean(name, names),
              join(names, ", "));
}

std::vector<SweepRow> pareto(std::vector<SweepRow> rows, const std::vector<Measure>& measures) {
  std::erase_if(rows, [](const SweepRow& row) { return !row.fits; });
  std::stable_sort(rows.begin(), rows.end(), [&](const SweepRow& a, const SweepRow& b) {
    for (const Measure measure : measures) {
      if (measure(a) != measure(b)) return measure(a) < measure(b);
    }
    return false;
  });
  std::vector<SweepRow> front;
  for (const SweepRow& row : rows) {
    // Rows before this one are no worse in the first measure; it stays if it beats each in another.
    const bool beaten = std::any_of(front.begin(), front.end(), [&](const SweepRow& other) {
      return std::all_of(measures.begin(), measures.end(),
                         [&](const Measure measure) { return measure(other) <= measure(row); });
    });
    if (!beaten) front.push_back(row);
  }
  return front;
}

}  // namespace trainyard::predict
