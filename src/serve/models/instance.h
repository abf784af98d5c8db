// What computes: a network's contexts, used by one thread at a time.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "serve/scheduling/job.h"

namespace trainyard::serve {

class Instance {
 public:
  // Rows are computed in these sizes, ascending; run() needs 1 among them.
  Instance(Network& network, CompiledForm form, std::vector<int64_t> sizes)
      : network_(network), form_(form), sizes_(std::move(sizes)) {}

  // Computes the jobs together; they differ in their rows alone, and there is one if the network
  // has no batch. Fills `times` of each; one result per job. Throws Error for bad data, which then
  // holds for all of them.
  std::vector<InferResult> run(std::span<Job* const> jobs);

  // Compiles and runs every size so many times, on zeros. Throws Failure once `ending` says so;
  // null: nobody does.
  void warm_up(int64_t count, const std::atomic<bool>* ending);
  // Of intermediate results.
  int64_t arena_bytes() const { return arena_.empty() ? 0 : arena_.num_bytes(); }

  // How many rows a second the largest size gives, at best; of a network without open dimensions.
  double rows_per_second();

  // Gives the memory of inputs and intermediate results back to the system; the next run gets it
  // anew.
  void rest();

 private:
  struct Entry {
    Shapes shapes;
    std::unique_ptr<runtime::ExecutionContext> context;
  };
  runtime::ExecutionContext& context(const Shapes& shapes);
  std::vector<InferResult> run_alone(Job& job);
  std::vector<InferResult> run_rows(std::span<Job* const> jobs, int64_t rows);

  Network& network_;
  CompiledForm form_;
  std::vector<int64_t> sizes_;
  Tensor arena_;               // of all contexts made since it last had to grow
  std::list<Entry> contexts_;  // the last one used first
};

}  // namespace trainyard::serve
