#include "cluster/predict/hierarchy.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/core.h>

#include "base/error.h"
#include "cluster/predict/catalog.h"

namespace trainyard::predict {
namespace {

// How far a figure may leave its prior for all stacks together, for a framework or family, and for
// one stack.
struct PriorWidths {
  std::string_view field;
  double all, family, stack;
  bool is_share = false;  // of a peak, beyond which nothing goes
};
constexpr PriorWidths kPriorWidths[] = {
    {"conv", 0.4, 0.2, 0.12, true},    {"gemm", 0.3, 0.1, 0.05, true},
    {"matrix", 0.5, 0.25, 0.15, true}, {"tf32", 0.5, 0.2, 0.12, true},
    {"int8", 0.5, 0.2, 0.1, true},     {"fp64", 0.2, 0.08, 0.05, true},
    {"half", 0.3, 0.15, 0.08},         {"memory", 0.3, 0.15, 0.1, true},
    {"cache", 0.2, 0.1, 0.02},         {"gradient", 0.2, 0.1, 0.06},
    {"winograd", 0.4, 0.2, 0.1},       {"fourier", 0.4, 0.3, 0.15},
    {"direct", 0.7, 0.3, 0.15},        {"depth", 0.6, 0.3, 0.15},
    {"occupancy", 0.8, 0.4, 0.2},      {"fused", 0.4, 0.3, 0.2},
    {"normalization", 0.3, 0.2, 0.1},  {"layout", 0.6, 0.3, 0.15},
    {"launch_us", 0.6, 0.4, 0.25},     {"backward_launch", 0.3, 0.15, 0.05},
    {"step_us", 1.0, 0.7, 0.4},        {"kernel_us", 0.6, 0.1, 0.05},
    {"copy", 0.4, 0.3, 0.2, true},     {"serial", 0.5, 0.2, 0.1},
};
// How sharply shares bend below 1.
constexpr double kCapNorm = 8;
static_assert(std::size(kPriorWidths) == kFields);
// Most of what a family may differ by is the framework's.
constexpr double kFamilyShare = 0.6;

// What a property of a stack is expected to do to a figure, and how far it may be from that.
struct Expectation {
  std::string_view property;
  std::string_view field;
  double factor;
  double freedom = 0.4;
  std::string_view device_class = {};  // empty: any
};
constexpr Expectation kExpected[] = {
    // TensorRT's manual says so of activations, normalization and sums: little doubt is left.
    {"engine", "fused", 0.1, 0.1},
    {"engine", "launch_us", 0.25},
    {"engine", "step_us", 0.5},
    {"compiled", "fused", 0.5},
    {"graph_launch", "launch_us", 0.25},
    {"graph_launch", "step_us", 0.5},
    {"fuses", "fused", 0.6},
    {"fuses", "normalization", 0.8},
    // Without the vendor's library for networks, a CPU has a general library for the products of
    // one image, and one thread for most of the rest. How much slower is an assumption; one core's
    // 12 GB/s (which the catalog assumes elsewhere) are a tenth of two sockets' bandwidth.
    {"image_by_image", "conv", 0.25, 0.5, "cpu"},
    {"image_by_image", "memory", 0.15, 0.5, "cpu"},
    // In 2015 no library of matrix products in OpenCL was above 40 % of the peak, says the author
    // of Greentea (BVLC/caffe pull request 2195); half of that is assumed for one image's.
    {"opencl", "conv", 0.35, 0.5},
};
// And to figures of which nothing particular is expected.
constexpr double kPropertyFreedom = 0.15;
constexpr std::string_view kPropertyFields[] = {"conv",          "memory", "fused", "launch_us",
                                                "normalization", "matrix", "tf32",  "step_us"};
// What improves from year to year until the libraries are mature, in this many years by so much.
constexpr std::string_view kAgingFields[] = {"conv",      "memory",    "matrix",
                                             "occupancy", "launch_us", "fused"};
constexpr double kAgingYears = 4;
constexpr double kAgingFreedom = 0.4;

constexpr double kKindFreedom = 0.12;
constexpr double kDeviceFreedom = 0.08;
constexpr double kCpuFreedom = 0.25;  // virtual machines differ more than boards
constexpr double kKindMemoryFreedom = 0.1;
constexpr double kDeviceMemoryFreedom = 0.06;
constexpr double kPairFreedom = 0.05;
constexpr double kHostFreedom = 0.25;
constexpr double kThrottleFreedom = 0.2;
constexpr double kVectorThrottle = 0.4;
constexpr double kMatrixThrottle = 0.6;
// A tile of 64 by 32 loads 192 bytes (fp16) for 2048 products, and shared memory gives 128 in a
// cycle. If nothing overlaps, Volta's units (512 products a cycle) wait 0.375 of the time they
// work, units twice as fast 0.75, so that doubling the load costs a factor of 1.75 / 1.375: this
// power.
constexpr double kFeeding = 0.35;
constexpr double kFeedingFreedom = 0.2;
// Kepler's multiprocessors have 192 lanes and issue for 128 unless instructions pair up; its
// boards (and no later ones in the catalog without HBM that were measured) spend bandwidth on ECC.
constexpr double kKeplerIssue = 0.67;
constexpr double kKeplerMemory = 0.8;

bool has_property(const Stack& stack, std::string_view property) {
  if (property == "engine") return stack.engine;
  if (property == "compiled") return stack.compiled;
  if (property == "fuses") return stack.fuses;
  if (property == "opencl") return stack.opencl;
  if (property == "graph_launch") return stack.graph_launch;
  return stack.image_by_image;
}

// Null where nothing particular is expected.
const Expectation* expected_of(std::string_view property, std::string_view field,
                               std::string_view device_class) {
  for (const Expectation& e : kExpected) {
    const bool applies = e.device_class.empty() || e.device_class == device_class;
    if (applies && e.property == property && e.field == field) return &e;
  }
  return nullptr;
}

template <size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

const std::string& family_of(const Stack& stack) {
  return stack.family.empty() ? stack.id : stack.family;
}

const std::string& framework_of(const Stack& stack) {
  return stack.framework.empty() ? family_of(stack) : stack.framework;
}

// What figure_from() makes `value` of.
double logarithm_of(size_t field, double value) {
  if (!kPriorWidths[field].is_share) return std::log(value);
  constexpr double kMost = 0.999;
  const double share = std::min(value, kMost);
  return std::log(share / std::pow(1 - std::pow(share, kCapNorm), 1 / kCapNorm));
}

}  // namespace

size_t Hierarchy::effect(std::string name, double prior, double freedom) {
  const auto [found, fresh] = known_.try_emplace(std::move(name), effects_.size());
  if (fresh) effects_.push_back({found->first, prior, freedom});
  return found->second;
}

std::vector<Summand> Hierarchy::field_terms(const Stack& stack, std::string_view device_class,
                                            size_t field) {
  const PriorWidths& freedom = kPriorWidths[field];
  TY_CHECK(efficiency_fields()[field].name == freedom.field, "{} is not {}", freedom.field,
           efficiency_fields()[field].name);
  const double prior = prior_efficiency(device_class).*efficiency_fields()[field].value;
  std::vector<Summand> terms;
  const auto add = [&](std::string_view level, std::string_view who, double mean, double sd) {
    std::string name = fmt::format("{} {} {} {}", freedom.field, device_class, level, who);
    terms.push_back({field, effect(std::move(name), mean, sd), 1});
  };
  if (start_ == Start::kCatalog) {
    const double known = stack.for_class(device_class).*efficiency_fields()[field].value;
    add("stack", stack.id, logarithm_of(field, known), std::hypot(freedom.family, freedom.stack));
    return terms;
  }
  add("all", "", std::log(prior), freedom.all);
  add("framework", framework_of(stack), 0, freedom.family);
  add("family", family_of(stack), 0, kFamilyShare * freedom.family);
  add("stack", stack.id, 0, freedom.stack);
  // Those that say what all kernels do may change any figure; the others what is expected.
  for (const auto& [property, general] :
       {std::pair{"engine", true}, std::pair{"compiled", true}, std::pair{"fuses", true},
        std::pair{"image_by_image", false}, std::pair{"opencl", false},
        std::pair{"graph_launch", false}}) {
    if (!has_property(stack, property)) continue;
    if (const Expectation* e = expected_of(property, freedom.field, device_class)) {
      add("property", property, std::log(e->factor), e->freedom);
    } else if (general && contains(kPropertyFields, freedom.field)) {
      add("property", property, 0, kPropertyFreedom);
    }
  }
  const double age = std::clamp((kMature - stack.year) / kAgingYears, 0.0, 1.0);
  if (age > 0 && device_class == "gpu" && contains(kAgingFields, freedom.field)) {
    add("age", "", 0, kAgingFreedom);
    terms.back().weight = age;
  }
  return terms;
}

Summand Hierarchy::kind_term(const Device& device, size_t quantity) {
  const bool kepler = start_ == Start::kRelatives && device.kind == "kepler";
  if (quantity == kMemory) {
    return {quantity, effect("memory of kind " + device.kind, kepler ? std::log(kKeplerMemory) : 0,
                             kKindMemoryFreedom)};
  }
  return {quantity,
          effect("kind " + device.kind, kepler ? std::log(kKeplerIssue) : 0, kKindFreedom)};
}

Summand Hierarchy::device_term(const Device& device, size_t quantity) {
  const bool known = start_ == Start::kCatalog;
  if (quantity == kMemory) {
    return {quantity, effect("memory of device " + device.id,
                             known ? std::log(device.memory_factor) : 0, kDeviceMemoryFreedom)};
  }
  return {quantity,
          effect("device " + device.id, 0, device.is_cpu() ? kCpuFreedom : kDeviceFreedom)};
}

Summand Hierarchy::throttle_term(const Device& device, bool matrix_units) {
  const double ratio = device.base_hz > 0 ? std::log(device.base_hz / device.clock_hz) : 0;
  return {kCompute,
          effect(matrix_units ? "throttle of matrix units" : "throttle of vector units",
                 matrix_units ? kMatrixThrottle : kVectorThrottle, kThrottleFreedom),
          ratio};
}

Summand Hierarchy::feeding_term(const Device& device) {
  return {kCompute, effect("feeding of matrix units", kFeeding, kFeedingFreedom),
          -std::log(device.matrix_load())};
}

Summand Hierarchy::known_term(const Device& device, bool matrix_units) {
  const double factor = matrix_units ? device.matrix_factor : device.vector_factor;
  constexpr double kFixed = 1e-6;
  return {kCompute,
          effect(fmt::format("{} units of {}", matrix_units ? "matrix" : "vector", device.id),
                 std::log(factor), kFixed)};
}

Summand Hierarchy::pair_term(const Stack& stack, const Device& device, size_t quantity) {
  const bool host = quantity == kHost;
  const bool known = start_ == Start::kCatalog;
  const double factor = host ? stack.host_factor_for(device.id) : stack.factor_for(device.id);
  return {quantity, effect(fmt::format("{}{} on {}", host ? "host of " : "", stack.id, device.id),
                           known ? std::log(factor) : 0, host ? kHostFreedom : kPairFreedom)};
}

std::vector<Summand> Hierarchy::terms(const Stack& stack, const Device& device,
                                      Precision precision) {
  std::vector<Summand> all;
  for (size_t field = 0; field < kFields; ++field) {
    const std::vector<Summand> terms = field_terms(stack, device_class(device), field);
    all.insert(all.end(), terms.begin(), terms.end());
  }
  for (const size_t quantity : {kCompute, kMemory}) {
    all.push_back(kind_term(device, quantity));
    all.push_back(device_term(device, quantity));
  }
  const bool matrix = uses_matrix_units(device, stack, precision);
  if (start_ == Start::kCatalog) {
    all.push_back(known_term(device, matrix));
  } else {
    all.push_back(throttle_term(device, matrix));
    if (matrix) all.push_back(feeding_term(device));
  }
  all.push_back(pair_term(stack, device, kCompute));
  all.push_back(pair_term(stack, device, kHost));
  return all;
}

double figure_from(size_t field, double logarithm) {
  const double value = std::exp(logarithm);
  if (!kPriorWidths[field].is_share) return value;
  // 1 / kCapNorm is three square roots; fits ask for this millions of times.
  static_assert(kCapNorm == 8);
  const double second = value * value;
  const double fourth = second * second;
  return value / std::sqrt(std::sqrt(std::sqrt(1 + fourth * fourth)));
}

Figures figures_from(const Quantities& logarithms) {
  Figures figures;
  for (size_t field = 0; field < kFields; ++field) {
    figures.efficiency.*efficiency_fields()[field].value = figure_from(field, logarithms[field]);
  }
  figures.compute = std::exp(logarithms[kCompute]);
  figures.memory = std::exp(logarithms[kMemory]);
  figures.host = std::exp(logarithms[kHost]);
  return figures;
}

}  // namespace trainyard::predict
