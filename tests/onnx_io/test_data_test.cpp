// Every model of Debian's libonnx-testdata imports, or the message names what is missing.
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "onnx_io/import.h"

namespace trainyard::onnx_io {
namespace {

constexpr const char* kTestData = "/usr/share/libonnx-testdata/data";

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
      const bool no_numbers = text.find("only tensors are supported") != std::string::npos ||
                              text.find("Scan of opset 8") != std::string::npos ||
                              text.find("(STRING), which is not supported") != std::string::npos;
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
