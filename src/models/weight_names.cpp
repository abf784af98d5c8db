#include "models/weight_names.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/parse_number.h"

namespace trainyard::network {
namespace {

constexpr std::array<std::string_view, 6> kWrappers = {
    "state_dict.", "model_state_dict.", "net.", "model_state.", "module.", "_orig_mod."};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

bool replace_prefix(std::string& text, std::string_view from, std::string_view to) {
  if (!text.starts_with(from)) return false;
  text.replace(0, from.size(), to);
  return true;
}

// "12.rest": the number, and what follows the point.
std::optional<int> take_index(std::string_view& text) {
  std::string_view rest = text;
  const auto number = take_number<int>(rest);
  if (!number || !rest.starts_with('.')) return std::nullopt;
  text = rest.substr(1);
  return number;
}

// CIFAR ResNets: the classifier and projections have other names.
std::string cifar_name(std::string name) {
  replace_prefix(name, "linear.", "fc.");
  return replaced(std::move(name), ".shortcut.", ".downsample.");
}

// DenseNet before torchvision 0.3: "norm.1" for "norm1".
std::string old_densenet_name(std::string name) {
  for (const std::string_view part : {"norm", "relu", "conv"}) {
    for (const std::string_view number : {"1", "2"}) {
      name = replaced(std::move(name), "." + std::string(part) + "." + std::string(number) + ".",
                      "." + std::string(part) + std::string(number) + ".");
    }
  }
  return name;
}

// MobileNet v1 as a sequence: unit 0 is a convolution, the others are pairs of them. Each is
// followed by its normalization: positions 0 and 1, 3 and 4.
std::string sequence_name(std::string_view name, std::string_view prefix) {
  std::string_view rest = name;
  rest.remove_prefix(prefix.size());
  const auto unit = take_index(rest);
  const auto position = unit ? take_index(rest) : std::nullopt;
  if (!position) return {};
  std::string layer = *unit == 0 ? "conv1" : "block" + std::to_string(*unit);
  if (*unit > 0) layer += *position < 3 ? ".depthwise" : ".pointwise";
  if (*position % 3 == 1) layer += ".bn";
  return layer + "." + std::string(rest);
}

// SSD: the backbone as a sequence, pairs of extra convolutions, a pair of heads for each map.
std::string ssd_name(const std::string& name) {
  for (const std::string_view prefix : {"base_net.", "model."}) {
    if (name.starts_with(prefix)) return sequence_name(name, prefix);
  }
  std::string_view rest = name;
  const auto head = [&](std::string_view prefix, std::string_view kind) -> std::string {
    rest.remove_prefix(prefix.size());
    const auto map = take_index(rest);
    if (!map) return {};
    return "heads." + std::to_string(*map) + "." + std::string(kind) + "." + std::string(rest);
  };
  if (name.starts_with("classification_headers.")) return head("classification_headers.", "scores");
  if (name.starts_with("regression_headers.")) return head("regression_headers.", "locations");
  if (name.starts_with("extras.")) {
    rest.remove_prefix(std::string_view("extras.").size());
    const auto extra = take_index(rest);
    const auto position = extra ? take_index(rest) : std::nullopt;
    if (!position) return {};
    return "extras." + std::to_string(*extra) + (*position == 0 ? ".reduce." : ".conv.") +
           std::string(rest);
  }
  return {};
}

}  // namespace

std::string plain_name(std::string_view name) {
  const auto wrapper = [&] {
    return std::find_if(kWrappers.begin(), kWrappers.end(),
                        [&](std::string_view wrap) { return name.starts_with(wrap); });
  };
  for (const auto* found = wrapper(); found != kWrappers.end(); found = wrapper()) {
    name.remove_prefix(found->size());
  }
  return std::string(name);
}

std::vector<std::string> candidate_names(std::string_view name) {
  const std::string plain = plain_name(name);
  std::vector<std::string> names = {std::string(name)};
  const auto add = [&](std::string candidate) {
    if (!candidate.empty() && std::find(names.begin(), names.end(), candidate) == names.end()) {
      names.push_back(std::move(candidate));
    }
  };
  add(plain);
  add(cifar_name(plain));
  add(old_densenet_name(plain));
  add(ssd_name(plain));
  if (plain.starts_with("model.")) add(plain.substr(std::string_view("model.").size()));
  return names;
}

bool is_for_training_only(std::string_view name) {
  const std::string plain = plain_name(name);
  constexpr std::array<std::string_view, 5> kPrefixes = {"optimizer", "opt_state", "aux1.", "aux2.",
                                                         "AuxLogits."};
  return plain.ends_with("num_batches_tracked") ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return plain.starts_with(prefix); });
}

}  // namespace trainyard::network
