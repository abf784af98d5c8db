#include <algorithm>
#include <fstream>
#include <functional>
#include <numeric>
#include <sys/mman.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/device/host_kernels.h"
#include "engine/device/thread_team.h"
#include "engine/device/vector_target.h"

namespace trainyard::device {
namespace {

// Whole pages straight from the system, so that allocation and first touch can be told apart.
class Pages {
 public:
  explicit Pages(int64_t elements)
      : bytes_(static_cast<size_t>(std::max<int64_t>(elements, 1)) * sizeof(float)) {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      throw_failure("the system gives no {} of memory", bytes_text(static_cast<double>(bytes_)));
    }
    data_ = static_cast<float*>(at);
  }
  ~Pages() { munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  float* data() const { return data_; }

 private:
  size_t bytes_;
  float* data_ = nullptr;
};

// `threaded`: run by a team of all cores, each on its own part.
struct HostLoop {
  const char* launch;
  HostKernel kernel;
  bool threaded;
};

constexpr HostLoop kHostLoops[] = {{"scalar", scalar_kernel, false},
                                   {"simd", simd_kernel, false},
                                   {"threads", simd_kernel, true},
                                   {"streaming", streaming_kernel, true}};

const HostLoop& find_host_loop(const std::string& launch) {
  for (const HostLoop& loop : kHostLoops) {
    if (launch == loop.launch) return loop;
  }
  throw_error("unknown loop '{}' of the host; there are scalar, simd, threads, streaming", launch);
}

class HostTarget final : public VectorTarget {
 public:
  const std::string& name() const override { return name_; }

  std::vector<std::string> launches(VectorOp op) const override {
    std::vector<std::string> names;
    for (const HostLoop& loop : kHostLoops) {
      // A sum stores nothing that could stream.
      if (op != VectorOp::kDot || loop.kernel != streaming_kernel) names.emplace_back(loop.launch);
    }
    return names;
  }

  std::vector<VectorMemory> memories() const override { return {{"host"}}; }
  bool shares_host_memory() const override { return true; }
  double memory_bytes() const override { return free_host_memory(); }

  VectorTiming run(const VectorCase& what, double seconds) override {
    const HostLoop& loop = find_host_loop(what.launch);
    VectorTiming timing;
    Stopwatch allocating;
    auto x = std::make_unique<Pages>(what.elements);
    auto y = std::make_unique<Pages>(vector_inputs(what.op) == 2 ? what.elements : 0);
    auto z = std::make_unique<Pages>(vector_outputs(what.op) == 1 ? what.elements : 0);
    timing.alloc_s = allocating.seconds();

    Stopwatch touching;
    // With the same parts as the passes, so that pages come to lie near the core that uses them.
    in_parts(loop, what.elements, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) x->data()[i] = vector_x(i);
      if (vector_inputs(what.op) == 2) {
        for (int64_t i = begin; i < end; ++i) y->data()[i] = vector_y(i);
      }
      if (vector_outputs(what.op) == 1) std::fill(z->data() + begin, z->data() + end, 0.0F);
    });
    timing.first_touch_s = touching.seconds();

    double sum = 0;
    const auto pass = [&] {
      const Stopwatch watch;
      sum = one_pass(loop, what, *x, *y, *z);
      return watch.seconds();
    };
    timing.first_kernel_s = pass();
    timing.kernel_s = repeat_kernel(seconds, pass);
    // Checked, so that no loop is fast because it does nothing.
    timing.verified = what.op == VectorOp::kDot
                          ? vector_sum_verified(sum, what.elements)
                          : vector_verified(what.op, z->data(), what.elements);
    Stopwatch freeing;
    x.reset();
    y.reset();
    z.reset();
    timing.free_s = freeing.seconds();
    return timing;
  }

 private:
  // Calls part(begin, end, member) for consecutive parts that begin at whole cache lines.
  void in_parts(const HostLoop& loop, int64_t elements,
                const std::function<void(int64_t, int64_t, int)>& part) {
    if (!loop.threaded) return part(0, elements, 0);
    constexpr int64_t kLine = 64 / sizeof(float);
    const int64_t lines = (elements + kLine - 1) / kLine;
    const int64_t members = team_.members();
    team_.run([&](int member) {
      const int64_t begin = lines * member / members * kLine;
      const int64_t end = std::min(elements, lines * (member + 1) / members * kLine);
      if (begin < end) part(begin, end, member);
    });
  }

  double one_pass(const HostLoop& loop, const VectorCase& what, const Pages& x, const Pages& y,
                  const Pages& z) {
    std::vector<double> sums(static_cast<size_t>(team_.members()));
    in_parts(loop, what.elements, [&](int64_t begin, int64_t end, int member) {
      const float* second = vector_inputs(what.op) == 2 ? y.data() + begin : nullptr;
      float* result = vector_outputs(what.op) == 1 ? z.data() + begin : nullptr;
      sums[static_cast<size_t>(member)] =
          loop.kernel(what.op, x.data() + begin, second, result, end - begin);
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

  std::string name_ = "cpu";
  ThreadTeam team_{host_cores()};
};

}  // namespace

std::unique_ptr<VectorTarget> make_host_target() {
  return std::make_unique<HostTarget>();
}

// What could be had without swapping; 0 if the system does not say.
double free_host_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::string unit;
  double kilobytes = 0;
  while (file >> key >> kilobytes) {
    if (key == "MemAvailable:") return kilobytes * 1024;
    std::getline(file, unit);
  }
  return 0;
}

int host_cores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace trainyard::device
