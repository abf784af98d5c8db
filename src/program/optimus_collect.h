// Trains a grid of ResNets on this machine and keeps their loss curves: data for `optimus regress`.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "report/document.h"

namespace trainyard::cli {

struct CollectOptions {
  std::vector<int64_t> depths = {20, 32, 44, 56};
  int64_t runs = 3;  // of each depth, with seeds 1, 2, …
  std::string data = "synthetic:3x32x32,classes=10,size=512";
  int64_t epochs = 10;
  int64_t batch = 64;
  double learning_rate = 0.05;
  std::string folder = "runs/curves";
};

// Leaves depthD-runN.csv in the folder for each training, and the run directories in folder/runs.
// What is there is not trained again, and a training that was interrupted goes on. Returns an exit
// code.
int collect_curves(const CollectOptions& options, report::Format format, std::ostream& out);

}  // namespace trainyard::cli
