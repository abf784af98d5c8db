// Slice, Split, Concat, Expand, DepthToSpace and SpaceToDepth, row-major: blocks that are copied
// between strided places, by all threads.
#include <algorithm>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/layout/slice.h"

namespace trainyard::kernels::native {
namespace {

// One block of one operand; strides and offsets count elements.
struct StridedBlock {
  std::vector<int64_t> dims;
  std::vector<int64_t> from_strides;
  std::vector<int64_t> to_strides;
  int64_t from = 0;
  int64_t to = 0;
  size_t input = 0;
  size_t output = 0;
};

class StridedCopy final : public Kernel {
 public:
  StridedCopy(const NodeView& node, std::vector<StridedBlock> blocks)
      : size_(dtype_size(node.input_type(0).dtype)), blocks_(std::move(blocks)) {}

  void run(const KernelArgs& args) const override {
    for (const StridedBlock& block : blocks_) {
      const auto* from = args.inputs[block.input].as<const std::byte>() + block.from * size_;
      auto* to = args.outputs[block.output].as<std::byte>() + block.to * size_;
      // The first dimension that there is something to share of.
      size_t cut = 0;
      while (cut + 1 < block.dims.size() && block.dims[cut] == 1) ++cut;
      if (block.dims.empty()) {
        copy_strided({}, size_, from, {}, to, {});
        continue;
      }
      parallel_for(block.dims[cut], [&](int64_t begin, int64_t end) {
        std::vector<int64_t> part = block.dims;
        part[cut] = end - begin;
        copy_strided(part, size_, from + begin * block.from_strides[cut] * size_,
                     block.from_strides, to + begin * block.to_strides[cut] * size_,
                     block.to_strides);
      });
    }
  }

 private:
  int64_t size_;
  std::vector<StridedBlock> blocks_;
};

bool has_all_outputs(const NodeView& node) {
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (!node.has_output(i) || node.output_shape(i).num_elements() == 0) return false;
  }
  return true;
}

std::string_view refuses_strided(const NodeView& node) {
  if (node.input_type(0).dtype == DType::kText) return "texts are not implemented";
  if (!has_all_outputs(node)) return "a result is absent or empty";
  if (node.op() == "Slice" && !ops::slice_ranges(node, node.input_shape(0)))
    return "the ranges are not known before the run";
  if (node.op() == "Expand" && node.input_constant(1) == nullptr)
    return "the shape is not known before the run";
  return "";
}

std::vector<StridedBlock> slice_blocks(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const auto ranges = *ops::slice_ranges(node, x);
  const std::vector<int64_t> strides = x.strides();
  StridedBlock block{.dims = node.output_shape(0).vector(),
                     .from_strides = {},
                     .to_strides = node.output_shape(0).strides()};
  for (size_t i = 0; i < strides.size(); ++i) {
    block.from += ranges.starts[i] * strides[i];
    block.from_strides.push_back(ranges.steps[i] * strides[i]);
  }
  return {block};
}

std::vector<StridedBlock> expand_blocks(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const Shape& y = node.output_shape(0);
  const std::vector<int64_t> strides = x.strides();
  StridedBlock block{.dims = y.vector(), .from_strides = {}, .to_strides = y.strides()};
  for (int64_t i = 0; i < y.rank(); ++i) {
    const int64_t own = i - (y.rank() - x.rank());
    const bool repeats = own < 0 || x[own] == 1;
    block.from_strides.push_back(repeats ? 0 : strides[static_cast<size_t>(own)]);
  }
  return {block};
}

// The parts of a tensor along an axis: `parts` of them, each an operand of its own.
std::vector<StridedBlock> part_blocks(const NodeView& node, bool splits) {
  const Shape& whole = splits ? node.input_shape(0) : node.output_shape(0);
  const int64_t axis = normalize_axis(node.attr_int("axis", 0), whole.rank(), node.op());
  const int64_t inner = whole.num_elements(axis + 1, whole.rank());
  const int64_t outer = whole.num_elements(0, axis);
  std::vector<StridedBlock> blocks;
  int64_t at = 0;
  for (size_t i = 0; i < (splits ? node.num_outputs() : node.num_inputs()); ++i) {
    const Shape& part = splits ? node.output_shape(i) : node.input_shape(i);
    const int64_t run = part[axis] * inner;
    if (outer > 0 && run > 0) {
      const std::vector<int64_t> apart = {whole[axis] * inner, 1};
      const std::vector<int64_t> dense = {run, 1};
      blocks.push_back({.dims = {outer, run},
                        .from_strides = splits ? apart : dense,
                        .to_strides = splits ? dense : apart,
                        .from = splits ? at : 0,
                        .to = splits ? 0 : at,
                        .input = splits ? 0 : i,
                        .output = splits ? i : 0});
    }
    at += run;
  }
  return blocks;
}

// Both are transpositions of six dimensions.
std::vector<StridedBlock> depth_blocks(const NodeView& node, bool to_space) {
  const Shape& space = to_space ? node.output_shape(0) : node.input_shape(0);
  const int64_t side = node.attr_int("blocksize", 1);
  const int64_t channels = space[1];
  const int64_t rows = space[2] / side;
  const int64_t columns = space[3] / side;
  const int64_t pixels = rows * columns;
  // By image, channel of the picture, row, row in the block, column, column in the block.
  const std::vector<int64_t> dims = {space[0], channels, rows, side, columns, side};
  const int64_t wide = columns * side;
  const std::vector<int64_t> picture = {
      channels * rows * side * wide, rows * side * wide, side * wide, wide, side, 1};
  const bool channels_first = node.attr_text("mode", "DCR") == "CRD";
  const int64_t of_channel = channels_first ? side * side * pixels : pixels;
  const int64_t of_column = channels_first ? pixels : channels * pixels;
  const std::vector<int64_t> deep = {
      channels * side * side * pixels, of_channel, columns, side * of_column, 1, of_column};
  return {{.dims = dims,
           .from_strides = to_space ? deep : picture,
           .to_strides = to_space ? picture : deep}};
}

std::vector<StridedBlock> blocks_of(const NodeView& node) {
  if (node.op() == "Slice") return slice_blocks(node);
  if (node.op() == "Expand") return expand_blocks(node);
  if (node.op() == "Split") return part_blocks(node, /*splits=*/true);
  if (node.op() == "Concat") return part_blocks(node, /*splits=*/false);
  return depth_blocks(node, node.op() == "DepthToSpace");
}

constexpr KernelDef strided_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_strided,
          .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
            return std::make_unique<StridedCopy>(node, blocks_of(node));
          }};
}

}  // namespace

#define STRIDED(name) extern const KernelDef kStrided##name = strided_kernel(#name);
STRIDED(Concat)
STRIDED(DepthToSpace)
STRIDED(Expand)
STRIDED(Slice)
STRIDED(SpaceToDepth)
STRIDED(Split)
#undef STRIDED

}  // namespace trainyard::kernels::native
