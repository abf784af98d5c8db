// What failures cost a long training: how often to save, and what share of the time is progress.
#pragma once

#include <cstdint>

#include "cluster/transformer/mapping.h"

namespace trainyard::transformer {

struct Reliability {
  // Of one device with its share of a host. 419 interruptions in 54 days of 16,384 H100 (the
  // training of Llama 3, arXiv 2407.21783, section 3.3.4) are one in 50,700 hours.
  double device_hours = 50700;
  double save_seconds = 0;       // that all devices wait for a checkpoint
  double restart_seconds = 600;  // until they work again
};

struct Goodput {
  double share = 1;             // of the time that is progress
  double interval_seconds = 0;  // between checkpoints
  double failure_seconds = 0;   // between failures of any device
};

// With checkpoints every `interval` seconds of progress; failures come at random and lose what was
// not saved (Daly 2006).
Goodput goodput_of(const Reliability& reliability, int64_t workers, double interval);
// With the interval that loses least.
Goodput best_goodput(const Reliability& reliability, int64_t workers);

// Weights and optimizer of the whole training, or of its adapters.
double checkpoint_bytes(const Transformer& model, const Mapping& mapping);

}  // namespace trainyard::transformer
