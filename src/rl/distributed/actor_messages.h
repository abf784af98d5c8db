// What actors and the learner say to each other. Every message of an actor is answered, and the
// learner answers late where actors run ahead of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "rl/agents/actor.h"
#include "rl/replay/replay_memory.h"

namespace trainyard::rl {

enum class ActorMessage : int64_t {
  kTransitions,  // then an ExperienceBatch; answered when more may come
  kPull,         // answered by the parameters
  kProblem,      // then text: why this actor begins again; answered at once
};

struct ActorHeader {
  ActorMessage kind = ActorMessage::kPull;
  int64_t bytes = 0;         // of what follows
  int64_t steps = 0;         // of the environment since the last message
  int64_t version = 0;       // updates that the actor's parameters had seen
  double seconds = 0;        // since the actor began
  int64_t answer_bytes = 0;  // of what follows the answer
};

struct LearnerAnswer {
  int64_t stop = 0;     // the actor is not needed any more
  int64_t version = 0;  // of the parameters, which follow a pull
};

// Transitions with the frames they refer to, each once, their errors, and episodes that ended.
struct ExperienceBatch {
  std::vector<std::byte> frames;        // encoded, one after the other
  std::vector<Transition> transitions;  // frames are places in the list
  std::vector<double> errors;
  std::vector<Episode> episodes;

  std::vector<std::byte> bytes() const;
  // Throws Failure for bytes that are none.
  static ExperienceBatch from_bytes(std::span<const std::byte> bytes);
};

// Into the memory, whose frames get new numbers. Throws Failure, and the memory is as before, if
// there is not one error per transition, or a transition refers to what is not there.
void unpack(const ExperienceBatch& parcel, ReplayMemory& memory);

}  // namespace trainyard::rl
