// PALEO against figures of PALEO itself. TRAINYARD_PALEO_FIXTURE names another, larger fixture made
// by tools/make_paleo_fixture.py --full.
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cluster/predict/paleo/model.h"

namespace trainyard::predict::paleo {
namespace {

// The figures are printed with 12 digits; sums of a hundred terms may differ in the last bits.
constexpr double kRelative = 1e-9;
// The demo is rounded to 3 decimals of a millisecond.
constexpr double kDemoMs = 5.1e-4;

const Json& fixture() {
  static const Json kFixture = [] {
    const char* other = std::getenv("TRAINYARD_PALEO_FIXTURE");
    const std::string path = other != nullptr ? other : TY_TEST_DATA "/paleo_fixture.json";
    return Json::parse(read_file(path), path);
  }();
  return kFixture;
}

// The largest deviation of a test, printed at its end.
class Worst {
 public:
  explicit Worst(std::string_view unit) : unit_(unit) {}
  ~Worst() {
    std::printf("  %lld figures, worst deviation %.3g %s\n", static_cast<long long>(count_), worst_,
                unit_.c_str());
  }
  void relative(double got, double expected) {
    note(expected == 0 ? std::fabs(got) : std::fabs(got / expected - 1));
  }
  void absolute(double got, double expected) { note(std::fabs(got - expected)); }
  double value() const { return worst_; }

