// The machines of catalog/instances.csv that training services rent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/jobs/description/job.h"
#include "cluster/predict/instances.h"

namespace trainyard::jobs {

// Of a training service, by its name there.
using Machine = predict::Instance;

std::span<const Machine> machines();
// Null if the platform has no machine of this name.
const Machine* find_machine(std::string_view platform, std::string_view name);
std::vector<std::string> machine_names(std::string_view platform);
// Every accelerator that some platform has.
std::vector<std::string> accelerator_names();
// Throws Error for a job that asks for another one.
void require_known_accelerator(const Job& job);

// The machines that satisfy the job, smallest first.
std::vector<const Machine*> fitting_machines(const Job& job, std::string_view platform);

// The machine that `platforms.<platform>.<option>` names, or the smallest that fits. Throws Error
// at the field that cannot be satisfied, with what there is.
const Machine& choose_machine(const Job& job, std::string_view platform, std::string_view title,
                              std::string_view option);

}  // namespace trainyard::jobs
