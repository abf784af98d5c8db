// How far a measured speed may lie from a prediction: 80 % intervals from the errors of
// measurements that were left out of the fits in the same situation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cluster/predict/device.h"
#include "cluster/predict/stack.h"
#include "cluster/predict/step.h"

namespace trainyard {
class YamlView;
}

namespace trainyard::predict {

// What a prediction stands on, from much to little: rows of the stack on the device with the
// network; on the device with other networks; on other devices; of the stack's relatives only.
enum class Support : uint8_t { kAll, kStackAndDevice, kStack, kRelatives };
std::string_view support_name(Support support);
// In words for the reader of a prediction.
std::string_view support_text(Support support);
Support support_of(const Stack& stack, const Device& device, std::string_view network);

// Logarithms of predicted / measured between which 80 % of the rows lie.
struct Interval {
  double low = 0;
  double high = 0;
  // What a measurement may be, given the prediction.
  double least(double predicted) const;
  double most(double predicted) const;
};

struct GroupedError {
  double error = 0;  // log(predicted / measured)
  int group = 0;
};
Interval interval_of(std::span<const GroupedError> errors);
// How many of the errors lie in the interval made of the other groups' errors.
int64_t covered_by_others(std::span<const GroupedError> errors);

class Intervals {
 public:
  void set(std::string_view device_class, Mode mode, Support support, Interval interval);
  // The nearest situation with less support where there is none of its own.
  std::optional<Interval> find(std::string_view device_class, Mode mode, Support support) const;

 private:
  friend std::string intervals_yaml(const Intervals& intervals);
  friend Intervals read_intervals(const YamlView& view);
  std::map<std::string, Interval, std::less<>> known_;
};
std::string intervals_yaml(const Intervals& intervals);
Intervals read_intervals(const YamlView& view);

}  // namespace trainyard::predict
