// What the figures of software stacks and the factors of devices are sums of (in logarithms):
// effects of everything, of a framework, of a family, of one stack, each held near its prior the
// more so the closer it is to a single measurement. A stack with few rows, or none, is therefore
// predicted from its relatives.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/predict/device.h"
#include "cluster/predict/op_time.h"
#include "cluster/predict/stack.h"

namespace trainyard::predict {

// The figures in the order of efficiency_fields(), then these.
inline constexpr size_t kFields = 24;
inline constexpr size_t kCompute = kFields;
inline constexpr size_t kMemory = kFields + 1;
inline constexpr size_t kHost = kFields + 2;
inline constexpr size_t kQuantities = kFields + 3;
using Quantities = std::array<double, kQuantities>;  // logarithms

// One effect and how far its logarithm may leave `prior` (a standard deviation).
struct Effect {
  std::string name;
  double prior = 0;
  double freedom = 1;
};

// The effects that a quantity is the sum of.
struct Summand {
  size_t quantity = 0;
  size_t effect = 0;
  double weight = 1;
};

// Effects by name, numbered as they are asked for.
class Hierarchy {
 public:
  // kRelatives: everything is learned from the rows. kCatalog: stacks and devices start from what
  // the catalog has of them, for a few rows of one's own.
  enum class Start : uint8_t { kRelatives, kCatalog };
  explicit Hierarchy(Start start) : start_(start) {}

  const std::vector<Effect>& effects() const { return effects_; }

  // All terms of a stack on a device.
  std::vector<Summand> terms(const Stack& stack, const Device& device, Precision precision);
  // Those of one figure of a stack.
  std::vector<Summand> field_terms(const Stack& stack, std::string_view device_class, size_t field);
  // The effects of a kind of device and of one device on computing (kCompute) or memory.
  Summand kind_term(const Device& device, size_t quantity);
  Summand device_term(const Device& device, size_t quantity);
  // How much of the way from boost to base clock a busy device goes.
  Summand throttle_term(const Device& device, bool matrix_units);
  // What faster matrix units lose waiting for their operands.
  Summand feeding_term(const Device& device);
  // All that the catalog knows of a device's computing, as it stands.
  Summand known_term(const Device& device, bool matrix_units);
  // One stack on one device, beyond what both have elsewhere (kCompute, kHost).
  Summand pair_term(const Stack& stack, const Device& device, size_t quantity);

 private:
  size_t effect(std::string name, double prior, double freedom);

  Start start_;
  std::vector<Effect> effects_;
  std::map<std::string, size_t, std::less<>> known_;
};

// A figure from the sum of its effects. Shares of a peak stay below 1.
double figure_from(size_t field, double logarithm);
Figures figures_from(const Quantities& logarithms);

}  // namespace trainyard::predict
