#include "onnx_io/newer_opsets.h"

#include <algorithm>
#include <array>

namespace trainyard::onnx_io {
namespace {

struct Change {
  std::string_view op;
  int64_t opset;
};

// From the change log of ONNX's operators.
constexpr std::array kChanges = {Change{"AveragePool", 19},
                                 Change{"DFT", 20},
                                 Change{"DeformConv", 19},
                                 Change{"DequantizeLinear", 19},
                                 Change{"GridSample", 20},
                                 Change{"GroupNormalization", 18},
                                 Change{"LpPool", 18},
                                 Change{"Pad", 18},
                                 Change{"QLinearMatMul", 21},
                                 Change{"QuantizeLinear", 19},
                                 Change{"ReduceL1", 18},
                                 Change{"ReduceL2", 18},
                                 Change{"ReduceLogSum", 18},
                                 Change{"ReduceLogSumExp", 18},
                                 Change{"ReduceMax", 18},
                                 Change{"ReduceMean", 18},
                                 Change{"ReduceMin", 18},
                                 Change{"ReduceProd", 18},
                                 Change{"ReduceSumSquare", 18},
                                 Change{"Resize", 18},
                                 Change{"ScatterElements", 18},
                                 Change{"ScatterND", 18},
                                 Change{"Split", 18}};

}  // namespace

bool changed_since_17(std::string_view op, int64_t opset) {
  return std::any_of(kChanges.begin(), kChanges.end(), [&](const Change& change) {
    return change.op == op && change.opset <= opset;
  });
}

}  // namespace trainyard::onnx_io
