// `trainyard predict`: time, throughput, memory and cost, without the hardware.
#include "cluster/predict/predict.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cluster/predict/peak.h"
#include "cluster/predict/view.h"
#include "program/command.h"
#include "program/image_count.h"
#include "program/kept_predictions.h"
#include "program/model_argument.h"

namespace trainyard::cli {
namespace {

constexpr const char* kDefaultDevice = "a100";

struct PredictOptions {
  ModelArgument network;
  std::string device = kDefaultDevice;
  std::string instance;
  std::string stack;
  std::string cost_model = "trainyard";
  std::vector<int64_t> workers = {1};
  int64_t batch = 32;
  std::string scaling = "weak";
  std::string comm = "auto";
  std::string link;
  std::string inside;
  std::optional<int64_t> per_host;
  std::optional<int64_t> servers;
  std::string precision = "fp32";
  bool inference = false;
  std::optional<double> input_rate;
  std::optional<double> price;
  std::string dataset = "imagenet";
  double epochs = 90;
  bool layers = false;
  bool peak = false;
  std::string variant = "head";
  bool pipelined = false;
  bool hybrid = false;
  std::vector<double> percent;
  std::vector<std::string> catalogs;
  report::Format format = report::Format::kText;
};

// Whether the machines of an offer are those that are predicted for.
bool has_cluster(const predict::RentableInstance& offer, const predict::Cluster& cluster) {
  return offer.devices == cluster.per_host && offer.inside == cluster.inside.id &&
         offer.network == cluster.between.id;
}

// A price given wins; without one costs are not shown as 0 but as unknown.
void price_request(const PredictOptions& options, const predict::Catalog& catalog,
                   predict::Request& request, std::vector<std::string>& notes) {
  if (options.price) {
    request.usd_per_hour = *options.price;
    notes.push_back(fmt::format("price: ${} per device and hour, as given", *options.price));
    return;
  }
  const predict::RentableInstance* offer = options.instance.empty()
                                               ? catalog.cheapest(request.device->id)
                                               : &catalog.offer(options.instance);
  if (offer == nullptr) {
    notes.push_back("price: none in the catalog for this device; give one with --price");
    return;
  }
  request.usd_per_hour = offer->per_device();
  std::string note = fmt::format("price: ${:.3f} per device and hour, {} {} as of {}",
                                 offer->per_device(), offer->cloud, offer->instance, offer->date);
  if (!options.instance.empty()) {
    request.rented_together = offer->devices;
  } else if (!has_cluster(*offer, request.cluster)) {
    note += fmt::format(
        ", which has {} of them, {} inside and {} between; --instance {} predicts with these",
        offer->devices, offer->inside, offer->network_text(), shell_word(offer->instance));
  }
  notes.push_back(std::move(note));
}

// Several instances cannot be predicted where nobody says what connects them.
void require_network(const PredictOptions& options, const predict::RentableInstance* offer,
                     const predict::Request& request) {
  if (offer == nullptr || !offer->network.empty() || !options.link.empty()) return;
  for (const int64_t workers : request.workers) {
    TY_REQUIRE(workers <= request.cluster.per_host,
               "{} workers need several {}, whose network is not known; give one with --link",
               workers, offer->instance);
  }
}

// The cluster of the flags; what they leave out is the instance's, or what the device usually has.
void set_cluster(const PredictOptions& options, const predict::Catalog& catalog,
                 const predict::RentableInstance* offer, predict::Request& request) {
  const bool paleo = request.model == predict::Model::kPaleo;
  // The clusters of PALEO have one device on each host.
  request.cluster.per_host =
      options.per_host.value_or(offer != nullptr ? offer->devices : (paleo ? 1 : 8));
  const std::string own_inside = offer != nullptr ? offer->inside : "";
  request.cluster.inside = catalog.link(!options.inside.empty() ? options.inside
                                        : !own_inside.empty()   ? own_inside
                                                                : request.device->inside);
  request.cluster.between = catalog.between(
      *request.device, options.link.empty() && offer != nullptr ? offer->network : options.link);
  require_network(options, offer, request);
  request.cluster.servers = options.servers.value_or(0);
  request.cluster.comm =
      &predict::find_comm_model(paleo && options.comm == "auto" ? "butterfly" : options.comm);
}

// Checks what only the flags can tell; predict::check does the rest.
predict::Request make_request(const PredictOptions& options, const predict::Catalog& catalog,
                              std::vector<std::string>& notes) {
  predict::Request request;
  const predict::RentableInstance* offer =
      options.instance.empty() ? nullptr : &catalog.offer(options.instance);
  request.device = &catalog.device(offer != nullptr ? offer->device : options.device);
  TY_REQUIRE(options.device == kDefaultDevice || options.device == request.device->id,
             "{} has {}, not {}; leave out --device or --instance", options.instance,
             request.device->id, options.device);
  request.precision = predict::precision_from_name(options.precision);
  request.stack = options.stack.empty() ? &catalog.default_stack(*request.device)
                                        : &catalog.stack(options.stack);
  const bool paleo = options.cost_model == "paleo";
  request.model = paleo ? predict::Model::kPaleo : predict::Model::kTrainyard;
  request.mode = options.inference ? predict::Mode::kInference : predict::Mode::kTraining;
  request.scaling =
      options.scaling == "strong" ? predict::Scaling::kStrong : predict::Scaling::kWeak;
  request.workers = options.workers;
  request.batch = options.batch;
  set_cluster(options, catalog, offer, request);
  TY_REQUIRE(!options.input_rate || *options.input_rate > 0,
             "--input-rate is {}, expected images per second", *options.input_rate);
  request.input_images_per_s = options.input_rate.value_or(0);
  request.dataset_images = parse_images(options.dataset, "--dataset");
  TY_REQUIRE(options.epochs > 0, "--epochs is {}, expected more than 0", options.epochs);
  request.epochs = options.epochs;
  request.variant =
      options.variant == "v0" ? predict::paleo::Variant::kV0 : predict::paleo::Variant::kHead;
  request.pipelined = options.pipelined;
  request.hybrid = options.hybrid;
  request.percent = request.stack->paleo;
  if (!options.percent.empty()) {
    TY_REQUIRE(
        options.percent.size() == 2 && options.percent[0] > 0 && options.percent[1] > 0 &&
            options.percent[0] <= 1 && options.percent[1] <= 1,
        "--percent takes two shares above 0, at most 1, of computation and of communication");
    request.percent = {options.percent[0], options.percent[1]};
  }
  TY_REQUIRE(paleo || (!options.hybrid && !options.pipelined && options.percent.empty() &&
                       options.variant == "head"),
             "--hybrid, --pipelined, --variant and --percent are of PALEO; add --cost-model paleo");
  price_request(options, catalog, request, notes);
  return request;
}

// With what the stack makes of its bandwidth, a factor of every exchange.
std::string link_text(const predict::Request& request, const predict::Link& link,
                      predict::LinkSpeed predict::Topology::*which) {
  if (request.model == predict::Model::kPaleo) return link.name;
  const predict::Topology whole = request.cluster.topology(2);
  const predict::Topology used = request.cluster.topology(2, *request.stack);
  return fmt::format("{} ({:.0f} % of its bandwidth used)", link.name,
                     100 * (used.*which).bytes_per_s / (whole.*which).bytes_per_s);
}

void describe(const PredictOptions& options, const predict::Request& request,
              std::vector<std::string>& notes) {
  if (request.model == predict::Model::kPaleo) {
    notes.push_back(fmt::format("model: PALEO ({}), {:g} % of peak, {:g} % of the network",
                                options.variant, request.percent.compute * 100,
                                request.percent.network * 100));
    notes.emplace_back("memory is not PALEO's but this project's estimate");
  } else {
    notes.push_back(fmt::format("model: trainyard, software stack {} ({})", request.stack->id,
                                request.stack->name));
    if (request.stack->measured == nullptr) {
      notes.push_back(fmt::format(
          "fitted to {} rows of this stack, {} of them on this device, {} "
          "in {}",
          request.stack->all_rows(), request.stack->rows_on(request.device->id),
          request.stack->rows_on(request.device->id, options.precision), options.precision));
    }
  }
  notes.push_back(
      fmt::format("cluster: {} per host over {}, hosts over {}", request.cluster.per_host,
                  link_text(request, request.cluster.inside, &predict::Topology::inside),
                  link_text(request, request.cluster.between, &predict::Topology::between)));
  if (request.scaling != predict::Scaling::kStrong) return;
  for (const int64_t workers : request.workers) {
    const std::string note = predict::uneven_batch_note(request.batch, workers);
    if (!note.empty()) notes.push_back(note);
  }
}

// Whether any stack was fitted to rows of the network. Others may do what no row has shown.
bool has_published_rows(const predict::Catalog& catalog, const std::string& network) {
  return std::ranges::any_of(catalog.stacks(), [&network](const predict::Stack& stack) {
    return stack.networks.contains(network);
  });
}

// Intervals are of the fitted model: neither PALEO nor a machine that was measured has one.
void find_interval(const predict::Catalog& catalog, const predict::Request& request,
                   report::PredictionContext& context) {
  if (request.model == predict::Model::kPaleo || request.stack->measured != nullptr) return;
  const bool published = has_published_rows(catalog, context.network);
  const predict::Support support =
      published ? predict::support_of(*request.stack, *request.device, context.network)
                : predict::Support::kRelatives;
  context.interval =
      catalog.intervals().find(predict::device_class(*request.device), request.mode, support);
  if (!context.interval) return;
  context.notes.push_back(fmt::format(
      "80 % interval of the speed on one device: {:.0f} % to {:.0f} % of the prediction, because "
      "{}",
      context.interval->least(100), context.interval->most(100),
      published ? predict::support_text(support)
                : "no speed of this network was published with any stack"));
}

int predict_command(const PredictOptions& options, std::ostream& out) {
  const auto kept = kept_catalog(options.catalogs);
  const predict::Catalog& catalog = *kept;
  report::PredictionContext context;
  predict::Request request = make_request(options, catalog, context.notes);
  const auto network = kept_network(options.network);
  request.network = network.get();
  context.network = options.network.text();
  predict::check(request);
  report::Document document;
  if (options.peak) {
    document =
        report::peak_document(context, *request.device,
                              predict::peak_rows(*request.network, context.network, *request.device,
                                                 *request.stack, request.model, request.batch));
  } else if (options.layers) {
    TY_REQUIRE(request.model == predict::Model::kTrainyard,
               "--layers shows the trainyard model; leave out --cost-model paleo");
    const predict::Roofline roofline(*request.device, *request.stack, request.precision);
    document = report::prediction_layers_document(
        context, predict::predict_layers(request.network->profile, roofline,
                                         static_cast<double>(request.batch), request.mode));
  } else {
    const std::vector<predict::Row> rows = predict::predict(request);
    describe(options, request, context.notes);
    find_interval(catalog, request, context);
    document = report::prediction_document(context, request, rows);
  }
  out << report::render(document, options.format);
  return 0;
}

void declare_cluster(Args& args, PredictOptions& options) {
  args.option("--workers", options.workers, "numbers of devices, as 1,2,4,8");
  args.choice("--scaling", options.scaling, {"weak", "strong"},
              "weak: --batch is per worker; strong: --batch is the total");
  args.option("--comm", options.comm,
              "central, reduce-broadcast, tree, butterfly, ring, hierarchical, ps or auto");
  args.option("--link", options.link, "link between hosts (default: the usual one for the device)");
  args.option("--inside", options.inside, "link inside a host (default: the device's own)");
  args.option("--per-host", options.per_host, "devices per host (default: 8; for PALEO 1)",
              at_least(1));
  args.option("--servers", options.servers,
              "parameter servers for --comm ps (default: one per host)", at_least(1));
  args.option("--input-rate", options.input_rate,
              "images/s that a host can read and decode (default: no limit)");
  args.renamed("--input", "--input-rate");
}

void declare_paleo(Args& args, PredictOptions& options) {
  args.choice("--cost-model", options.cost_model, {"trainyard", "paleo"},
              "cost model: our fitted roofline, or PALEO");
  args.renamed("--model", "--cost-model");
  args.choice("--variant", options.variant, {"head", "v0"},
              "PALEO: the current version or its first release");
  args.flag("--pipelined", options.pipelined, "PALEO: overlap computation and memory per layer");
  args.flag("--hybrid", options.hybrid, "PALEO: split the fully connected layers over the workers");
  args.option("--percent", options.percent,
              "PALEO: achieved shares of peak compute and network bandwidth, as 0.62,0.72");
}

Runner setup_predict(Args& args) {
  auto options = std::make_shared<PredictOptions>();
  options->network.declare_single(args);
  args.option("--device", options->device, "a device of 'trainyard devices'");
  args.option("--instance", options->instance,
              "cloud instance, as p4d.24xlarge; sets device, devices per host, links and price");
  args.option("--stack", options->stack, "a software stack of 'trainyard devices'");
  args.option("--batch", options->batch, "images in a batch");
  args.option("--precision", options->precision, "fp64, fp32, tf32, fp16 or int8");
  args.flag("--inference", options->inference, "predict inference instead of training");
  declare_cluster(args, *options);
  args.option("--price", options->price,
              "dollars per device and hour (default: the catalog's price)", at_least(0));
  args.option("--dataset", options->dataset, "imagenet, cifar10, mnist or a number of images");
  args.option("--epochs", options->epochs, "epochs in the whole training run");
  args.flag("--layers", options->layers, "time per layer and what bounds it");
  args.flag("--peak", options->peak, "achieved share of the published peak FLOPs");
  declare_paleo(args, *options);
  args.repeated("--catalog", options->catalogs,
                "a YAML file that adds to or overrides the catalog");
  args.format(options->format);
  return [options](std::ostream& out) { return predict_command(*options, out); };
}

}  // namespace

extern const Command kPredict = {
    .name = "predict",
    .group = "Predict",
    .summary = "Time, throughput, memory and cost of training on a device or cluster",
    .examples =
        "  trainyard predict resnet50 --device v100 --workers 1,8,64 --batch 64 --link 25gbe\n"
        "  trainyard predict inception_v3 --device k80 --workers 1,2,4,8 --batch 128 \\\n"
        "    --scaling strong --comm tree --price 0.9 --epochs 90\n"
        "  trainyard predict vgg16 --device titan-x-maxwell --batch 16 --layers\n"
        "  trainyard predict resnet50 --device k80 --peak\n"
        "  trainyard predict alexnet --cost-model paleo --device k20x --workers 1,32 --comm tree\n",
    .setup = setup_predict,
};

}  // namespace trainyard::cli
