#include <cstdint>
#include <dlfcn.h>

#include "base/utilization.h"

namespace trainyard {
namespace {

// Of nvml.h, as far as it is used here.
using Gpu = void*;
struct Rates {
  unsigned int gpu;
  unsigned int memory;
};
struct Memory {
  uint64_t total;
  uint64_t free;
  uint64_t used;
};
constexpr int kFine = 0;
constexpr int kDieSensor = 0;

}  // namespace

struct GpuMeter::Library {
  void* handle = nullptr;
  int (*shutdown)() = nullptr;
  int (*rates)(Gpu, Rates*) = nullptr;
  int (*memory)(Gpu, Memory*) = nullptr;
  int (*power)(Gpu, unsigned int*) = nullptr;             // milliwatts; may be absent
  int (*temperature)(Gpu, int, unsigned int*) = nullptr;  // degrees; may be absent
  std::vector<Gpu> gpus;

  template <typename Function>
  bool bind(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }

  // Whether there is a GPU to ask.
  bool open(const std::string& name) {
    handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    int (*begin)() = nullptr;
    int (*count_of)(unsigned int*) = nullptr;
    int (*gpu_at)(unsigned int, Gpu*) = nullptr;
    if (!bind("nvmlInit_v2", begin) || !bind("nvmlDeviceGetCount_v2", count_of) ||
        !bind("nvmlDeviceGetHandleByIndex_v2", gpu_at) ||
        !bind("nvmlDeviceGetUtilizationRates", rates) || !bind("nvmlDeviceGetMemoryInfo", memory) ||
        !bind("nvmlShutdown", shutdown)) {
      shutdown = nullptr;
      return false;
    }
    bind("nvmlDeviceGetPowerUsage", power);
    bind("nvmlDeviceGetTemperature", temperature);
    unsigned int count = 0;
    if (begin() != kFine) {
      shutdown = nullptr;
      return false;
    }
    if (count_of(&count) != kFine) return false;
    for (unsigned int i = 0; i < count; ++i) {
      Gpu gpu = nullptr;
      if (gpu_at(i, &gpu) == kFine) gpus.push_back(gpu);
    }
    return !gpus.empty();
  }

  ~Library() {
    if (shutdown != nullptr) shutdown();
    if (handle != nullptr) dlclose(handle);
  }
};

GpuMeter::GpuMeter(const std::string& library) : library_(std::make_unique<Library>()) {
  if (!library_->open(library)) library_.reset();
}

GpuMeter::~GpuMeter() = default;

std::vector<GpuSample> GpuMeter::read() const {
  constexpr double kPercent = 100;
  constexpr double kMilli = 1000;
  std::vector<GpuSample> samples;
  if (library_ == nullptr) return samples;
  for (const Gpu gpu : library_->gpus) {
    Rates rates{};
    Memory memory{};
    if (library_->rates(gpu, &rates) != kFine || library_->memory(gpu, &memory) != kFine) continue;
    GpuSample sample{.busy = rates.gpu / kPercent,
                     .memory_busy = rates.memory / kPercent,
                     .memory_bytes = static_cast<double>(memory.used)};
    if (memory.total > 0) {
      sample.memory_share = sample.memory_bytes / static_cast<double>(memory.total);
    }
    unsigned int value = 0;
    if (library_->power != nullptr && library_->power(gpu, &value) == kFine) {
      sample.power_w = value / kMilli;
    }
    if (library_->temperature != nullptr &&
        library_->temperature(gpu, kDieSensor, &value) == kFine) {
      sample.temperature_c = value;
    }
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace trainyard
