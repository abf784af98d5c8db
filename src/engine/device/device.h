// A device that runs kernels, whatever its driver is called. Kernels are written once, in the
// language of text/language.cl. Drivers are opened at run time: nothing is needed to build or start
// the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard::device {

enum class Backend : uint8_t { kHost, kOpenCl, kCuda, kTorch };
// "cpu", "opencl", "cuda", "torch": how names of devices begin.
std::string_view backend_name(Backend backend);

// How the host comes to the contents of a buffer.
enum class Sharing : uint8_t {
  kNone,        // by copies alone
  kMapped,      // OpenCL: mapped while the host uses it
  kCoarse,      // OpenCL: shared virtual memory, mapped while the host uses it
  kFine,        // OpenCL: shared virtual memory that both may use at any time
  kManaged,     // CUDA: pages follow whoever touches them
  kPrefetched,  // the same, sent ahead
};
std::string_view sharing_name(Sharing sharing);

struct DeviceInfo {
  Backend backend = Backend::kHost;
  std::string name;      // the backend's and what the driver calls it: "opencl: pthread-…"
  std::string platform;  // of OpenCL, "NVIDIA CUDA", or the system
  std::string version;   // of the driver
  int64_t compute_units = 0;
  int64_t max_group = 0;
  double memory_bytes = 0;
  double max_allocation_bytes = 0;
  double clock_hz = 0;  // of CUDA: the highest; 0: the driver does not say
  bool shares_host_memory = false;
  std::vector<Sharing> sharings;      // besides copies; the best first
  std::vector<std::string> features;  // for people
};

// Memory of a device, freed with it. address() names its beginning to kernels and copies, and
// addresses within it other places of it; the host may not use them, unless open() returns them.
class Buffer {
 public:
  Buffer() = default;
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  virtual std::byte* address() const = 0;
  virtual size_t bytes() const = 0;
  // Until close(), the host may read and write here and the device may not. Not for Sharing::kNone.
  virtual std::byte* open() = 0;
  // Brings what the host wrote to the device.
  virtual void close() = 0;
};

// A launch that is or was under way.
class Event {
 public:
  virtual ~Event() = default;
  // Waits for its end; by the clock of the device.
  virtual double seconds() = 0;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
};

class Program {
 public:
  virtual ~Program() = default;
  // Valid while the program is.
  virtual std::unique_ptr<Kernel> kernel(const std::string& name) = 0;
};

// Groups of work-items along three axes.
struct Grid {
  std::array<int64_t, 3> groups = {1, 1, 1};
  std::array<int64_t, 3> group = {1, 1, 1};
};

// An address within a buffer (or null, for an array that the kernel does not use), an int64 or a
// float, in the order of the kernel's text.
using Argument = std::variant<const void*, int64_t, float>;

// What is asked of a device happens in order. Calls may come from several threads. All throw
// Failure, which names the call, what the driver says, and where possible what to try.
class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual const DeviceInfo& info() const = 0;
  virtual std::unique_ptr<Buffer> allocate(size_t bytes, Sharing sharing) = 0;
  // Compiles, or takes what an earlier run compiled from the cache on the disk. Throws Failure with
  // the compiler's log.
  virtual std::shared_ptr<Program> build(const std::string& text) = 0;

  // build(kernel_text(name)), kept from the first time on.
  std::shared_ptr<Program> program(const std::string& name);

  // Both return when the bytes are there.
  virtual void write(void* to, const void* from, size_t bytes) = 0;
  virtual void read(void* to, const void* from, size_t bytes) = 0;
  // Returns at once; null unless `timed`.
  virtual std::unique_ptr<Event> launch(Kernel& kernel, const Grid& grid,
                                        std::span<const Argument> arguments, bool timed) = 0;
  // Until everything asked for has happened.
  virtual void finish() = 0;

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Program>> programs_;
};

}  // namespace trainyard::device
