// Several trained networks on pictures from elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "studies/time_to_accuracy.h"

namespace trainyard::recipes {

struct PictureVotes {
  std::string name = {};
  int64_t sample = 0;
  int64_t truth = 0;
  std::vector<int64_t> votes = {};  // by class
};

struct Generalization {
  std::vector<std::string> class_names = {};  // of the networks
  std::vector<double> top1 = {};              // by network
  Spread spread = {};                         // of top1
  std::vector<PictureVotes> pictures = {};
};

// The networks of finished runs, each with the preprocessing it was trained with; pictures of
// another size are stretched, and gray or color made of the other. Classes are those of the same
// name. Throws Error for a class that the networks do not know, and for networks that differ in
// theirs.
Generalization vote(std::span<const std::filesystem::path> runs, const data::Dataset& pictures,
                    int threads);

// The place of each class of the pictures among those that networks know, by name, where "_" may
// stand for "/". Throws Error for one that they do not know.
std::vector<int64_t> match_classes(const std::vector<std::string>& known,
                                   const data::Dataset& pictures);

// What SPEC names, or a folder of classes alone, all of it.
std::unique_ptr<data::Dataset> open_foreign_pictures(const std::string& spec);

}  // namespace trainyard::recipes
