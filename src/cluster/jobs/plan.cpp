#include "cluster/jobs/plan.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cluster/jobs/description/machines.h"
#include "cluster/predict/predict.h"

namespace trainyard::jobs {
namespace {

// Which cloud's machines a service rents, and whose price that is.
struct Rental {
  std::string_view platform;
  std::string_view machines;  // in the catalog of machines
  std::string_view cloud;
  std::string_view option;
  std::string_view note;
};

// SkyPilot rents of all clouds, so it has a row for each.
constexpr Rental kRentals[] = {
    {"sagemaker", "sagemaker", "AWS", "instance_type", "EC2's price; SageMaker adds a surcharge"},
    {"vertex", "vertex", "GCP", "machine_type", "Compute Engine's price; Vertex AI adds a fee"},
    {"azureml", "azureml", "Azure", "instance_type", "the virtual machine's price"},
    {"ibm", "ibm-vpc", "IBM", "", "IBM Cloud VPC's price, not the training service's"},
    {"skypilot", "sagemaker", "AWS", "", "EC2's price"},
    {"skypilot", "vertex", "GCP", "", "Compute Engine's price"},
    {"skypilot", "azureml", "Azure", "", "the virtual machine's price"},
    {"skypilot", "ibm-vpc", "IBM", "", "IBM Cloud VPC's price"},
};

// Google rents machines and the accelerators in them apart.
const predict::Instance* accelerators_for(const Job& job, const Machine& machine) {
  const bool apart = machine.part == Machine::Part::kHost || machine.native == "attach";
  if (!apart || job.count == 0) return nullptr;
  return predict::find_accelerators(predict::built_in_instances(), machine.cloud, job.accelerator,
                                    job.count);
}

void set_price(const Job& job, const Machine& machine, const predict::Instance* accelerators,
               RentableInstance& offer) {
  const Machine& priced = accelerators != nullptr ? *accelerators : machine;
  const bool attached = machine.native == "attach" && job.count > 0;
  if (attached && accelerators == nullptr) return;
  offer.region = priced.region;
  const auto price = predict::hourly_price(machine, accelerators, job.spot);
  if (!price) {
    if (job.spot && priced.usd_per_hour) offer.note += "; no spot price is published";
    return;
  }
  offer.usd_per_hour = price->usd * static_cast<double>(job.nodes);
  offer.complete = price->complete;
  offer.date = price->date;
  offer.source = price->source;
  if (!price->complete) {
    offer.note += "; the accelerators alone, the machine around them comes on top";
  }
}

RentableInstance offer_of(const Job& job, const Rental& rental, const Machine& machine) {
  const predict::Instance* accelerators = accelerators_for(job, machine);
  RentableInstance offer;
  offer.platform = rental.platform;
  offer.cloud = rental.cloud;
  offer.machine = rental.platform == "skypilot" ? machine.instance : machine.name;
  offer.accelerator = job.accelerator;
  const Machine& computes = accelerators != nullptr ? *accelerators : machine;
  offer.device = computes.device;
  offer.inside = computes.inside;
  offer.network = machine.network;
  offer.count = job.count;
  offer.nodes = job.nodes;
  offer.note = rental.note;
  set_price(job, machine, accelerators, offer);
  return offer;
}

// SkyPilot's "infra" may name a cloud, "aws/us-east-1"; other platforms are their own.
bool wants_cloud(const Job& job, const Rental& rental) {
  const std::string infra = job.option("skypilot", "infra");
  if (rental.platform != "skypilot" || infra.empty() || infra.starts_with("*")) return true;
  std::string cloud = infra.substr(0, infra.find('/'));
  for (char& c : cloud) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string wanted(rental.cloud);
  for (char& c : wanted) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return cloud == wanted;
}

// A machine that the job names is the only offer of its platform.
std::vector<const Machine*> machines_for(const Job& job, const Rental& rental) {
  const std::string named = rental.option.empty() ? "" : job.option(rental.platform, rental.option);
  if (named.empty()) return fitting_machines(job, rental.machines);
  return {&choose_machine(job, rental.platform, rental.platform, rental.option)};
}

// Hours of the whole training on each kind of machine, predicted once.
class Predictor {
 public:
  Predictor(const Job& job, const PlanOptions& options, const Workload& workload)
      : job_(job),
        options_(options),
        workload_(workload),
        catalog_(predict::Catalog::load(options.catalogs)),
        networks_(options.graphs) {}

  // No value with a note for a machine that the catalog cannot predict for, or that is too small.
  std::optional<double> hours(const RentableInstance& offer, std::vector<std::string>& notes) {
    if (offer.device.empty()) {
      note(fmt::format("no time is predicted for {}: it is not in 'trainyard devices'",
                       offer.accelerator.empty() ? offer.machine : offer.accelerator),
           notes);
      return std::nullopt;
    }
    const std::array<std::string, 3> key = {offer.device, offer.inside, offer.network};
    const auto known = hours_.find(key);
    if (known != hours_.end()) return known->second;
    const predict::Row row = predicted(offer, notes);
    if (!row.fits) {
      note(fmt::format("{} of batch {} does not fit the memory of {}", workload_.model,
                       row.batch_per_worker, offer.device),
           notes);
      return hours_[key] = std::nullopt;
    }
    return hours_[key] = row.train / 3600;
  }

 private:
  // Each once.
  static void note(std::string text, std::vector<std::string>& notes) {
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) {
      notes.push_back(std::move(text));
    }
  }

  std::string network_of(const RentableInstance& offer, const predict::Device& device,
                         std::vector<std::string>& notes) const {
    if (!options_.link.empty()) return options_.link;
    if (!offer.network.empty() || job_.nodes == 1) {
      return offer.network.empty() ? device.between : offer.network;
    }
    note(
        fmt::format("the network of {} is not known; {} is assumed", offer.machine, device.between),
        notes);
    return device.between;
  }

