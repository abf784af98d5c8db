// One step of augmentation. Each lives in augment_<name>.cpp; augment.cpp lists them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "data/pixels.h"
#include "data/target.h"

namespace trainyard::data {

// Immutable; apply() may be called by several threads at once.
class Step {
 public:
  Step() = default;
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // The shape that comes out. Throws Error if such pictures cannot be taken.
  virtual PictureShape output(const PictureShape& in) const = 0;
  // Either `in`, if there is nothing to do, or a picture in `out`. Every random choice comes from
  // `random`, which belongs to this step of this sample in this epoch.
  virtual PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const = 0;
  // Boxes of a picture of shape `in`, moved as apply() with the same `random` moves its pixels.
  virtual void apply_to_boxes(std::vector<Box>& /*boxes*/, const PictureShape& /*in*/,
                              const RandomStream& /*random*/) const {}
  // Both at once; for steps whose choice depends on the boxes, which are those of `in`.
  virtual PixelView apply_with_boxes(const PixelView& in, Pixels& out, std::vector<Box>& boxes,
                                     const RandomStream& random) const {
    const PixelView made = apply(in, out, random);
    apply_to_boxes(boxes, in.shape, random);
    return made;
  }
  // As it is written.
  virtual std::string text() const = 0;
  // What stands in its place when a network is judged, where nothing is random; empty: nothing.
  virtual std::string evaluation_text() const { return text(); }
};

struct StepArguments {
  std::string_view text;      // what follows the colon; empty: nothing
  std::string what;           // how errors begin
  std::vector<uint8_t> fill;  // per channel, what becomes zero when normalized
};

struct StepDef {
  std::string_view name;
  std::string_view usage;
  std::unique_ptr<const Step> (*make)(const StepArguments&);
};

}  // namespace trainyard::data
