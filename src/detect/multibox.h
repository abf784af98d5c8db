// The loss that single-shot detectors are trained with (Liu et al., section 2.2).
#pragma once

#include <memory>
#include <span>

#include "detect/matching.h"
#include "train/feed.h"
#include "train/objective.h"

namespace trainyard::detect {

inline constexpr const char* kPriorLabelsInput = "prior_labels";    // i64[batch, priors]
inline constexpr const char* kPriorOffsetsInput = "prior_offsets";  // f32[batch, priors, 4]

// Background priors that count, for each that answers for an object.
inline constexpr float kNegativeRatio = 3;

// Outputs are locations (N x priors x 4) and scores (N x priors x classes). The loss is smooth-L1
// of the locations of priors with an object, plus cross-entropy of these and of the hardest
// background, both summed and divided by the priors with an object in the batch (by 1 if there is
// none). With workers each divides by those of its own share.
train::ObjectiveNodes add_multibox_loss(ops::Builder& builder, std::span<const ValueId> outputs);

// Boxes of a batch to labels and offsets of its priors; difficult ones are left out.
train::Feed multibox_feed(std::shared_ptr<const Matcher> matcher);

}  // namespace trainyard::detect
