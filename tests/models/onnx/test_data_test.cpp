// Every model of Debian's libonnx-testdata imports, or the message names what is missing.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "models/onnx/import.h"

namespace trainyard::onnx_io {
namespace {

constexpr const char* kTestData = "/usr/share/libonnx-testdata/data";

// Why a file without missing operators may be refused.
constexpr std::string_view kReasons[] = {"Scan of opset 8", "only 'conformance' gives such inputs",
                                         "only known sizes", "which is not supported for sequences",
                                         "other lengths are not supported"};

TEST(TestData, ImportsOrNamesTheOperatorThatIsMissing) {
  if (!std::filesystem::exists(kTestData)) GTEST_SKIP() << "libonnx-testdata is not installed";
  int imported = 0;
  int refused_types = 0;
  std::map<std::string, int> missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kTestData)) {
    if (entry.path().extension() != ".onnx") continue;
    try {
      import_model(entry.path());
      ++imported;
    } catch (const UnsupportedOperators& problem) {
      const std::string text = problem.what();
      ++missing[text.substr(text.find("supported: ") + 11)];
    } catch (const Error& problem) {
      const std::string text = problem.what();
      const bool no_numbers = std::any_of(
          std::begin(kReasons), std::end(kReasons),
          [&](std::string_view reason) { return text.find(reason) != std::string::npos; });
      EXPECT_TRUE(no_numbers) << text;
      ++refused_types;
    }
  }
  int without = 0;
  for (const auto& [operators, models] : missing) {
    without += models;
    std::printf("%4d lack %s\n", models, operators.c_str());
  }
  std::printf("%d imported, %d lack an operator, %d take other things than tensors of numbers\n",
              imported, without, refused_types);
  EXPECT_GT(imported, 0);
}

}  // namespace
}  // namespace trainyard::onnx_io
