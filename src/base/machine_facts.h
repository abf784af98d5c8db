// The machine a run was made on.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace trainyard {

// Host, system, processor, threads, memory in bytes, compiler, and the time now (UTC).
Json machine_facts();

// What this process holds in memory now, in bytes; 0 where the system does not tell.
int64_t resident_bytes();

// Of the last minute: how many processes ran or wanted to; 0 if it is not known.
double load_average();

}  // namespace trainyard
