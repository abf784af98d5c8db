#include "measure/conformance.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::measure {
namespace {

Tensor numbers(std::vector<float> values) {
  return Tensor::of<float>(Shape{static_cast<int64_t>(values.size())}, values);
}

TEST(Conformance, DifferencesWithinTheToleranceAreNone) {
  EXPECT_EQ(difference(numbers({1.0F, 0.0F}), numbers({1.0009F, 9e-6F})), "");
  EXPECT_EQ(difference(numbers({NAN}), numbers({NAN})), "");
  EXPECT_EQ(difference(numbers({INFINITY}), numbers({INFINITY})), "");
  EXPECT_EQ(difference(numbers({1.0F, 2.0F}), numbers({1.0F, 2.5F})),
            "element 1 is 2, expected 2.5");
  EXPECT_EQ(difference(numbers({1.0F}), numbers({1.0F, 2.0F})), "it is f32[1], expected f32[2]");
}

TEST(Conformance, AFolderWithoutCasesIsAnError) {
  EXPECT_THROW(run_conformance("/nonexistent", {}), Error);
}

// The data come with Debian's libonnx-testdata.
TEST(Conformance, ConvolutionsAndPoolingPass) {
  const std::filesystem::path data = "/usr/share/libonnx-testdata/data/node";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << data << " is not installed";
  for (const std::string filter : {"conv", "pool", "gemm", "nonzero", "cast_BFLOAT16"}) {
    for (const bool reference : {false, true}) {
      ConformanceOptions options;
      options.filter = filter;
      options.reference_only = reference;
      for (const CaseResult& result : run_conformance(data, options)) {
        EXPECT_NE(result.verdict, Verdict::kFailed) << result.name << ": " << result.reason;
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::measure
