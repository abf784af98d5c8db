// Batches, made ahead of time by worker threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "data/augment.h"
#include "data/dataset.h"
#include "data/mixing.h"
#include "data/sampler.h"
#include "tensor/tensor.h"

namespace trainyard::data {

// Where a place of a batch comes from.
struct Origin {
  int64_t sample = 0;
  PictureShape shape;  // as the set gave it
};

struct Batch {
  // f32[batch, channels, height, width]; of tables f32[batch, columns]; of texts empty
  Tensor images;
  // Of texts, else empty: i64[batch, length], and the tokens that follow, kNoLabel where none
  // counts.
  Tensor tokens;
  Tensor next;
  Tensor labels;   // i64[batch]; kNoLabel unless the targets are classes
  Tensor spans;    // i64[batch, 2], of sets whose targets are spans, else empty
  Tensor numbers;  // f32[batch], of sets whose targets are numbers, else empty
  // Of sets of that kind, else empty: f32[batch, classes], and the boxes of each place in pixels of
  // the image.
  Tensor probabilities;
  std::vector<std::vector<Box>> boxes;
  std::vector<Origin> origins;  // of the first `valid` places
  int64_t index = 0;            // in the epoch
  int64_t valid = 0;            // samples in it; the places after them hold zeros and kNoLabel
  // Further copies of the same samples, where not all are taken at once.
  std::vector<Batch> more;

  // What the network reads.
  const Tensor& input() const { return tokens.empty() ? images : tokens; }
};

struct LoaderOptions {
  int64_t batch = 1;
  bool shuffle = false;
  uint64_t seed = 1;               // of the order and of the augmentations
  int64_t workers = 1;             // threads; 0: batches are made by whoever asks for them
  std::string augmentations = {};  // see Augmentations
  int64_t rank = 0;                // see Sampler
  int64_t world = 1;
  int64_t round = 0;
  bool drop_last = false;
  // Each sample stands in a batch so often, every copy with random choices of its own; it is read
  // once. A batch has copies_at_once (0: all) times `batch` places, the first copies of all samples
  // before the second, and the other copies follow in Batch::more.
  int64_t copies = 1;
  int64_t copies_at_once = 0;
  std::vector<SampleGroup> groups = {};  // see SamplerOptions
  // Of texts: tokens are hidden, drawn anew each epoch, and only these are wanted; see masking.h.
  bool mask_tokens = false;
  // Of sets whose targets are classes: batches then have probabilities too.
  Mixing mixing = {};
  // Every epoch takes the order and the augmentations of the first: what a sampler does that is not
  // told the epoch.
  bool freeze_epoch = false;
};

// To be used by one thread. The batches depend on the data set and on the options, not on the
// number of workers. After the first batches nothing is allocated unless pictures are decoded.
class Loader {
 public:
  // The data set must outlive the loader.
  Loader(const Dataset& dataset, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // How many batches are in memory at once, with so many threads.
  static int64_t slots(int64_t workers);

  int64_t num_batches() const { return sampler_.num_batches(); }
  const Augmentations& augmentations() const { return augmentations_; }
  // Of a sample; 0: it is a picture.
  int64_t row_tokens() const { return dataset_.tokens() ? dataset_.tokens()->length : 0; }
  // Whether a sample is a row of a table.
  bool has_rows() const { return dataset_.table() != nullptr; }
  // Of Batch::input().
  TensorType input_type() const;

  // Gives up what is left of the epoch and begins another at batch `first_batch`.
  void start_epoch(int64_t epoch, int64_t first_batch = 0);
  // The next batch, which is valid until the next call; null at the end of the epoch. Throws what
  // reading a sample threw.
  const Batch* next();
  // Any batch of the epoch, valid until the next call; for loaders without threads (TY_CHECKed),
  // whose owner does not take the batches one after the other.
  const Batch& make(int64_t index);
  // How long next() has waited since start_epoch().
  double wait_seconds() const { return wait_seconds_; }

 private:
  struct Slot {
    Batch batch;
    bool ready = false;
    std::exception_ptr problem;
  };

  Slot& slot_of(int64_t index) { return slots_[static_cast<size_t>(index) % slots_.size()]; }
  // One thread's memory.
  struct ThreadBuffers {
    Workspace own;
    Workspace partner;  // of mixing
    std::vector<float> partner_floats;
  };

  // Without the lock: only the claimant touches the slot.
  void fill(Batch& batch, int64_t index, ThreadBuffers& room) const;
  void fill_tokens(Batch& batch, int64_t index) const;
  void fill_rows(Batch& batch, int64_t index) const;
  void fill_span(Batch& batch, size_t place, int64_t sample) const;
  void mix(Batch& batch, size_t place, const Draw& draw, ThreadBuffers& room) const;
  void fill_target(Batch& batch, size_t place, const Draw& draw, Workspace& workspace) const;
  void finish(Batch& batch, int64_t index, int64_t valid) const;
  Batch make_batch() const;
  void work();
  bool may_claim() const;

  const Dataset& dataset_;
  LoaderOptions options_;
  Augmentations augmentations_;
  Sampler sampler_;  // written by start_epoch() when no worker is busy
  int64_t epoch_ = 0;
  double wait_seconds_ = 0;
  ThreadBuffers own_room_;  // for no workers

  // Batch i lives in slot i % slots. Guarded by the mutex; what a slot holds belongs to the worker
  // that claimed it until it is ready, then to the consumer until it asks for the next.
  std::mutex mutex_;
  std::condition_variable work_changed_;
  std::condition_variable batch_ready_;
  std::vector<Slot> slots_;
  int64_t claimed_ = 0;   // batches before it are made or being made
  int64_t released_ = 0;  // batches before it are no longer used
  int64_t consumed_ = 0;  // batches before it were given out
  int64_t busy_ = 0;      // workers making a batch
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace trainyard::data
