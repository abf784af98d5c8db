// `trainyard train --explain-comm`: what workers exchange, as a document.
#pragma once

#include <vector>

#include "report/document.h"
#include "train/communication_plan.h"

namespace trainyard::cli {

report::Document communication_document(const std::vector<train::CommunicationItem>& items,
                                        const std::vector<train::Omission>& omissions);

}  // namespace trainyard::cli
