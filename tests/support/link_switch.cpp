// A network for tests: a switch between network namespaces, which are the hosts, with links of a
// given rate and delay. It needs TAP devices only; not every kernel has the queue that delays
// packets.
//
//   link_switch MBIT_PER_S DELAY_MS NAMESPACE...
//
// gives each namespace a device net0, prints "ready" and carries frames until it is ended or its
// parent ends. The delay is from host to host; the rate is that at which a host receives. The rate
// at which it sends is for its own kernel to shape, which then holds back whoever sends too much.
// Needs root.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <linux/if_tun.h>
#include <map>
#include <net/if.h>
#include <poll.h>
#include <queue>
#include <sched.h>
#include <span>
#include <string>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Seconds = std::chrono::duration<double>;

// Before each frame; virtio_net_hdr of the kernel, whose header is not C++.
struct FrameHeader {
  uint8_t flags;
  uint8_t segmentation;  // 0: the frame is one packet; otherwise TCP
  uint16_t linear;
  uint16_t segment;  // bytes of data of each packet
  uint16_t checksum_start;
  uint16_t checksum_offset;
};
static_assert(sizeof(FrameHeader) == 10);

using Address = std::array<std::byte, 6>;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// A TAP device in the namespace: what its host sends can be read, what is written it receives.
// Frames begin with a FrameHeader and may be as large as 64 KiB: what a network card would cut
// into packets stays whole, and costs as little.
int open_tap(const std::string& name_space) {
  const int place = open(("/run/netns/" + name_space).c_str(), O_RDONLY | O_CLOEXEC);
  if (place < 0 || setns(place, CLONE_NEWNET) != 0) fail("namespace " + name_space);
  close(place);
  const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (tap < 0) fail("/dev/net/tun");
  ifreq request{};
  std::strcpy(request.ifr_name, "net0");
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  if (ioctl(tap, TUNSETIFF, &request) != 0) fail("TUNSETIFF");
  if (ioctl(tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) fail("TUNSETOFFLOAD");
  return tap;
}

using Frame = std::vector<std::byte>;  // with its FrameHeader

Address address_at(const Frame& frame, size_t offset) {
  Address address{};
  std::copy_n(frame.begin() + static_cast<ptrdiff_t>(sizeof(FrameHeader) + offset), address.size(),
              address.begin());
  return address;
}
Address receiver_of(const Frame& frame) {
  return address_at(frame, 0);
}
Address sender_of(const Frame& frame) {
  return address_at(frame, 6);
}

// Of all packets that the frame is cut into, each with its own headers, preamble, checksum and gap.
double wire_bytes(const Frame& frame) {
  constexpr double kAround = 24;
  FrameHeader header{};
  std::memcpy(&header, frame.data(), sizeof header);
  const auto bytes = static_cast<double>(frame.size() - sizeof header);
  if (header.segmentation == 0) return bytes + kAround;
  // Checksums begin at TCP's header, whose length in words stands in the upper half of a byte.
  const auto words = static_cast<int>(frame.at(sizeof header + header.checksum_start + 12U) >> 4);
  const double headers = header.checksum_start + 4.0 * words;
  const double packets = std::max(1.0, std::ceil((bytes - headers) / header.segment));
  return bytes + (packets - 1) * headers + packets * kAround;
}

struct Port {
  int tap = -1;
  Time received;  // when the link to the host is free again
};

struct Delivery {
  Time due;
  size_t port;
  Frame frame;
  // For a queue whose top is the earliest.
  friend bool operator<(const Delivery& a, const Delivery& b) { return a.due > b.due; }
};

class Switch {
 public:
  Switch(double bytes_per_s, Seconds delay, std::span<char* const> name_spaces)
      : bytes_per_s_(bytes_per_s), delay_(delay) {
    for (const char* name : name_spaces) ports_.push_back({open_tap(name), Clock::now()});
  }

  [[noreturn]] void run() {
    std::vector<pollfd> waits;
    for (const Port& port : ports_) waits.push_back({port.tap, POLLIN, 0});
    for (;;) {
      deliver();
      wait(waits, deliveries_.empty() ? Time::max() : deliveries_.top().due);
      for (size_t i = 0; i < ports_.size(); ++i) {
        if ((waits[i].revents & POLLIN) != 0) receive(i);
      }
    }
  }

 private:
  static void wait(std::vector<pollfd>& waits, Time wake) {
    timespec limit{};
    if (wake != Time::max()) {
      const auto left = std::max(Clock::duration::zero(), wake - Clock::now());
      const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
      limit.tv_sec = whole.count();
      limit.tv_nsec = std::chrono::nanoseconds(left - whole).count();
    }
    const timespec* until = wake == Time::max() ? nullptr : &limit;
    if (ppoll(waits.data(), waits.size(), until, nullptr) < 0 && errno != EINTR) fail("ppoll");
  }

  void receive(size_t from) {
    const ssize_t size = read(ports_[from].tap, buffer_.data(), buffer_.size());
    if (size < static_cast<ssize_t>(sizeof(FrameHeader) + kEthernetHeader)) return;
    Frame frame(buffer_.begin(), buffer_.begin() + size);
    places_[sender_of(frame)] = from;
    const auto on_wire = duration(Seconds(wire_bytes(frame) / bytes_per_s_));
    const auto known = places_.find(receiver_of(frame));
    for (size_t to = 0; to < ports_.size(); ++to) {
      if (to == from || (known != places_.end() && known->second != to)) continue;
      Port& receiver = ports_[to];
      // The first packets of a frame arrive while others are still being sent: what the sender took
      // for it is not waited for again.
      receiver.received = std::max(Clock::now() - on_wire, receiver.received) + on_wire;
      deliveries_.push({receiver.received + duration(delay_), to, frame});
    }
  }

  void deliver() {
    while (!deliveries_.empty() && deliveries_.top().due <= Clock::now()) {
      const Delivery& next = deliveries_.top();
      // A frame that is not taken is lost, as on any network.
      static_cast<void>(!write(ports_[next.port].tap, next.frame.data(), next.frame.size()));
      deliveries_.pop();
    }
  }

  static Clock::duration duration(Seconds seconds) {
    return std::chrono::duration_cast<Clock::duration>(seconds);
  }

  static constexpr size_t kEthernetHeader = 14;

  double bytes_per_s_;
  Seconds delay_;
  std::vector<Port> ports_;
  std::map<Address, size_t> places_;  // learned from what each host sent
  std::priority_queue<Delivery> deliveries_;
  std::array<std::byte, (64 << 10) + 256> buffer_{};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: link_switch MBIT_PER_S DELAY_MS NAMESPACE...\n";
    return 2;
  }
  try {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // Ahead of the workers, which keep all cores busy: a late switch would be a slow network.
    const sched_param priority{.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) fail("SCHED_FIFO");
    const double bytes_per_s = std::atof(argv[1]) * 1e6 / 8;
    const Seconds delay(std::atof(argv[2]) / 1e3);
    Switch network(bytes_per_s, delay, {argv + 3, static_cast<size_t>(argc - 3)});
    std::cout << "ready" << std::endl;
    network.run();
  } catch (const std::exception& problem) {
    std::cerr << "link_switch: " << problem.what() << '\n';
    return 1;
  }
}
