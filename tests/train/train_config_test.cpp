#include "train/train_config.h"

#include <gtest/gtest.h>

namespace trainyard::train {
namespace {

// The digits are those that 0.1.0 wrote into a checkpoint before there were the settings below.
TEST(TrainConfig, RunsOfBeforeKeepTheirHash) {
  TrainConfig config;
  config.data = "synthetic:1x28x28,classes=4,size=64";
  config.batch = 16;
  EXPECT_EQ(config_hash(config), "c6fdd65de56e56dd");
  config.mixup = 0.2;
  EXPECT_NE(config_hash(config), "c6fdd65de56e56dd");
}

}  // namespace
}  // namespace trainyard::train
