// Kernels that cannot go on without the other workers of a job.
#pragma once

#include "engine/kernels/api/kernel.h"

namespace trainyard::kernels {

class Exchange;

struct ExchangeArgs : KernelArgs {
  Exchange* exchange = nullptr;  // null: the worker is alone
};

// Whoever runs it gives it the exchange of the graph; others are not given one.
class ExchangeKernel : public Kernel {
 public:
  virtual void run_shared(const ExchangeArgs& args) const = 0;
  void run(const KernelArgs& args) const final { run_shared({args, nullptr}); }
};

}  // namespace trainyard::kernels
