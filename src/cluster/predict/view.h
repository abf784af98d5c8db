// The documents that `trainyard predict` and `trainyard devices` print.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/predict/catalog.h"
#include "cluster/predict/peak.h"
#include "cluster/predict/predict.h"
#include "report/document.h"

namespace trainyard::report {

struct PredictionContext {
  std::string network;
  std::vector<std::string> notes;             // what was assumed, for people and programs
  std::optional<predict::Interval> interval;  // of the speed on one device
};

Document prediction_document(const PredictionContext& context, const predict::Request& request,
                             std::span<const predict::Row> rows);
// Per layer: seconds of each pass and what bounds it.
Document prediction_layers_document(const PredictionContext& context,
                                    std::span<const predict::LayerTime> layers);
Document peak_document(const PredictionContext& context, const predict::Device& device,
                       std::span<const predict::PeakRow> rows);
Document devices_document(const predict::Catalog& catalog);
Document device_document(const predict::Catalog& catalog, const predict::Device& device);

}  // namespace trainyard::report
