#include "data/loader.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/stopwatch.h"
#include "data/text/masking.h"

namespace trainyard::data {
namespace {

constexpr int64_t kMostWorkers = 256;
// Batches beyond one per worker: the one in use and one ready behind it.
constexpr int64_t kExtraSlots = 2;

SamplerOptions sampler_options(const Dataset& dataset, const LoaderOptions& options) {
  return {.size = dataset.size(),
          .batch = options.batch,
          .shuffle = options.shuffle,
          .seed = options.seed,
          .rank = options.rank,
          .world = options.world,
          .drop_last = options.drop_last,
          .round = options.round,
          .groups = options.groups};
}

}  // namespace

Loader::Loader(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(dataset),
      options_(options),
      augmentations_(options.augmentations, dataset),
      sampler_(sampler_options(dataset, options)) {
  TY_REQUIRE(0 <= options.workers && options.workers <= kMostWorkers,
             "{} data workers, expected 0 to {}", options.workers, kMostWorkers);
  TY_REQUIRE(!options.mixing.is_on() || dataset.target_kind() == TargetKind::kClass,
             "mixup and cutmix mix classes, and {} has no class for each image", dataset.source());
  if (options_.copies_at_once == 0) options_.copies_at_once = options_.copies;
  TY_REQUIRE(options_.copies >= 1 && options_.copies_at_once >= 1 &&
                 options_.copies % options_.copies_at_once == 0,
             "{} copies of each sample, {} of them at once: expected a whole number of times",
             options_.copies, options_.copies_at_once);
  TY_REQUIRE(!options_.mask_tokens || dataset.target_kind() == TargetKind::kTokens,
             "{} has no tokens to hide", dataset.source());
  const bool pictures = !dataset.tokens() && !dataset.table();
  TY_REQUIRE(pictures || options_.copies == 1,
             "{} copies of each sample, but only pictures are augmented", options_.copies);
  TY_REQUIRE(pictures || !options.mixing.is_on(), "mixup and cutmix mix pictures, and {} has none",
             dataset.source());
  for (int64_t i = 0; i < slots(options.workers); ++i) {
    Batch& batch = slots_.emplace_back().batch;
    batch = make_batch();
    for (int64_t k = options_.copies_at_once; k < options_.copies; k += options_.copies_at_once) {
      batch.more.push_back(make_batch());
    }
  }
  // Nothing to do before start_epoch().
  claimed_ = released_ = consumed_ = num_batches();
  for (int64_t i = 0; i < options.workers; ++i) threads_.emplace_back([this] { work(); });
}

Batch Loader::make_batch() const {
  const int64_t places = checked_product({options_.batch, options_.copies_at_once});
  Batch batch;
  (dataset_.tokens() ? batch.tokens : batch.images) =
      Tensor(input_type().dtype, input_type().shape);
  if (dataset_.target_kind() == TargetKind::kTokens) {
    batch.next = Tensor(DType::kI64, input_type().shape);
  }
  if (dataset_.target_kind() == TargetKind::kSpan) {
    batch.spans = Tensor(DType::kI64, Shape{places, 2});
  }
  batch.labels = Tensor(DType::kI64, Shape{places});
  batch.origins.resize(static_cast<size_t>(places));
  if (dataset_.target_kind() == TargetKind::kNumber) {
    batch.numbers = Tensor(DType::kF32, Shape{places});
  }
  if (dataset_.target_kind() == TargetKind::kProbabilities || options_.mixing.is_on()) {
    batch.probabilities = Tensor(DType::kF32, Shape{places, dataset_.num_classes()});
  } else if (dataset_.target_kind() == TargetKind::kBoxes) {
    batch.boxes.resize(static_cast<size_t>(places));
  }
  return batch;
}

TensorType Loader::input_type() const {
  const int64_t places = checked_product({options_.batch, options_.copies_at_once});
  if (dataset_.tokens()) return {DType::kI64, Shape{places, dataset_.tokens()->length}};
  if (dataset_.table()) return {DType::kF32, Shape{places, dataset_.table()->columns_count()}};
  const PictureShape& shape = augmentations_.output();
  return {DType::kF32, Shape{places, shape.channels, shape.height, shape.width}};
}

// Without threads batches are made when they are asked for, so one slot is enough.
int64_t Loader::slots(int64_t workers) {
  return workers == 0 ? 1 : workers + kExtraSlots;
}

Loader::~Loader() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  work_changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// A slot may be filled again only after the batch in it was released, which next() does for the one
// before.
bool Loader::may_claim() const {
  return claimed_ < num_batches() && claimed_ < released_ + static_cast<int64_t>(slots_.size());
}

void Loader::start_epoch(int64_t epoch, int64_t first_batch) {
  TY_REQUIRE(0 <= first_batch && first_batch <= num_batches(),
             "the epoch has {} batches, so it cannot begin at batch {}", num_batches(),
             first_batch);
  {
    std::unique_lock lock(mutex_);
    // Workers find nothing to claim from here on; those that are busy finish their batch, which
    // nobody takes.
    claimed_ = num_batches();
    batch_ready_.wait(lock, [this] { return busy_ == 0; });
    for (Slot& slot : slots_) {
      slot.ready = false;
      slot.problem = nullptr;
    }
    epoch_ = options_.freeze_epoch ? 0 : epoch;
    sampler_.start_epoch(epoch_);
    claimed_ = released_ = consumed_ = first_batch;
    wait_seconds_ = 0;
  }
  work_changed_.notify_all();
}

const Batch* Loader::next() {
  std::unique_lock lock(mutex_);
  // The batch that was handed out before may be overwritten now.
  released_ = consumed_;
  if (consumed_ == num_batches()) return nullptr;
  const Stopwatch waiting;
  Slot& slot = slot_of(consumed_);
  if (threads_.empty()) {
    fill(slot.batch, consumed_, own_room_);
  } else {
    work_changed_.notify_one();
    // In the order of the epoch, even if a later batch is ready first.
    batch_ready_.wait(lock, [&slot] { return slot.ready; });
    slot.ready = false;
  }
  ++consumed_;
  wait_seconds_ += waiting.seconds();
  // Thrown where the batch was to be used, on the caller's thread.
  if (slot.problem) std::rethrow_exception(std::exchange(slot.problem, nullptr));
  return &slot.batch;
}

const Batch& Loader::make(int64_t index) {
  TY_CHECK(threads_.empty() && 0 <= index && index < num_batches(), "batch {} of {}", index,
           num_batches());
  fill(slots_[0].batch, index, own_room_);
  return slots_[0].batch;
}

void Loader::work() {
  ThreadBuffers room;
  std::unique_lock lock(mutex_);
  while (true) {
    work_changed_.wait(lock, [this] { return stopping_ || may_claim(); });
    if (stopping_) return;
    const int64_t index = claimed_++;
    Slot& slot = slot_of(index);
    ++busy_;
    // `slot` is this thread's own until it is ready: no other index maps to it before.
    lock.unlock();
    std::exception_ptr problem;
    try {
      fill(slot.batch, index, room);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    slot.problem = problem;
    slot.ready = true;
    --busy_;
    batch_ready_.notify_one();
  }
}

// Const, and called by several threads at once with workspaces of their own. What is drawn depends
// on seed, epoch, sample and copy alone, so neither batch nor thread changes a picture.
void Loader::fill(Batch& batch, int64_t index, ThreadBuffers& room) const {
  if (dataset_.tokens()) return fill_tokens(batch, index);
  if (dataset_.table()) return fill_rows(batch, index);
  Workspace& workspace = room.own;
  const std::span<const int64_t> samples = sampler_.samples(index);
  const int64_t elements = augmentations_.output().elements();
  for (size_t i = 0; i < samples.size(); ++i) {
    const PixelView picture = Augmentations::read(dataset_, samples[i], workspace);
    for (int64_t copy = 0; copy < options_.copies; ++copy) {
      const Draw draw{.seed = options_.seed, .epoch = epoch_, .sample = samples[i], .copy = copy};
      const int64_t part = copy / options_.copies_at_once;
      Batch& own = part == 0 ? batch : batch.more[static_cast<size_t>(part - 1)];
      // Copies of one pass lie one set behind the other.
      const size_t place = static_cast<size_t>(copy % options_.copies_at_once) * samples.size() + i;
      augmentations_.floats(
          dataset_, picture, draw, workspace,
          own.images.values<float>().data() + static_cast<int64_t>(place) * elements);
      fill_target(own, place, draw, workspace);
      if (options_.mixing.is_on()) mix(own, place, draw, room);
      own.origins[place] = {.sample = samples[i], .shape = workspace.shape};
    }
  }
  const int64_t valid = static_cast<int64_t>(samples.size()) * options_.copies_at_once;
  finish(batch, index, valid);
  for (Batch& more : batch.more) finish(more, index, valid);
}

void Loader::fill_tokens(Batch& batch, int64_t index) const {
  const std::span<const int64_t> samples = sampler_.samples(index);
  const auto length = static_cast<size_t>(dataset_.tokens()->length);
  const std::span<int64_t> now = batch.tokens.values<int64_t>();
  const std::span<int64_t> next =
      batch.next.empty() ? std::span<int64_t>() : batch.next.values<int64_t>();
  for (size_t i = 0; i < samples.size(); ++i) {
    dataset_.read_tokens(samples[i], now.subspan(i * length, length),
                         next.empty() ? next : next.subspan(i * length, length));
    if (options_.mask_tokens) {
      const uint64_t epoch = mix_bits(mix_bits(options_.seed) + static_cast<uint64_t>(epoch_));
      mask_tokens(now.subspan(i * length, length), next.subspan(i * length, length),
                  dataset_.tokens()->vocabulary,
                  RandomStream(epoch, static_cast<uint64_t>(samples[i])));
    }
    batch.labels.values<int64_t>()[i] = dataset_.label(samples[i]);
    if (!batch.spans.empty()) fill_span(batch, i, samples[i]);
    batch.origins[i] = {.sample = samples[i], .shape = dataset_.shape()};
  }
  if (!batch.spans.empty()) {
    const std::span<int64_t> rest = batch.spans.values<int64_t>().subspan(2 * samples.size());
    std::fill(rest.begin(), rest.end(), kNoLabel);
  }
  const size_t filled = samples.size() * length;
  std::fill(now.begin() + static_cast<ptrdiff_t>(filled), now.end(), 0);
  if (!next.empty()) {
    std::fill(next.begin() + static_cast<ptrdiff_t>(filled), next.end(), kNoLabel);
  }
  const std::span<int64_t> labels = batch.labels.values<int64_t>();
  std::fill(labels.begin() + static_cast<ptrdiff_t>(samples.size()), labels.end(), kNoLabel);
  batch.index = index;
  batch.valid = static_cast<int64_t>(samples.size());
}

void Loader::fill_span(Batch& batch, size_t place, int64_t sample) const {
  Target target;
  dataset_.target(sample, target);
  batch.spans.values<int64_t>()[2 * place] = target.first;
  batch.spans.values<int64_t>()[2 * place + 1] = target.last;
}

void Loader::fill_rows(Batch& batch, int64_t index) const {
  const std::span<const int64_t> samples = sampler_.samples(index);
  const auto columns = static_cast<size_t>(dataset_.table()->columns_count());
  const std::span<float> rows = batch.images.values<float>();
  const std::span<int64_t> labels = batch.labels.values<int64_t>();
  std::fill(rows.begin(), rows.end(), 0.0F);
  std::fill(labels.begin(), labels.end(), kNoLabel);
  if (!batch.numbers.empty()) {
    const std::span<float> numbers = batch.numbers.values<float>();
    std::fill(numbers.begin(), numbers.end(), 0.0F);
  }
  Target target;
  for (size_t i = 0; i < samples.size(); ++i) {
    dataset_.read_row(samples[i], rows.subspan(i * columns, columns));
    dataset_.target(samples[i], target);
    labels[i] = target.label;
    if (!batch.numbers.empty()) batch.numbers.values<float>()[i] = target.number;
    batch.origins[i] = {.sample = samples[i], .shape = dataset_.shape()};
  }
  batch.index = index;
  batch.valid = static_cast<int64_t>(samples.size());
}

// What no sample stands in is empty.
void Loader::finish(Batch& batch, int64_t index, int64_t valid) const {
  const std::span<float> images = batch.images.values<float>();
  const std::span<int64_t> labels = batch.labels.values<int64_t>();
  batch.index = index;
  batch.valid = valid;
  std::fill(images.begin() + valid * augmentations_.output().elements(), images.end(), 0.0F);
  std::fill(labels.begin() + valid, labels.end(), kNoLabel);
  for (auto i = static_cast<size_t>(valid); i < batch.boxes.size(); ++i) batch.boxes[i].clear();
  if (batch.probabilities.empty()) return;
  const std::span<float> rest = batch.probabilities.values<float>().subspan(
      static_cast<size_t>(valid * dataset_.num_classes()));
  std::fill(rest.begin(), rest.end(), 0.0F);
}

// The class becomes two probabilities; the label stays that of the sample.
void Loader::mix(Batch& batch, size_t place, const Draw& draw, ThreadBuffers& room) const {
  const PictureShape& shape = augmentations_.output();
  const Blend blend = draw_blend(options_.mixing, draw, dataset_.size(), shape);
  const auto elements = static_cast<size_t>(shape.elements());
  room.partner_floats.resize(elements);
  Draw other = draw;
  other.sample = blend.partner;
  augmentations_.floats(dataset_, other, room.partner, room.partner_floats.data());
  blend_images(blend, shape, room.partner_floats.data(),
               batch.images.values<float>().data() + place * elements);
  const auto classes = static_cast<size_t>(dataset_.num_classes());
  const std::span<float> row =
      batch.probabilities.values<float>().subspan(place * classes, classes);
  std::fill(row.begin(), row.end(), 0.0F);
  row[static_cast<size_t>(dataset_.label(draw.sample))] += static_cast<float>(blend.own);
  row[static_cast<size_t>(dataset_.label(blend.partner))] += static_cast<float>(1 - blend.own);
}

// After the picture, whose steps have moved the boxes.
void Loader::fill_target(Batch& batch, size_t place, const Draw& draw, Workspace& workspace) const {
  Target& target = workspace.target;
  if (dataset_.target_kind() == TargetKind::kBoxes) {
    batch.boxes[place].assign(target.boxes.begin(), target.boxes.end());
    batch.labels.values<int64_t>()[place] = kNoLabel;
    return;
  }
  target.label = kNoLabel;
  dataset_.target(draw.sample, target);
  batch.labels.values<int64_t>()[place] = target.label;
  if (dataset_.target_kind() == TargetKind::kProbabilities) {
    const auto classes = static_cast<size_t>(dataset_.num_classes());
    TY_REQUIRE(target.probabilities.size() == classes, "{} has {} probabilities for {} classes",
               dataset_.sample_name(draw.sample), target.probabilities.size(), classes);
    std::copy(
        target.probabilities.begin(), target.probabilities.end(),
        batch.probabilities.values<float>().begin() + static_cast<ptrdiff_t>(place * classes));
  }
}

}  // namespace trainyard::data
