#include "studies/conformance.h"

#include <cmath>
#include <cstdlib>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "models/onnx/export.h"
#include "ops/builder.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

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

// Nobody's rights while it lives: root may read everything.
class AsNobody {
 public:
  AsNobody() : was_(geteuid()) {
    if (was_ == 0) worked_ = seteuid(65534) == 0;
  }
  ~AsNobody() {
    if (was_ == 0 && seteuid(was_) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  bool worked() const { return worked_; }

 private:
  uid_t was_;
  bool worked_ = true;
};

Graph one_relu() {
  Graph graph;
  ops::Builder b(graph);
  graph.set_outputs({b.add("Relu", {b.input("x", {DType::kF32, Shape{2}})})});
  return graph;
}

TEST(Conformance, FoldersThatMayNotBeReadAreListedWithTheReason) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder("conformance");
  for (const char* name : {"case_closed", "case_data"}) {
    fs::create_directories(folder.path() / name / "test_data_set_0");
    onnx_io::export_model(one_relu(), folder.path() / name / "model.onnx");
  }
  fs::permissions(folder / "case_closed", fs::perms::none);
  fs::permissions(folder.path() / "case_data" / "test_data_set_0", fs::perms::none);
  std::vector<CaseResult> results;
  {
    const AsNobody nobody;
    if (!nobody.worked()) GTEST_SKIP() << "rights cannot be dropped here";
    results = run_conformance(folder.path(), {});
  }
  fs::permissions(folder / "case_closed", fs::perms::owner_all);
  fs::permissions(folder.path() / "case_data" / "test_data_set_0", fs::perms::owner_all);
  ASSERT_EQ(results.size(), 2U);
  for (const CaseResult& result : results) {
    EXPECT_EQ(result.verdict, Verdict::kUnsupported) << result.name;
    EXPECT_NE(result.reason.find("cannot be read: Permission denied"), std::string::npos)
        << result.reason;
  }
  EXPECT_EQ(results[0].name, "case_data");
  EXPECT_EQ(results[1].name, "case_closed");
}

TEST(Conformance, FoldersThatMayNotBeReadAreNoTestCases) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder("conformance");
  fs::create_directories(folder / "closed");
  fs::permissions(folder / "closed", fs::perms::none);
  std::string message;
  {
    const AsNobody nobody;
    if (!nobody.worked()) GTEST_SKIP() << "rights cannot be dropped here";
    message = message_of([&] { run_conformance(folder.path(), {}); });
  }
  fs::permissions(folder / "closed", fs::perms::owner_all);
  EXPECT_NE(message.find("holds no test cases"), std::string::npos) << message;
  EXPECT_NE(message.find("closed: Permission denied"), std::string::npos) << message;
}

// The data come with Debian's libonnx-testdata.
TEST(Conformance, NoNodeFailsAndNearlyAllPass) {
  const std::filesystem::path data = "/usr/share/libonnx-testdata/data/node";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << data << " is not installed";
  for (const bool reference : {false, true}) {
    ConformanceOptions options;
    options.reference_only = reference;
    int passed = 0;
    for (const CaseResult& result : run_conformance(data, options)) {
      EXPECT_NE(result.verdict, Verdict::kFailed) << result.name << ": " << result.reason;
      if (result.verdict == Verdict::kPassed) ++passed;
    }
    EXPECT_GE(passed, 918) << "docs/conformance.md lists the others";
  }
}

TEST(Conformance, EveryModelThatIsNoSingleNodePasses) {
  const std::filesystem::path data = "/usr/share/libonnx-testdata/data";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << data << " is not installed";
  size_t cases = 0;
  for (const char* folder : {"pytorch-converted", "pytorch-operator", "simple"}) {
    for (const CaseResult& result : run_conformance(data / folder, {})) {
      EXPECT_EQ(result.verdict, Verdict::kPassed) << result.name << ": " << result.reason;
      ++cases;
    }
  }
  EXPECT_EQ(cases, 140U);
}

}  // namespace
}  // namespace trainyard::measure
