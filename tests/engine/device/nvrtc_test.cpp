#include "engine/device/nvrtc.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/device/embedded.h"

namespace trainyard::device {
namespace {

// Nothing of it runs: there may be no device. Where NVRTC is there, each text compiles for all it
// knows.
TEST(Nvrtc, EveryTextCompilesForTheOldestAndTheNewestArchitecture) {
  const std::vector<int32_t> architectures = nvrtc_architectures();
  if (architectures.empty()) GTEST_SKIP() << "NVRTC is not installed";
  for (const EmbeddedFile& file : embedded_files()) {
    const std::string name(file.name.substr(0, file.name.find('.')));
    if (name == "language" || name == "scalar") continue;
    for (const int32_t architecture : {architectures.front(), architectures.back()}) {
      const std::string ptx = compile_ptx(kernel_text(name), architecture);
      EXPECT_NE(ptx.find(".entry " + name), std::string::npos) << name << " " << architecture;
    }
  }
}

TEST(Nvrtc, ATextThatDoesNotBuildShowsTheLog) {
  if (nvrtc_architectures().empty()) GTEST_SKIP() << "NVRTC is not installed";
  try {
    compile_ptx("extern \"C\" __global__ void broken(float* x) { x[0] = nowhere; }",
                nvrtc_architectures().back());
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("nowhere"), std::string::npos) << failure.what();
  }
}

}  // namespace
}  // namespace trainyard::device
