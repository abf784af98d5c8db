// The published row that is most like a question.
#pragma once

#include <span>

#include "cluster/transformer/published.h"

namespace trainyard::transformer {

// By the device and its generation, precision, what a token costs, devices, sequence and batch of a
// device. Null if there are no training rows.
const PublishedRow* nearest_row(std::span<const PublishedRow> rows, const Transformer& model,
                                const Machine& machine, const Mapping& mapping);

}  // namespace trainyard::transformer
