// The convolutional part of MobileNet v1, which SSD shares.
#pragma once

#include "models/zoo/layers.h"

namespace trainyard::models {

struct MobilenetV1Maps {
  ValueId stride8;   // after block 5
  ValueId stride16;  // after block 11
  ValueId stride32;  // after block 13
};

MobilenetV1Maps mobilenet_v1_maps(Net& net, ValueId image, double width);

}  // namespace trainyard::models
