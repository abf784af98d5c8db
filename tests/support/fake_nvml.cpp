// The library of a driver with three GPUs, of which the last does not answer.
#include <cstddef>
#include <cstdint>

namespace {

constexpr int kFine = 0;
constexpr int kGone = 15;

int gpus[3];
size_t place_of(void* gpu) {
  return static_cast<size_t>(static_cast<int*>(gpu) - gpus);
}

struct Rates {
  unsigned int gpu;
  unsigned int memory;
};
struct Memory {
  uint64_t total;
  uint64_t free;
  uint64_t used;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return kFine;
}
int nvmlShutdown() {
  return kFine;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 3;
  return kFine;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** gpu) {
  *gpu = gpus + index;
  return kFine;
}

int nvmlDeviceGetUtilizationRates(void* gpu, Rates* rates) {
  if (place_of(gpu) == 2) return kGone;
  *rates = place_of(gpu) == 0 ? Rates{87, 41} : Rates{12, 3};
  return kFine;
}

int nvmlDeviceGetMemoryInfo(void* /*gpu*/, Memory* memory) {
  *memory = {8'000'000'000, 2'000'000'000, 6'000'000'000};
  return kFine;
}

int nvmlDeviceGetPowerUsage(void* /*gpu*/, unsigned int* milliwatts) {
  *milliwatts = 250'000;
  return kFine;
}

int nvmlDeviceGetTemperature(void* /*gpu*/, int /*sensor*/, unsigned int* degrees) {
  *degrees = 64;
  return kFine;
}

}  // extern "C"
