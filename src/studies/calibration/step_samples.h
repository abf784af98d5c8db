// Times of the steps of an executable, brought back to the operators of the network.
#pragma once

#include <span>
#include <vector>

#include "cluster/predict/measured_fit.h"
#include "cluster/predict/profile.h"
#include "engine/executable.h"

namespace trainyard::measure {

// `profile` is of the network at batch 1, `steps` and `seconds` of its executable at `batch`.
// Operators that a step computes along with another are counted with it; steps that belong to no
// operator (the loss, reorders of inputs) are left out.
std::vector<predict::MeasuredSample> inference_samples(const predict::NetworkProfile& profile,
                                                       double batch,
                                                       std::span<const runtime::StepInfo> steps,
                                                       std::span<const double> seconds);
std::vector<predict::MeasuredSample> training_samples(const predict::NetworkProfile& profile,
                                                      double batch,
                                                      std::span<const runtime::StepInfo> steps,
                                                      std::span<const double> seconds);

}  // namespace trainyard::measure
