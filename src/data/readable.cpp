#include "data/readable.h"

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "data/subsets.h"

namespace trainyard::data {
namespace {

// By sample: why it cannot be read; empty: it can.
std::vector<std::string> problems_of(const Dataset& dataset) {
  std::vector<std::string> problems(static_cast<size_t>(dataset.size()));
  const size_t count = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      Pixels room;
      for (size_t i = t; i < problems.size(); i += count) {
        try {
          dataset.pixels(static_cast<int64_t>(i), room);
        } catch (const Error& error) {
          problems[i] = error.what();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return problems;
}

}  // namespace

std::unique_ptr<Dataset> only_readable(std::unique_ptr<Dataset> dataset,
                                       std::vector<std::string>& skipped) {
  const std::vector<std::string> problems = problems_of(*dataset);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].empty()) {
      kept.push_back(static_cast<int64_t>(i));
    } else {
      skipped.push_back(problems[i]);
    }
  }
  TY_REQUIRE(!kept.empty(), "{}: no sample can be read; the first: {}", dataset->source(),
             skipped.empty() ? "" : skipped[0]);
  if (kept.size() == problems.size()) return dataset;
  std::string source = fmt::format("{}, {} of {}", dataset->source(), kept.size(), dataset->size());
  return select_samples(std::move(dataset), std::move(kept), std::move(source));
}

}  // namespace trainyard::data