 private:
  void note(double deviation) {
    ++count_;
    worst_ = std::max(worst_, deviation);
  }
  std::string unit_;
  double worst_ = 0;
  int64_t count_ = 0;
};

Machine machine(const std::string& name) {
  const auto& row = fixture().at("devices").at(name).items();
  return {row[0].as_number(), row[1].as_number(), row[2].as_number()};
}

Layer layer_of(const Json& row) {
  const auto& f = row.items();
  const std::string& kind = f[1].as_string();
  const auto n = [&](size_t i) { return f[i].as_int(); };
  Layer layer{.name = f[0].as_string()};
  if (kind == "conv") {
    layer.kind = LayerKind::kConv;
    layer.conv = {.h = n(2),
                  .w = n(3),
                  .cin = n(4),
                  .kh = n(5),
                  .kw = n(6),
                  .cout = n(7),
                  .sh = n(8),
                  .sw = n(9),
                  .padding = f[10].as_string() == "same" ? Padding::kSame : Padding::kValid};
    layer.fed_by_data = f[11].as_bool();
  } else if (kind == "linear") {
    layer.kind = LayerKind::kLinear;
    layer.conv = {.cin = n(2), .cout = n(3)};
  } else if (kind == "pool") {
    layer.kind = LayerKind::kPool;
    layer.conv.kh = n(2);
    layer.in_elements = n(3);
    layer.out_elements = n(4);
  } else {
    layer.kind = LayerKind::kDropout;
    layer.in_elements = n(2);
  }
  return layer;
}

Net net_of(const std::string& name) {
  Net net{name, {}};
  for (const Json& row : fixture().at("nets").at(name).items()) net.layers.push_back(layer_of(row));
  return net;
}

// FLOPs and bytes of a pass, seen through a machine of one FLOP (byte) per tick without a floor.
double flops_of(const Layer& layer, int64_t batch, Pass pass) {
  Options options;
  options.machine = {1e12, 1e-6, 1e-6};
  return layer_times(layer, batch, pass, options).compute_ms;
}
double bytes_of(const Layer& layer, int64_t batch, Pass pass) {
  Options options;
  options.machine = {1e12, 1e-6, 1e3 / (1024.0 * 1024.0 * 1024.0)};
  return layer_times(layer, batch, pass, options).memory_ms;
}

double sum(const Json& list) {
  double total = 0;
  for (const Json& item : list.items()) total += item.as_number();
  return total;
}

TEST(PaleoOracle, FlopsBytesAndParametersPerLayer) {
  const int64_t batch = fixture().at("batch").as_int();
  Worst worst("relative");
  for (const auto& [name, rows] : fixture().at("layers").members()) {
    const Net net = net_of(name);
    ASSERT_EQ(net.layers.size(), rows.items().size()) << name;
    for (size_t i = 0; i < net.layers.size(); ++i) {
      const auto& row = rows.items()[i].items();
      const Layer& layer = net.layers[i];
      ASSERT_EQ(layer.name, row[0].as_string());
      EXPECT_EQ(layer.parameters(), row[1].as_int()) << layer.name;
      worst.relative(flops_of(layer, batch, Pass::kForward), row[2].as_number());
      worst.relative(bytes_of(layer, batch, Pass::kForward), sum(row[3]));
      worst.relative(flops_of(layer, batch, Pass::kDataGradient), row[4].as_number());
      worst.relative(bytes_of(layer, batch, Pass::kDataGradient), sum(row[5]));
      worst.relative(flops_of(layer, batch, Pass::kFilterGradient), row[6].as_number());
      worst.relative(bytes_of(layer, batch, Pass::kFilterGradient), sum(row[7]));
      EXPECT_LE(worst.value(), kRelative) << name << " " << layer.name;
    }
  }
}

TEST(PaleoOracle, IterationsOfWholeNetworks) {
  Worst worst("relative");
  for (const Json& item : fixture().at("compute").items()) {
    const auto& row = item.items();
    Options options;
    options.variant = row[5].as_string() == "v0" ? Variant::kV0 : Variant::kHead;
    options.machine = machine(row[1].as_string());
    options.percent.compute = row[3].as_number();
    options.pipelined = row[4].as_bool();
    const Iteration got = iteration(net_of(row[0].as_string()), row[2].as_int(), options);
    worst.relative(got.forward_ms, row[6].as_number());
    worst.relative(got.backward_ms, row[7].as_number());
    worst.relative(got.update_ms, row[8].as_number());
    EXPECT_LE(worst.value(), kRelative) << item.dump(-1);
  }
}

TEST(PaleoOracle, CommunicationSchemes) {
  constexpr Scheme kSchemes[] = {Scheme::kOneToAll, Scheme::kTree, Scheme::kButterfly,
                                 Scheme::kButterflyMixing};
  Worst worst("relative");
  for (const Json& item : fixture().at("comm").items()) {
    const auto& row = item.items();
    const double bytes = net_of(row[0].as_string()).weight_bytes();
    for (size_t i = 0; i < 4; ++i) {
      worst.relative(
          scheme_ms(kSchemes[i], row[3].as_int(), bytes, row[1].as_number(), row[2].as_number()),
          row[4].items()[i].as_number());
    }
    EXPECT_LE(worst.value(), kRelative) << item.dump(-1);
  }
}

Algorithm algorithm_from(const Json& choices, const Layer& layer, Pass pass) {
  static constexpr std::string_view kSuffix[] = {".fwd", ".bwd_data", ".bwd_filter"};
  const Json* found = choices.find(layer.name + std::string(kSuffix[static_cast<size_t>(pass)]));
  if (found == nullptr) return Algorithm::kGemm;
  return found->as_string() == "fft" ? Algorithm::kFft : Algorithm::kFftTiling;
}

TEST(PaleoOracle, AuthorsWebDemo) {
  constexpr Scheme kSchemes[] = {Scheme::kOneToAll, Scheme::kTree, Scheme::kButterfly};
  Worst matrix_products("ms (matrix products)");
  Worst transforms("ms (with the Fourier algorithms solved for)");
  for (const Json& item : fixture().at("demo").items()) {
    const auto& row = item.items();
    const Net net = net_of(row[0].as_string());
    const int64_t batch = row[5].as_int();
    const bool strong = row[6].as_string() == "strong";
    const bool with_cudnn = !row[7].members().empty();
    for (size_t w = 0; w < 8; ++w) {
      const int64_t workers = int64_t{1} << w;
      const int64_t each = strong ? (batch + workers - 1) / workers : batch;
      Options options;
      options.variant = Variant::kV0;
      options.machine = machine(row[1].as_string());
      options.percent = {row[3].as_number(), row[4].as_number()};
      if (with_cudnn) {
        const Json& choices = row[7].at(std::to_string(each));
        options.algorithm = [&choices](const Layer& layer, Pass pass) {
          return algorithm_from(choices, layer, pass);
        };
      }
      const double compute = iteration(net, each, options).compute_ms();
      for (size_t s = 0; s < 3; ++s) {
        const double got = compute + scheme_ms(kSchemes[s], workers, net.weight_bytes(),
                                               row[2].as_number(), row[4].as_number());
        Worst& worst = with_cudnn ? transforms : matrix_products;
        worst.absolute(got, row[8].items()[s].items()[w].as_number());
      }
    }
    EXPECT_LE(matrix_products.value(), kDemoMs) << item.dump(-1);
    EXPECT_LE(transforms.value(), kDemoMs) << item.dump(-1);
  }
}

Split split_of(const Net& net) {
  Split split;
  for (size_t i = 0; i < net.layers.size(); ++i) {
    if (net.layers[i].name == "fc6") split.first = i;
    if (net.layers[i].name == "dropout7") split.last = i;
  }
  return split;
}

TEST(PaleoOracle, HybridParallelism) {
  const Net net = net_of("alex_v2_1gpu");
  Worst worst("relative");
  for (const Json& item : fixture().at("hybrid").items()) {
    const auto& row = item.items();
    Options options;
    options.machine = machine(row[0].as_string());
    options.percent = {row[2].as_number(), row[3].as_number()};
    const Hybrid got =
        hybrid_iteration(net, split_of(net), 128, row[4].as_int(), row[1].as_number(), options);
    const auto& data = row[5].items();
    const auto& model = row[6].items();
    worst.relative(got.data.forward_ms, data[0].as_number());
    worst.relative(got.data.backward_ms, data[1].as_number());
    worst.relative(got.data.update_ms, data[2].as_number());
    worst.relative(got.sync_ms, data[3].as_number());
    worst.relative(got.model.forward_ms, model[0].as_number());
    worst.relative(got.model.backward_ms, model[1].as_number());
    worst.relative(got.model.update_ms, model[2].as_number());
    EXPECT_LE(worst.value(), kRelative) << item.dump(-1);
  }
}

TEST(PaleoOracle, PureModelParallelism) {
  const Net net = net_of("alex_v2_1gpu");
  Options options;
  options.machine = machine("K20");
  Worst worst("relative");
  for (const Json& item : fixture().at("model_parallel").items()) {
    const auto& row = item.items();
    const ModelParallel got = model_parallel(net, split_of(net), 128, row[0].as_int(), options);
    worst.relative(got.forward_lower_ms, row[1].items()[0].as_number());
    worst.relative(got.forward_upper_ms, row[1].items()[1].as_number());
    worst.relative(got.backward_lower_ms, row[2].items()[0].as_number());
    worst.relative(got.backward_upper_ms, row[2].items()[1].as_number());
    EXPECT_LE(worst.value(), kRelative) << item.dump(-1);
  }
  EXPECT_THROW(model_parallel(net, split_of(net), 128, 8, options), Error);
}

// --- unit vectors: single layers on a TITAN X, accepted or refused

void expect_pair(Worst& worst, const Times& got, const Json& expected) {
  worst.relative(got.compute_ms, expected.items()[0].as_number());
  worst.relative(got.memory_ms, expected.items()[1].as_number());
}

ConvShape shape_of(const Json& unit) {
  const auto& in = unit.at("in").items();
  const auto& filter = unit.at("filter").items();
  const auto& stride = unit.at("stride").items();
  return {.n = in[0].as_int(),
          .h = in[1].as_int(),
          .w = in[2].as_int(),
          .cin = in[3].as_int(),
          .kh = filter[0].as_int(),
          .kw = filter[1].as_int(),
          .cout = filter[3].as_int(),
          .sh = stride[0].as_int(),
          .sw = stride[1].as_int(),
          .padding = unit.at("pad").as_string() == "SAME" ? Padding::kSame : Padding::kValid};
}

void check_view(Worst& worst, const Pricer& pricer, const Json& unit, const std::string& name,
                const std::function<ConvShape()>& make) {
  const Json* expected = unit.find(name);
  if (expected == nullptr) return;
  if (expected->is_string()) {
    EXPECT_THROW(make(), Error) << unit.dump(-1);
    return;
  }
  const ConvShape view = make();
  expect_pair(worst, pricer.conv(view, Algorithm::kGemm, Variant::kHead), *expected);
  if (const Json* fft = unit.find(name + "_fft")) {
    expect_pair(worst, pricer.conv(view, Algorithm::kFft, Variant::kHead), *fft);
  }
  if (const Json* tiled = unit.find(name + "_fft_tiling")) {
    expect_pair(worst, pricer.conv(view, Algorithm::kFftTiling, Variant::kHead), *tiled);
  }
  if (const Json* workspace = unit.find(name + "_gemm_workspace")) {
    expect_pair(worst, pricer.conv(view, Algorithm::kGemmWorkspace, Variant::kHead), *workspace);
  }
}

TEST(PaleoOracle, SingleConvolutions) {
  const Pricer pricer(machine("TITAN_X"), 1.0);
  Worst worst("relative");
  for (const Json& unit : fixture().at("units").at("conv").items()) {
    const ConvShape shape = resolve(shape_of(unit), Variant::kHead);
    EXPECT_EQ(shape.ph, unit.at("pad_hw").items()[0].as_int());
    EXPECT_EQ(shape.oh, unit.at("out").items()[1].as_int());
    check_view(worst, pricer, unit, "fwd", [&] { return shape; });
    check_view(worst, pricer, unit, "bwd_data", [&] { return data_view(shape, Variant::kHead); });
    check_view(worst, pricer, unit, "bwd_filter",
               [&] { return filter_view(shape, Variant::kHead); });
    EXPECT_LE(worst.value(), kRelative) << unit.dump(-1);
  }
}

TEST(PaleoOracle, SingleDeconvolutionsAndLinearLayers) {
  Options options;
  options.machine = machine("TITAN_X");
  Worst worst("relative");
  for (const Json& unit : fixture().at("units").at("deconv").items()) {
    const auto& out = unit.at("out").items();
    const auto& filter = unit.at("filter").items();
    const int64_t stride = unit.at("s").as_int();
    Layer layer{.name = "deconv", .kind = LayerKind::kDeconv};
    layer.conv = {.h = out[1].as_int(),
                  .w = out[2].as_int(),
                  .cin = filter[2].as_int(),
                  .kh = filter[0].as_int(),
                  .kw = filter[1].as_int(),
                  .cout = filter[3].as_int(),
                  .sh = stride,
                  .sw = stride,
                  .padding = Padding::kSame};
    EXPECT_EQ(layer.parameters(), unit.at("params").as_int());
    expect_pair(worst, layer_times(layer, 64, Pass::kForward, options), unit.at("fwd"));
    expect_pair(worst, layer_times(layer, 64, Pass::kDataGradient, options), unit.at("bwd_data"));
    expect_pair(worst, layer_times(layer, 64, Pass::kFilterGradient, options),
                unit.at("bwd_filter"));
  }
  const Pricer pricer(options.machine, 1.0);
  for (const Json& unit : fixture().at("units").at("innerproduct").items()) {
    int64_t in = 1;
    for (size_t i = 1; i < unit.at("in").items().size(); ++i)
      in *= unit.at("in").items()[i].as_int();
    expect_pair(worst,
                pricer.price(linear_work(unit.at("in").items()[0].as_int(), in,
                                         unit.at("num_outputs").as_int())),
                unit.at("fwd"));
  }
  EXPECT_LE(worst.value(), kRelative);
}

}  // namespace
}  // namespace trainyard::predict::paleo
