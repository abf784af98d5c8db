// What a sample is to teach, beside its picture.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/pixels.h"

namespace trainyard::data {

// The label of samples that have no class, and of places that a short last batch leaves empty.
inline constexpr int64_t kNoLabel = -1;

enum class TargetKind : uint8_t {
  kNone,           // pictures alone
  kClass,          // one class
  kProbabilities,  // a probability for each class
  kBoxes,          // any number of boxes, each with a class
  kTokens,         // of texts: the token that follows each
  kNumber,         // of tables: a number
  kSpan,           // of texts: the first and the last token of an answer
};

// A part of the picture, in pixels: [left, right) x [top, bottom).
struct Box {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;
  int64_t label = 0;
  // Hard to see: nothing is learned from it, and finding it or not does not count.
  bool difficult = false;

  float width() const { return right - left; }
  float height() const { return bottom - top; }
  bool operator==(const Box&) const = default;
};

// The part that belongs to the data set's kind is filled in; memory is kept from sample to sample.
struct Target {
  int64_t label = kNoLabel;
  std::vector<float> probabilities;
  std::vector<Box> boxes;
  float number = 0;
  int64_t first = kNoLabel;  // of a span, with the last
  int64_t last = kNoLabel;
};

// Moves the origin to (left, top) of the old picture, then scales.
struct BoxMove {
  double left = 0;
  double top = 0;
  double scale_x = 1;
  double scale_y = 1;
};

// Boxes follow the pixels into a picture of shape `to`; what lies outside is cut off, and a box of
// which nothing is left is dropped.
void move_boxes(std::vector<Box>& boxes, const BoxMove& move, const PictureShape& to);

}  // namespace trainyard::data
