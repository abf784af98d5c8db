// What a thread does between two looks at what it waits for.
#pragma once

namespace trainyard {

// Tells the processor that the thread spins: less power, and more for the other thread of the core.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace trainyard
