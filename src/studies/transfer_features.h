// What a network sees in the pictures of a set, computed once and kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "data/dataset.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace trainyard::recipes {

struct Features {
  Tensor numbers;  // f32[pictures, numbers]
  Tensor labels;   // i64[pictures]
};

struct FeaturesRequest {
  const Graph* network = nullptr;  // to the features; its batch is that of the pass
  const data::Dataset* set = nullptr;
  std::string steps = {};  // from picture to input, nothing random
  int threads = 0;
  int64_t data_workers = 1;
  std::function<void(int64_t done, int64_t all)> progress = {};
  std::function<bool()> should_stop = {};
};

// 16 hexadecimal digits that change with the graph, any weight, the steps, and the set: its source,
// and of every sample name, class, and size and time of its file, or the pixels if it has none.
std::string features_key(const FeaturesRequest& request);

// Those of `folder`/features-KEY.safetensors, or computed and written there. Throws Failure if
// somebody wants to stop: nothing is left then.
Features cached_features(const FeaturesRequest& request, const std::filesystem::path& folder);

}  // namespace trainyard::recipes
