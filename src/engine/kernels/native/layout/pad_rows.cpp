// Pad in all its modes, row-major: rows of the result look up where they come from.
#include <algorithm>
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/layout/pad.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kBorder = -1;  // where the constant goes

std::optional<std::vector<int64_t>> known_pads(const NodeView& node) {
  auto pads = node.input_ints(1);
  if (!pads || !node.has_input(3)) return pads;
  const auto axes = node.input_ints(3);
  if (!axes) return std::nullopt;
  return ops::pads_of_all_axes(*pads, *axes, node.input_shape(0).rank());
}

std::string_view refuses_pad_rows(const NodeView& node) {
  if (!known_pads(node)) return "the pads are not known before the run";
  if (node.input_type(0).dtype == DType::kText) return "texts are not implemented";
  if (node.output_shape(0).rank() == 0 || node.output_shape(0).num_elements() == 0 ||
      node.input_shape(0).num_elements() == 0) {
    return "input or result is empty";
  }
  return "";
}

class PadRows final : public Kernel {
 public:
  explicit PadRows(const NodeView& node)
      : size_(static_cast<size_t>(dtype_size(node.input_type(0).dtype))) {
    const std::vector<int64_t> pads = *known_pads(node);
    const std::string mode = node.attr_text("mode", "constant");
    const Shape& x = node.input_shape(0);
    const Shape& y = node.output_shape(0);
    for (int64_t d = 0; d < y.rank(); ++d) {
      Axis axis;
      for (int64_t i = 0; i < y[d]; ++i) {
        const int64_t from = ops::padded_source(i - pads[static_cast<size_t>(d)], x[d], mode);
        axis.sources.push_back(from < 0 ? kBorder : from * x.num_elements(d + 1, x.rank()));
      }
      axes_.push_back(std::move(axis));
    }
    columns_ = std::move(axes_.back().sources);
    axes_.pop_back();
    for (const Axis& axis : axes_) rows_ *= static_cast<int64_t>(axis.sources.size());
    // Pads before the input may be negative: then the run begins with the first column.
    const int64_t before = std::max<int64_t>(pads[static_cast<size_t>(y.rank() - 1)], 0);
    first_ = std::min(before, static_cast<int64_t>(columns_.size()));
    last_ = first_;
    while (last_ < static_cast<int64_t>(columns_.size()) &&
           columns_[static_cast<size_t>(last_)] != kBorder &&
           columns_[static_cast<size_t>(last_)] ==
               columns_[static_cast<size_t>(first_)] + last_ - first_) {
      ++last_;
    }
  }

  void run(const KernelArgs& args) const override {
    const std::byte zero[8] = {};
    const bool given = args.inputs.size() > 2 && args.inputs[2].data != nullptr;
    const std::byte* fill = given ? args.inputs[2].as<const std::byte>() : zero;
    const auto* x = args.inputs[0].as<const std::byte>();
    auto* y = args.outputs[0].as<std::byte>();
    const size_t row_bytes = columns_.size() * size_;
    parallel_for(rows_, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        std::byte* to = y + static_cast<size_t>(row) * row_bytes;
        const int64_t from = source_of(row);
        if (from == kBorder) {
          fill_row(fill, to);
        } else {
          copy_row(x + static_cast<size_t>(from) * size_, fill, to);
        }
      }
    });
  }

 private:
  struct Axis {
    std::vector<int64_t> sources;  // offsets, or kBorder
  };

  int64_t source_of(int64_t row) const {
    int64_t offset = 0;
    for (size_t d = axes_.size(); d-- > 0;) {
      const std::vector<int64_t>& sources = axes_[d].sources;
      const auto count = static_cast<int64_t>(sources.size());
      const int64_t source = sources[static_cast<size_t>(row % count)];
      if (source == kBorder) return kBorder;
      offset += source;
      row /= count;
    }
    return offset;
  }

  void fill_row(const std::byte* fill, std::byte* to) const {
    for (size_t i = 0; i < columns_.size(); ++i) std::memcpy(to + i * size_, fill, size_);
  }

  void copy_row(const std::byte* from, const std::byte* fill, std::byte* to) const {
    const auto one = [&](size_t i) {
      const int64_t source = columns_[i];
      std::memcpy(to + i * size_,
                  source == kBorder ? fill : from + static_cast<size_t>(source) * size_, size_);
    };
    const auto first = static_cast<size_t>(first_);
    const auto last = static_cast<size_t>(last_);
    for (size_t i = 0; i < first; ++i) one(i);
    if (first < last) {
      std::memcpy(to + first * size_, from + static_cast<size_t>(columns_[first]) * size_,
                  (last - first) * size_);
    }
    for (size_t i = last; i < columns_.size(); ++i) one(i);
  }

  size_t size_;
  std::vector<Axis> axes_;  // but the last
  std::vector<int64_t> columns_;
  int64_t rows_ = 1;
  int64_t first_ = 0;  // columns that are a run of the input
  int64_t last_ = 0;
};

}  // namespace

extern const KernelDef kPadRows = {.op = "Pad",
                                   .library = "native",
                                   .refuses = refuses_pad_rows,
                                   .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
                                     return std::make_unique<PadRows>(node);
                                   }};

}  // namespace trainyard::kernels::native
