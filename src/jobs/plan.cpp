#include "jobs/plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "jobs/description/machines.h"
#include "jobs/prices.h"
#include "predict/predict.h"

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

// SageMaker's ml.p3.2xlarge is EC2's p3.2xlarge.
std::string machine_of_cloud(const std::string& name) {
  return name.starts_with("ml.") ? name.substr(3) : name;
}

void set_price(const Job& job, const PublishedPrice& price, Offer& offer) {
  const std::optional<double> usd = price.at(job.spot);
  offer.region = price.region;
  offer.date = price.date;
  offer.source = price.source;
  if (usd) offer.usd_per_hour = *usd * static_cast<double>(job.nodes);
  if (!usd) offer.note += "; no spot price is published";
}

// Google prices a machine and the accelerators in it apart.
void set_google_price(const Job& job, const Machine& machine, Offer& offer) {
  const PublishedPrice* host = price_of_machine("GCP", machine.name);
  const PublishedPrice* parts =
      job.count > 0 ? price_of_accelerators(job.accelerator, job.count) : nullptr;
  if (job.count == 0) {
    if (host != nullptr) set_price(job, *host, offer);
    return;
  }
  if (parts == nullptr) return;
  set_price(job, *parts, offer);
  if (host == nullptr) {
    offer.complete = false;
    offer.note += "; the accelerators alone, the machine around them comes on top";
  } else if (offer.usd_per_hour && host->at(job.spot)) {
    *offer.usd_per_hour += *host->at(job.spot) * static_cast<double>(job.nodes);
    // The older date: the sum is as old as its older part.
    offer.date = std::min(host->date, parts->date);
  }
}

Offer offer_of(const Job& job, const Rental& rental, const Machine& machine) {
  Offer offer;
  offer.platform = rental.platform;
  offer.cloud = rental.cloud;
  offer.machine = rental.platform == "skypilot" ? machine_of_cloud(machine.name) : machine.name;
  offer.accelerator = job.accelerator;
  offer.count = job.count;
  offer.nodes = job.nodes;
  offer.note = rental.note;
  if (rental.cloud == "GCP") {
    set_google_price(job, machine, offer);
  } else if (const PublishedPrice* price =
                 price_of_machine(rental.cloud, machine_of_cloud(machine.name))) {
    set_price(job, *price, offer);
  }
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

// Seconds of the whole training on each kind of device, predicted once.
class Predictor {
 public:
  Predictor(const Job& job, const PlanOptions& options, const Workload& workload)
      : job_(job),
        options_(options),
        workload_(workload),
        catalog_(predict::Catalog::load(options.catalogs)),
        networks_(options.graphs) {}

  // No value with a note for a device that the catalog does not have, or that is too small.
  std::optional<double> hours(const std::string& device, std::vector<std::string>& notes) {
    const auto known = hours_.find(device);
    if (known != hours_.end()) return known->second;
    // Also remembers that there is no answer, so that a note is written once.
    std::optional<double>& answer = hours_[device];
    const auto& devices = catalog_.devices();
    const bool there = std::any_of(devices.begin(), devices.end(),
                                   [&](const predict::Device& one) { return one.id == device; });
    if (!there) {
      notes.push_back(
          fmt::format("no time is predicted for {}: it is not in 'trainyard devices'", device));
      return answer;
    }
    const predict::Row row = predicted(device);
    if (!row.fits) {
      notes.push_back(fmt::format("{} of batch {} does not fit the memory of {}", workload_.model,
                                  row.batch_per_worker, device));
      return answer;
    }
    answer = row.train / 3600;
    return answer;
  }

 private:
  predict::Row predicted(const std::string& device) {
    predict::Request request;
    request.network = &networks_.get(workload_.model);
    request.device = &catalog_.device(device);
    request.stack = &catalog_.default_stack(*request.device);
    request.precision = predict::precision_from_name(workload_.precision);
    // The batch of a workload is that of all workers.
    request.scaling = predict::Scaling::kStrong;
    const int64_t per_node = std::max<int64_t>(1, job_.count);
    request.workers = {job_.nodes * per_node};
    request.batch = workload_.batch;
    TY_REQUIRE(request.batch >= request.workers[0],
               "a batch of {} cannot be shared by {} accelerators", request.batch,
               request.workers[0]);
    request.cluster.per_host = per_node;
    request.cluster.inside = catalog_.link(request.device->inside);
    request.cluster.between = catalog_.between(*request.device, options_.link);
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
  std::map<std::string, std::optional<double>> hours_;
};

// Given hours win, then a prediction, then the limit of the job, which is the most that it can
// cost.
void set_times(const Job& job, const PlanOptions& options, Plan& plan) {
  constexpr double kHour = 3600;
  const bool asked = !options.hours && plan.workload.has_value();
  std::optional<Predictor> predictor;
  if (asked) predictor.emplace(job, options, *plan.workload);
  for (Offer& offer : plan.offers) {
    if (options.hours) {
      offer.hours = *options.hours;
      offer.time = TimeOrigin::kGiven;
      continue;
    }
    // A machine without accelerators is a device by its own name.
    const std::string device =
        offer.accelerator.empty() ? machine_of_cloud(offer.machine) : offer.accelerator;
    if (asked) offer.hours = predictor->hours(device, plan.notes);
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
        "time predicted (trainyard model): {}, batch {} over {} workers, {:g} epochs of {} images, "
        "{} between nodes; start, data and checkpoints are not in it",
        plan.workload->model, plan.workload->batch, job.nodes * std::max<int64_t>(1, job.count),
        plan.workload->epochs, with_commas(plan.workload->images),
        options.link.empty() ? "the usual link of each device" : options.link));
  } else {
    notes.emplace_back(
        "no time is predicted: the command is no trainyard train on data of known size, and the "
        "job "
        "has no 'workload'");
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
  plan.workload = workload_of(job);
  for (const Rental& rental : kRentals) {
    if (!wants_cloud(job, rental)) continue;
    for (const Machine* machine : machines_for(job, rental)) {
      plan.offers.push_back(offer_of(job, rental, *machine));
    }
  }
  set_times(job, options, plan);
  explain(job, options, plan);
  // Complete prices first, then those of parts, then offers without a price.
  const auto rank = [](const Offer& offer) {
    return !offer.usd_per_hour ? 2 : offer.complete ? 0 : 1;
  };
  std::stable_sort(plan.offers.begin(), plan.offers.end(), [&](const Offer& a, const Offer& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    if (a.total_usd() && b.total_usd()) return *a.total_usd() < *b.total_usd();
    return a.usd_per_hour.value_or(0) < b.usd_per_hour.value_or(0);
  });
  return plan;
}

}  // namespace trainyard::jobs
