// A device that vector operations are timed on, and the harness that times them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/vector_case.h"

namespace trainyard::device {

// What `memory` and `sharing` of a case may be.
struct VectorMemory {
  std::string memory;
  std::string sharing = {};
};

class VectorTarget {
 public:
  virtual ~VectorTarget() = default;

  virtual const std::string& name() const = 0;
  // Of an operation; what `launch` of a case may be.
  virtual std::vector<std::string> launches(VectorOp op) const = 0;
  virtual std::vector<VectorMemory> memories() const = 0;
  // Whether its memory is the host's.
  virtual bool shares_host_memory() const = 0;
  // Most bytes that the vectors of a case may have.
  virtual double memory_bytes() const = 0;
  // All phases of one case; the kernel is repeated for about `seconds`, at least once after the
  // first. Throws Failure if the device fails.
  virtual VectorTiming run(const VectorCase& what, double seconds) = 0;
};

// Calls `pass`, which returns the seconds it took, for about `seconds`: one to 50 times.
std::vector<double> repeat_kernel(double seconds, const std::function<double()>& pass);

// Bytes that a case needs of the target's memory (with the host's copy, if it lies there too).
double vector_memory_needed(const VectorTarget& target, const VectorCase& what);

// Throws Error, before anything is allocated, if there are no elements or if they do not fit.
void require_vector_memory(const VectorTarget& target, const VectorCase& what);

// Times one case that fits into memory. If the kernels would take more than `seconds`, fewer
// elements are timed, and times are scaled to what was asked for: the row says so.
VectorRow time_vector_case(VectorTarget& target, const VectorCase& what, double seconds);

// Best bandwidth of the target's memory, in bytes/s, over vectors larger than its caches (of 64
// MiB) with all of its threads.
double measure_limit(VectorTarget& target, double seconds);

// The processors of this machine: loops that are scalar, simd, threads (simd on all cores),
// streaming (threads with stores past the caches).
std::unique_ptr<VectorTarget> make_host_target();
// Any device but the processors; compiles the kernels. Launches 1x1, 1x256, Nx256; memory copies,
// or unified in every way the device offers. Throws Failure, with the compiler's log where it is to
// blame.
std::unique_ptr<VectorTarget> make_device_target(std::shared_ptr<Device> device);
// As find_devices(): cpu, opencl, cuda, all, or a part of a name.
std::vector<std::unique_ptr<VectorTarget>> find_vector_targets(const std::string& wanted);
// Free now, in bytes; 0 if the system does not tell.
double free_host_memory();
// How many cores this process may use.
int host_cores();

}  // namespace trainyard::device
