#include "models/hugging_face_names.h"

#include <algorithm>
#include <array>

namespace trainyard::network {
namespace {

constexpr std::string_view kGpt2Prefix = "transformer.";
constexpr std::string_view kLlamaPrefix = "model.";
constexpr std::string_view kHead = "lm_head.";

std::string_view prefix_of(std::string_view layout) {
  return layout == kGpt2Layout ? kGpt2Prefix : kLlamaPrefix;
}

bool is_weight(std::string_view own) {
  return own.ends_with(".weight") || own.ends_with(".bias");
}

}  // namespace

std::string own_name(std::string_view layout, std::string_view name) {
  const std::string_view prefix = prefix_of(layout);
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(name);
}

std::string other_name(std::string_view layout, std::string_view own) {
  if (!is_weight(own)) return "";
  if (own.starts_with(kHead)) return std::string(own);
  return std::string(prefix_of(layout)) + std::string(own);
}

// GPT-2's layers multiply from the other side.
bool is_turned(std::string_view layout, std::string_view own) {
  constexpr std::array<std::string_view, 3> kTurned = {".c_attn.weight", ".c_proj.weight",
                                                       ".c_fc.weight"};
  return layout == kGpt2Layout &&
         std::any_of(kTurned.begin(), kTurned.end(),
                     [&](std::string_view end) { return own.ends_with(end); });
}

bool is_left_out(std::string_view layout, std::string_view name, const Graph& graph) {
  if (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")) return true;
  if (name.ends_with("rotary_emb.inv_freq")) return true;
  return name == "lm_head.weight" && !graph.find_value(own_name(layout, name)).valid();
}

}  // namespace trainyard::network
