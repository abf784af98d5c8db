// What weights are called in the layouts of the transformers library, and by us.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace trainyard::network {

// As config.json calls them.
inline constexpr const char* kGpt2Layout = "gpt2";
inline constexpr const char* kLlamaLayout = "llama";

std::string own_name(std::string_view layout, std::string_view name);
// Empty for what is no weight there: indices, tables of sines.
std::string other_name(std::string_view layout, std::string_view own);
// Whether the weight of this name of ours is stored with its rows as columns.
bool is_turned(std::string_view layout, std::string_view own);
// Whether the network computes without this tensor: masks, angles, and a table that is stored
// twice.
bool is_left_out(std::string_view layout, std::string_view name, const Graph& graph);

}  // namespace trainyard::network
