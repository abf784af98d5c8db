// Networks by name, built once and kept as profiles.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "cluster/predict/paleo/model.h"
#include "cluster/predict/profile.h"
#include "ir/graph.h"

namespace trainyard::predict {

// Where graphs come from: a zoo or files. Called with a name, answers the graph at batch 1; throws
// Error for names it does not know.
using GraphSource = std::function<Graph(const std::string& name)>;

struct Network {
  NetworkProfile profile;
  NetworkProfile merged;  // the same, for fits and sweeps
  paleo::Net paleo;
};

// A name may end in ":ungrouped" (see ungrouped()). Not thread-safe.
class Networks {
 public:
  explicit Networks(GraphSource source) : source_(std::move(source)) {}

  const Network& get(const std::string& name);

 private:
  GraphSource source_;
  std::map<std::string, Network> known_;
};

}  // namespace trainyard::predict
