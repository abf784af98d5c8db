// Augmentation: a chain of steps from the bytes of a sample to the floats a network sees.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/augment_step.h"
#include "data/dataset.h"
#include "data/normalization.h"

namespace trainyard::data {

// One thread's memory for pictures on their way.
struct Workspace {
  Pixels sample;
  Pixels steps[2];
  // Of the last sample. Boxes are those of the picture as the steps left it.
  Target target;
  PictureShape shape;  // of the last sample as the set gave it
};

// Which draw of random choices: the same sample in another epoch is drawn anew, and so is another
// copy of it in the same epoch.
struct Draw {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t sample = 0;
  int64_t copy = 0;
};

// Immutable; may be used by several threads at once, each with its own workspace.
class Augmentations {
 public:
  // Steps separated by commas, such as "crop:4,flip,cutout:16x1,normalize"; empty or "none": none.
  // See docs/data.md. `normalize` without numbers measures `dataset`, so it is the training set
  // that belongs here; text() then holds the numbers. Throws Error for an unknown step, wrong
  // numbers, or pictures that differ in size at the end.
  Augmentations(std::string_view text, const Dataset& dataset);

  const PictureShape& output() const { return output_; }
  // The steps with every number, so that the same text gives the same floats on any set.
  std::string text() const;
  // The steps without what is random, to judge a network by.
  std::string evaluation_text() const;

  // The bytes after the last step before normalization; in the set's memory or in `workspace`,
  // where boxes are left too, if the set has them.
  PixelView bytes(const Dataset& dataset, const Draw& draw, Workspace& workspace) const;
  // output().elements() floats.
  void floats(const Dataset& dataset, const Draw& draw, Workspace& workspace, float* out) const;
  // The same of the sample's picture as `read` returned it, so that copies are decoded once.
  void floats(const Dataset& dataset, const PixelView& sample, const Draw& draw,
              Workspace& workspace, float* out) const;
  // The picture of a sample as the set gives it; valid until the workspace reads another.
  static PixelView read(const Dataset& dataset, int64_t sample, Workspace& workspace);

  const std::optional<Normalization>& normalization() const { return normalization_; }

 private:
  PixelView apply(const Dataset& dataset, PixelView picture, const Draw& draw,
                  Workspace& workspace) const;

  std::vector<std::shared_ptr<const Step>> steps_;
  std::optional<Normalization> normalization_;
  PictureShape output_;
  std::optional<FloatConverter> converter_;
};

}  // namespace trainyard::data
