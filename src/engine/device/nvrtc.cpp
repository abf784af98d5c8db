#include "engine/device/nvrtc.h"

#include <algorithm>

#include "base/error.h"
#include "engine/device/cuda_library.h"

namespace trainyard::device {
namespace {

// A program of NVRTC, destroyed with this.
class NvrtcProgram {
 public:
  NvrtcProgram(const cuda::Compiler& rtc, const std::string& text) : rtc_(rtc) {
    const int32_t code = rtc.create(&program_, text.c_str(), "kernels.cu", 0, nullptr, nullptr);
    if (code != 0) throw_failure("NVRTC: nvrtcCreateProgram failed with code {}", code);
  }
  ~NvrtcProgram() { rtc_.destroy(&program_); }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  std::string ptx(const std::string& architecture) {
    const char* options[] = {architecture.c_str()};
    const int32_t code = rtc_.compile(program_, 1, options);
    if (code != 0) {
      throw_failure("NVRTC {}: kernels do not build with {} (code {}):\n{}", nvrtc_version(),
                    architecture, code, text(rtc_.log_size, rtc_.log));
    }
    return text(rtc_.result_size, rtc_.result);
  }

 private:
  std::string text(int32_t (*size_of)(cuda::Handle, size_t*),
                   int32_t (*get)(cuda::Handle, char*)) const {
    size_t size = 0;
    if (size_of(program_, &size) != 0 || size == 0) return {};
    std::string content(size, '\0');
    if (get(program_, content.data()) != 0) return {};
    return content.substr(0, content.find('\0'));
  }

  const cuda::Compiler& rtc_;
  cuda::Handle program_ = nullptr;
};

}  // namespace

std::string nvrtc_version() {
  const cuda::Compiler* rtc = cuda::compiler();
  int32_t major = 0;
  int32_t minor = 0;
  if (rtc == nullptr || rtc->version(&major, &minor) != 0) return {};
  return fmt::format("{}.{}", major, minor);
}

std::vector<int32_t> nvrtc_architectures() {
  const cuda::Compiler* rtc = cuda::compiler();
  int32_t count = 0;
  if (rtc == nullptr || rtc->num_architectures == nullptr || rtc->architectures == nullptr ||
      rtc->num_architectures(&count) != 0 || count <= 0) {
    return {};
  }
  std::vector<int32_t> all(static_cast<size_t>(count));
  if (rtc->architectures(all.data()) != 0) return {};
  std::sort(all.begin(), all.end());
  return all;
}

std::string compile_ptx(const std::string& text, int32_t architecture) {
  const cuda::Compiler* rtc = cuda::compiler();
  if (rtc == nullptr) {
    throw_failure(
        "CUDA: libnvrtc.so, which compiles kernels, cannot be opened; install the CUDA toolkit or "
        "put its folder into LD_LIBRARY_PATH");
  }
  return NvrtcProgram(*rtc, text).ptx(fmt::format("--gpu-architecture=compute_{}", architecture));
}

}  // namespace trainyard::device
