#include "data/augment.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "data/numbers.h"

namespace trainyard::data {

extern const StepDef kCenter;
extern const StepDef kChannels;
extern const StepDef kCrop;
extern const StepDef kCutout;
extern const StepDef kDropout;
extern const StepDef kExpand;
extern const StepDef kFlip;
extern const StepDef kJitter;
extern const StepDef kPad;
extern const StepDef kPhotometric;
extern const StepDef kRandAugment;
extern const StepDef kResize;
extern const StepDef kResizedCrop;
extern const StepDef kSampleCrop;

namespace {

// clang-format off
constexpr const StepDef* kSteps[] = {
    &kCrop,
    &kFlip,
    &kCutout,
    &kDropout,
    &kPad,
    &kResize,
    &kCenter,
    &kResizedCrop,
    &kJitter,
    &kRandAugment,
    &kChannels,
    &kPhotometric,
    &kExpand,
    &kSampleCrop,
};
// clang-format on

constexpr std::string_view kNormalize = "normalize";

const StepDef& find_step(std::string_view name) {
  std::vector<std::string> names;
  std::vector<std::string> usages;
  for (const StepDef* step : kSteps) {
    if (step->name == name) return *step;
    names.emplace_back(step->name);
    usages.emplace_back(step->usage);
  }
  TY_REQUIRE(name != kNormalize, "augmentation 'normalize' must be the last step");
  names.emplace_back(kNormalize);
  throw_error(
      "there is no augmentation '{}'; there are {}, normalize[:MEANS:STDS] and "
      "ssd[:SIZE], a recipe.{}",
      name, join(usages, ", "), did_you_mean(name, names));
}

// "name" or "name:arguments"
struct Word {
  std::string text;
  std::string name;
  std::string arguments;
};

// `ssd` or `ssd:SIZE` as the first word stands for the steps that SSD is trained with: pixels of
// 127 become 0, and 255 becomes 1.
std::string expand_recipe(std::string_view text) {
  constexpr std::string_view kRecipe = "ssd";
  constexpr int64_t kSsdImage = 300;
  const std::string_view first = text.substr(0, text.find(','));
  if (first != kRecipe && !first.starts_with("ssd:")) return std::string(text);
  const int64_t size = first == kRecipe
                           ? kSsdImage
                           : parse_whole(first.substr(kRecipe.size() + 1), 1, kLargestSide,
                                         fmt::format("augmentation '{}' (ssd[:SIZE])", first));
  return fmt::format(
      "photometric,expand,sample_crop,flip,resize:{}x{},normalize:0.498039:0.501961{}", size, size,
      text.substr(first.size()));
}

std::vector<Word> parse_words(std::string_view given) {
  std::vector<Word> words;
  if (given.empty()) return words;
  const std::string text = expand_recipe(given);
  for (std::string& part : split(text, ',')) {
    const size_t colon = part.find(':');
    Word word{.text = part, .name = part.substr(0, colon), .arguments = {}};
    if (colon != std::string::npos) word.arguments = part.substr(colon + 1);
    words.push_back(std::move(word));
  }
  return words;
}

// Of pictures with `channels` channels: a gray set's numbers hold for all.
Normalization spread(Normalization normalization, int64_t channels) {
  const auto wanted = static_cast<size_t>(channels);
  if (normalization.mean.size() == 1) {
    normalization.mean.resize(wanted, normalization.mean[0]);
    normalization.std.resize(wanted, normalization.std[0]);
  }
  TY_REQUIRE(normalization.mean.size() == wanted,
             "augmentation 'normalize' has numbers for {} channels, the pictures have {}",
             normalization.mean.size(), channels);
  return normalization;
}

std::vector<uint8_t> bytes_of_mean(const std::optional<Normalization>& normalization) {
  std::vector<uint8_t> fill;
  if (!normalization) return fill;
  for (const float mean : normalization->mean) {
    fill.push_back(static_cast<uint8_t>(std::lround(255 * mean)));
  }
  return fill;
}

uint64_t key_of(const Draw& draw) {
  const uint64_t epoch = mix_bits(mix_bits(draw.seed) + static_cast<uint64_t>(draw.epoch));
  const uint64_t sample = mix_bits(epoch + static_cast<uint64_t>(draw.sample));
  return draw.copy == 0 ? sample : mix_bits(sample + static_cast<uint64_t>(draw.copy));
}

}  // namespace

Augmentations::Augmentations(std::string_view text, const Dataset& dataset)
    : output_(dataset.shape()) {
  std::vector<Word> words = parse_words(text == "none" ? "" : text);
  TY_REQUIRE(words.empty() || (!dataset.tokens() && !dataset.table()),
             "augment is '{}', but {} take no steps: none", text,
             dataset.tokens() ? "texts" : "tables");
  bool measured = false;
  if (!words.empty() && words.back().name == kNormalize) {
    const Word& word = words.back();
    measured = word.arguments.empty();
    normalization_ = measured ? measure_normalization(dataset)
                              : Normalization::parse(word.arguments,
                                                     fmt::format("augmentation '{}'", word.text));
    words.pop_back();
  }
  const std::vector<uint8_t> fill = bytes_of_mean(normalization_);
  for (const Word& word : words) {
    const StepDef& def = find_step(word.name);
    steps_.push_back(def.make(
        {word.arguments, fmt::format("augmentation '{}' ({})", word.text, def.usage), fill}));
    output_ = steps_.back()->output(output_);
  }
  TY_REQUIRE(output_.is_fixed(),
             "{}: the pictures differ in size; add resize:HxW or resized_crop:HxW to the "
             "augmentation",
             dataset.source());
  if (measured && output_.channels == 1 && normalization_->mean.size() == 3) {
    normalization_ = normalization_->gray();
  }
  if (normalization_) normalization_ = spread(*std::move(normalization_), output_.channels);
  converter_.emplace(output_.channels, normalization_ ? &*normalization_ : nullptr);
}

std::string Augmentations::text() const {
  std::vector<std::string> words;
  for (const auto& step : steps_) words.push_back(step->text());
  if (normalization_) words.push_back("normalize:" + normalization_->to_string());
  return join(words, ",");
}

std::string Augmentations::evaluation_text() const {
  std::vector<std::string> words;
  for (const auto& step : steps_) {
    if (std::string word = step->evaluation_text(); !word.empty()) words.push_back(word);
  }
  if (normalization_) words.push_back("normalize:" + normalization_->to_string());
  return join(words, ",");
}

PixelView Augmentations::bytes(const Dataset& dataset, const Draw& draw,
                               Workspace& workspace) const {
  return apply(dataset, read(dataset, draw.sample, workspace), draw, workspace);
}

PixelView Augmentations::read(const Dataset& dataset, int64_t sample, Workspace& workspace) {
  const PixelView picture = dataset.pixels(sample, workspace.sample);
  workspace.shape = picture.shape;
  return picture;
}

PixelView Augmentations::apply(const Dataset& dataset, PixelView picture, const Draw& draw,
                               Workspace& workspace) const {
  const uint64_t key = key_of(draw);
  const bool has_boxes = dataset.target_kind() == TargetKind::kBoxes;
  std::vector<Box>& boxes = workspace.target.boxes;
  boxes.clear();
  // After the picture, whose size the boxes may need.
  if (has_boxes) dataset.target(draw.sample, workspace.target);
  try {
    for (size_t i = 0; i < steps_.size(); ++i) {
      Pixels& first = workspace.steps[0];
      Pixels& free = picture.data == first.bytes.data() ? workspace.steps[1] : first;
      const RandomStream random(key, i);
      picture = has_boxes ? steps_[i]->apply_with_boxes(picture, free, boxes, random)
                          : steps_[i]->apply(picture, free, random);
    }
  } catch (const Error& error) {
    throw_error("{}: {}", dataset.sample_name(draw.sample), error.what());
  }
  return picture;
}

void Augmentations::floats(const Dataset& dataset, const Draw& draw, Workspace& workspace,
                           float* out) const {
  floats(dataset, read(dataset, draw.sample, workspace), draw, workspace, out);
}

void Augmentations::floats(const Dataset& dataset, const PixelView& sample, const Draw& draw,
                           Workspace& workspace, float* out) const {
  const PixelView picture = apply(dataset, sample, draw, workspace);
  TY_REQUIRE(picture.shape == output_, "{}: the picture is {}, expected {}",
             dataset.sample_name(draw.sample), picture.shape.to_string(), output_.to_string());
  converter_->convert(picture, out);
}

}  // namespace trainyard::data
