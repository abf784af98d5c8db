// A libnvrtc.so that compiles everything to the same text, which the fake libcuda.so.1 takes.
#include <cstring>
#include <string>

#include "support/fake_driver.h"

using trainyard::fake::fails;

namespace {

constexpr int kCompilation = 6;
constexpr const char* kPtx = "// fake PTX\n";
constexpr const char* kLog = "kernels.cu(1): error: a fake one";

int size_of(const char* text, size_t* size) {
  *size = std::strlen(text) + 1;
  return 0;
}

int copy_of(const char* text, char* into) {
  std::memcpy(into, text, std::strlen(text) + 1);
  return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 4;
  return 0;
}
int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*,
                       const char* const*) {
  static int one = 0;
  *program = &one;
  return 0;
}
int nvrtcCompileProgram(void*, int count, const char* const* options) {
  const bool known = count == 1 && std::string(options[0]) == "--gpu-architecture=compute_80";
  return fails("bad_build") || !known ? kCompilation : 0;
}
int nvrtcGetPTXSize(void*, size_t* size) {
  return size_of(kPtx, size);
}
int nvrtcGetPTX(void*, char* into) {
  return copy_of(kPtx, into);
}
int nvrtcGetProgramLogSize(void*, size_t* size) {
  return size_of(kLog, size);
}
int nvrtcGetProgramLog(void*, char* into) {
  return copy_of(kLog, into);
}
int nvrtcDestroyProgram(void**) {
  return 0;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 3;
  return 0;
}
int nvrtcGetSupportedArchs(int* all) {
  const int known[] = {50, 80, 90};
  std::memcpy(all, known, sizeof(known));
  return 0;
}

}  // extern "C"
