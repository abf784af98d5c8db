#include "studies/votes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "data/augment.h"
#include "models/model_notes.h"
#include "models/network.h"
#include "models/onnx/metadata.h"
#include "studies/scores.h"

namespace trainyard::recipes {
namespace {

constexpr int64_t kVotingBatch = 50;

std::string steps_of_run(const onnx_io::Metadata& metadata, const data::Dataset& pictures,
                         const std::string& run) {
  const auto preparation = network::preparation_of(metadata);
  TY_REQUIRE(preparation, "{}: its model.onnx does not say how pictures were prepared", run);
  return network::steps_for(*preparation, pictures);
}

// A folder cannot have a slash in its name: "t-shirt_top" stands for "t-shirt/top".
std::string as_folder(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

std::vector<int64_t> match_classes(const std::vector<std::string>& known,
                                   const data::Dataset& pictures) {
  std::vector<int64_t> places;
  for (const std::string& name : pictures.class_names()) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const std::string& one) {
      return one == name || as_folder(one) == name;
    });
    TY_REQUIRE(found != known.end(), "{}: the networks do not know the class '{}'; they know {}.{}",
               pictures.source(), name, join(known, ", "), did_you_mean(name, known));
    places.push_back(found - known.begin());
  }
  return places;
}

std::unique_ptr<data::Dataset> open_foreign_pictures(const std::string& spec) {
  const bool classes_alone = std::filesystem::is_directory(spec) &&
                             !std::filesystem::exists(std::filesystem::path(spec) / "train");
  return data::open_dataset(classes_alone ? "folder:" + spec : spec,
                            classes_alone ? data::Split::kTrain : data::Split::kTest);
}

Generalization vote(std::span<const std::filesystem::path> runs, const data::Dataset& pictures,
                    int threads) {
  TY_REQUIRE(pictures.target_kind() == data::TargetKind::kClass, "{} has no class for each picture",
             pictures.source());
  Generalization result;
  std::vector<int64_t> places;
  for (const std::filesystem::path& run : runs) {
    const std::string model = network::model_file(run.string());
    const onnx_io::Metadata metadata = onnx_io::read_metadata(model);
    const std::vector<std::string> names = onnx_io::class_names(metadata);
    if (result.class_names.empty()) {
      result.class_names = names;
      places = match_classes(names, pictures);
      for (int64_t i = 0; i < pictures.size(); ++i) {
        result.pictures.push_back({pictures.sample_name(i), i,
                                   places[static_cast<size_t>(pictures.label(i))],
                                   std::vector<int64_t>(names.size())});
      }
    }
    TY_REQUIRE(names == result.class_names, "{}: its classes are not those of the other networks",
               run.string());
    const int64_t batch = std::min(kVotingBatch, pictures.size());
    const ScoreTable scores = score_pictures(
        network::load({.model = model, .batch = batch}), pictures, 1,
        {.steps = steps_of_run(metadata, pictures, run.string()), .threads = threads});
    TY_REQUIRE(scores.classes == static_cast<int64_t>(names.size()), "{}: {} scores for {} classes",
               run.string(), scores.classes, names.size());
    int64_t right = 0;
    for (PictureVotes& picture : result.pictures) {
      const int64_t said = scores.best(picture.sample);
      ++picture.votes[static_cast<size_t>(said)];
      if (said == picture.truth) ++right;
    }
    result.top1.push_back(static_cast<double>(right) / static_cast<double>(pictures.size()));
  }
  result.spread = spread_of(result.top1);
  return result;
}

}  // namespace trainyard::recipes
