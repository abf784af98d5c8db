// The document of `trainyard plan`.
#pragma once

#include "cluster/schedule/plan.h"
#include "report/document.h"

namespace trainyard::report {

// People see the best `most` choices; programs too, since there may be thousands.
Document plan_document(const schedule::PlanQuestion& question, const schedule::Plan& plan,
                       size_t most);

}  // namespace trainyard::report
