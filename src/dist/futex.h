// Sleeping until another thread or process changes a word that both see.
#pragma once

#include <cstdint>

namespace trainyard::dist {

// Returns at once if the word is not `seen`; otherwise after a wake of it, the given time or, now
// and then, for no reason.
void sleep_while(const uint32_t* word, uint32_t seen, double seconds);
void wake_sleepers(const uint32_t* word);

}  // namespace trainyard::dist