  predict::Row predicted(const RentableInstance& offer, std::vector<std::string>& notes) {
    predict::Request request;
    request.network = &networks_.get(workload_.model);
    request.device = &catalog_.device(offer.device);
    request.precision = predict::precision_from_name(workload_.precision);
    request.stack = &catalog_.default_stack(*request.device);
    // The batch of a workload is that of all workers.
    request.scaling = predict::Scaling::kStrong;
    const int64_t per_node = std::max<int64_t>(1, job_.count);
    request.workers = {job_.nodes * per_node};
    request.batch = workload_.batch;
    TY_REQUIRE(request.batch >= request.workers[0],
               "a batch of {} cannot be shared by {} accelerators", request.batch,
               request.workers[0]);
    request.cluster.per_host = per_node;
    request.cluster.inside =
        catalog_.link(offer.inside.empty() ? request.device->inside : offer.inside);
    request.cluster.between = catalog_.link(network_of(offer, *request.device, notes));
    request.cluster.comm = &predict::find_comm_model("auto");
    request.dataset_images = static_cast<double>(workload_.images);
    request.epochs = workload_.epochs;
    return predict::predict(request).front();
  }

  const Job& job_;
  const PlanOptions& options_;
  const Workload& workload_;
  predict::Catalog catalog_;
  predict::Networks networks_;
  std::map<std::array<std::string, 3>, std::optional<double>> hours_;
};

// Given hours win, then a prediction, then the limit of the job, which is the most that it can
// cost.
void set_times(const Job& job, const PlanOptions& options, Plan& plan) {
  constexpr double kHour = 3600;
  const bool asked = !options.hours && plan.workload.has_value();
  std::optional<Predictor> predictor;
  if (asked) predictor.emplace(job, options, *plan.workload);
  for (RentableInstance& offer : plan.offers) {
    if (options.hours) {
      offer.hours = *options.hours;
      offer.time = TimeOrigin::kGiven;
      continue;
    }
    if (asked) offer.hours = predictor->hours(offer, plan.notes);
    if (offer.hours) {
      offer.time = TimeOrigin::kPredicted;
    } else if (job.time_limit_s > 0) {
      offer.hours = static_cast<double>(job.time_limit_s) / kHour;
      offer.time = TimeOrigin::kLimit;
    }
  }
}

void explain(const Job& job, const PlanOptions& options, Plan& plan) {
  std::vector<std::string> notes;
  if (options.hours) {
    notes.push_back(fmt::format("time: {} hours, as given", *options.hours));
  } else if (plan.workload) {
    notes.push_back(fmt::format(
        "time predicted (trainyard model): {} in {}, batch {} over {} workers, {:g} epochs of {} "
        "images, {} between nodes; start, data and checkpoints are not in it",
        plan.workload->model, plan.workload->precision, plan.workload->batch,
        job.nodes * std::max<int64_t>(1, job.count), plan.workload->epochs,
        with_commas(plan.workload->images),
        options.link.empty() ? "each machine's own network" : options.link));
  } else if (!idle_accelerators(job).empty()) {
    notes.push_back("no time is predicted: " + idle_accelerators(job));
  } else {
    notes.emplace_back(
        "no time is predicted: the command is no trainyard train on data of known size, and the "
        "job has no 'workload'");
  }
  if (job.spot) notes.emplace_back("spot prices change by the hour; these are of their dates");
  notes.emplace_back("Kubernetes and Slurm run on machines of your own: no price");
  notes.insert(notes.end(), plan.notes.begin(), plan.notes.end());
  plan.notes = std::move(notes);
}

}  // namespace

std::string_view time_origin_name(TimeOrigin origin) {
  switch (origin) {
    case TimeOrigin::kPredicted:
      return "predicted";
    case TimeOrigin::kGiven:
      return "given";
    case TimeOrigin::kLimit:
      return "limit";
    case TimeOrigin::kUnknown:
      return "unknown";
  }
  return "";
}

Plan plan_job(const Job& job, const PlanOptions& options) {
  constexpr double kMostHours = 1e6;
  TY_REQUIRE(!options.hours || (*options.hours > 0 && *options.hours <= kMostHours),
             "{} hours, expected more than none, at most {:g}", *options.hours, kMostHours);
  // Also where nothing is predicted.
  const predict::Catalog catalog = predict::Catalog::load(options.catalogs);
  if (!options.link.empty()) catalog.link(options.link);
  require_known_accelerator(job);
  Plan plan;
  // A prediction for accelerators that the command does not use would be of another program.
  if (idle_accelerators(job).empty()) plan.workload = workload_of(job);
  for (const Rental& rental : kRentals) {
    if (!wants_cloud(job, rental)) continue;
    for (const Machine* machine : machines_for(job, rental)) {
      plan.offers.push_back(offer_of(job, rental, *machine));
    }
  }
  set_times(job, options, plan);
  explain(job, options, plan);
  // Complete prices first, then those of parts, then offers without a price.
  const auto rank = [](const RentableInstance& offer) {
    return !offer.usd_per_hour ? 2 : offer.complete ? 0 : 1;
  };
  std::stable_sort(plan.offers.begin(), plan.offers.end(),
                   [&](const RentableInstance& a, const RentableInstance& b) {
                     if (rank(a) != rank(b)) return rank(a) < rank(b);
                     if (a.total_usd() && b.total_usd()) return *a.total_usd() < *b.total_usd();
                     return a.usd_per_hour.value_or(0) < b.usd_per_hour.value_or(0);
                   });
  return plan;
}

}  // namespace trainyard::jobs
