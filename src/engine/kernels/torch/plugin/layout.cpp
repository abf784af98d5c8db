// What moves numbers: parts, joins, orders, copies, picks.
#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {
namespace {

const char* takes_all(const Node&) {
  return "";
}

Run make_concat(const Node& node) {
  const int64_t axis = node.attr_axis(0, node.output_rank(0));
  return [axis](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::cat_out(y, in, axis);
  };
}

Run make_transpose(const Node& node) {
  Ints order;
  for (int64_t i = node.input_rank(0); i-- > 0;) order.push_back(i);
  order = node.attr_ints("perm", order);
  return [order](const Tensors& in, const Tensors& out) { out[0].copy_(in[0].permute(order)); };
}

// The ranges of a Slice, one for each dimension, as the program resolved them.
struct Ranges {
  Ints starts;
  Ints steps;
  Ints counts;

  // The part of x; what goes backwards is turned around, which is a copy if `turn`.
  Tensor part(Tensor x) const {
    for (size_t i = 0; i < starts.size(); ++i) {
      const int64_t last = starts[i] + (counts[i] - 1) * steps[i];
      const auto axis = static_cast<int64_t>(i);
      x = steps[i] > 0 ? x.slice(axis, starts[i], last + 1, steps[i])
                       : x.slice(axis, last, starts[i] + 1, -steps[i]);
    }
    return x;
  }
  Ints turned() const {
    Ints axes;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] < 0) axes.push_back(static_cast<int64_t>(i));
    }
    return axes;
  }
};

Ranges ranges_of(const Node& node) {
  return {node.attr_ints("slice_starts", {}), node.attr_ints("slice_steps", {}),
          node.attr_ints("slice_counts", {})};
}

const char* refuses_slice(const Node& node) {
  if (!node.has_attr("slice_starts")) return "the ranges are not known before the run";
  for (const int64_t count : node.attr_ints("slice_counts", {})) {
    if (count == 0) return "the part is empty";
  }
  return "";
}

Run make_slice(const Node& node) {
  const Ranges ranges = ranges_of(node);
  return [ranges](const Tensors& in, const Tensors& out) {
    out[0].copy_(at::flip(ranges.part(in[0]), ranges.turned()));
  };
}

Run make_slice_gradient(const Node& node) {
  const Ranges ranges = ranges_of(node);
  return [ranges](const Tensors& in, const Tensors& out) {
    out[0].zero_();
    ranges.part(out[0]).copy_(at::flip(in[0], ranges.turned()));
  };
}

const char* refuses_pad(const Node& node) {
  if (node.attr_text("mode", "constant") != "constant") return "only constants are implemented";
  if (node.known_ints(1).empty()) return "the pads are not known before the run";
  if (node.has_input(2) && !node.is_known(2)) return "the constant is not known";
  return node.has_input(3) && !node.is_known(3) ? "the axes are not known before the run" : "";
}

Run make_pad(const Node& node) {
  const Ints given = node.known_ints(1);
  Ints axes = node.known_ints(3);
  const auto rank = static_cast<size_t>(node.input_rank(0));
  for (size_t i = 0; axes.size() < given.size() / 2; ++i) axes.push_back(static_cast<int64_t>(i));
  // The last dimension first, begin before end.
  Ints pairs(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + node.input_rank(0) : axes[i]);
    pairs[2 * (rank - 1 - axis)] = given[i];
    pairs[2 * (rank - 1 - axis) + 1] = given[i + axes.size()];
  }
  const double value = node.known_number(2, 0);
  return [pairs, value](const Tensors& in, const Tensors& out) {
    out[0].copy_(at::constant_pad_nd(in[0], pairs, value));
  };
}

Run make_expand(const Node& node) {
  const Ints dims = node.output_dims(0);
  return [dims](const Tensors& in, const Tensors& out) { out[0].copy_(in[0].expand(dims)); };
}

const char* refuses_tile(const Node& node) {
  return node.is_known(1) ? "" : "the repeats are not known before the run";
}

Run make_tile(const Node& node) {
  const Ints repeats = node.known_ints(1);
  return [repeats](const Tensors& in, const Tensors& out) { out[0].copy_(in[0].repeat(repeats)); };
}

Run make_split(const Node& node) {
  const int64_t axis = node.attr_axis(0, node.input_rank(0));
  return [axis](const Tensors& in, const Tensors& out) {
    int64_t begin = 0;
    for (const Tensor& part : out) {
      if (!part.defined()) continue;
      part.copy_(in[0].narrow(axis, begin, part.size(axis)));
      begin += part.size(axis);
    }
  };
}

const char* refuses_split(const Node& node) {
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (!node.has_output(i)) return "a part is not wanted";
  }
  return "";
}

// Counted from the end where they are negative, as ONNX has it.
Tensor whole_indices(const Tensor& indices, int64_t size) {
  const Tensor wide = indices.to(at::kLong);
  return at::where(wide.lt(0), wide.add(size), wide);
}

Run make_gather(const Node& node) {
  const int64_t axis = node.attr_axis(0, node.input_rank(0));
  return [axis](const Tensors& in, const Tensors& out) {
    const Tensor indices = whole_indices(in[1], in[0].size(axis)).reshape({-1});
    out[0].copy_(at::index_select(in[0], axis, indices).view(out[0].sizes()));
  };
}

Run make_gather_elements(const Node& node) {
  const int64_t axis = node.attr_axis(0, node.input_rank(0));
  return [axis](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    at::gather_out(y, in[0], axis, whole_indices(in[1], in[0].size(axis)));
  };
}

const char* refuses_scatter(const Node& node) {
  const std::string_view reduction = node.attr_text("reduction", "none");
  if (reduction != "add" && reduction != "none") return "only sums and copies are implemented";
  return node.input_rank(1) == 0 ? "indices of no dimension" : "";
}

// Rows of x, named by the tuples of indices, take the updates in their order.
Run make_scatter_nd(const Node& node) {
  const bool adds = node.attr_text("reduction", "none") == "add";
  const Ints x = node.input_dims(0);
  const int64_t depth = node.input_dims(1).back();
  int64_t rows = 1;
  for (int64_t i = 0; i < depth; ++i) rows *= x[static_cast<size_t>(i)];
  return [=](const Tensors& in, const Tensors& out) {
    const Tensor tuples = in[1].to(at::kLong).reshape({-1, depth});
    Tensor at_row = at::zeros({tuples.size(0)}, tuples.options());
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t size = x[static_cast<size_t>(i)];
      at_row.mul_(size).add_(whole_indices(tuples.select(1, i), size));
    }
    Tensor y = out[0];
    y.copy_(in[0]);
    Tensor all = y.view({rows, -1});
    const Tensor updates = in[2].reshape({tuples.size(0), -1});
    if (adds) {
      all.index_add_(0, at_row, updates);
    } else {
      all.index_copy_(0, at_row, updates);
    }
  };
}

const char* refuses_trilu(const Node& node) {
  return node.has_input(1) && !node.is_known(1) ? "the diagonal is not known before the run" : "";
}

Run make_trilu(const Node& node) {
  const bool upper = node.attr_int("upper", 1) != 0;
  const auto diagonal = static_cast<int64_t>(node.known_number(1, 0));
  return [=](const Tensors& in, const Tensors& out) {
    Tensor y = out[0];
    if (upper) {
      at::triu_out(y, in[0], diagonal);
    } else {
      at::tril_out(y, in[0], diagonal);
    }
  };
}

// Between depth and the two dimensions behind it, by orders of a tensor with six.
template <bool kToSpace>
Run make_depth_and_space(const Node& node) {
  const int64_t block = node.attr_int("blocksize", 1);
  const Ints x = node.input_dims(0);
  const bool columns_first = node.attr_text("mode", "DCR") == "DCR";
  Ints cut = {x[0], x[1], x[2] / block, block, x[3] / block, block};
  Ints order = {0, 3, 5, 1, 2, 4};
  if (kToSpace) {
    const int64_t depth = x[1] / (block * block);
    cut = columns_first ? Ints{x[0], block, block, depth, x[2], x[3]}
                        : Ints{x[0], depth, block, block, x[2], x[3]};
    order = columns_first ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3};
  }
  return [cut, order](const Tensors& in, const Tensors& out) {
    out[0].copy_(in[0].view(cut).permute(order).reshape(out[0].sizes()));
  };
}

constexpr Operator kMoves[] = {
    {"Concat", takes_all, make_concat},
    {"DepthToSpace", takes_all, make_depth_and_space<true>},
    {"Expand", takes_all, make_expand},
    {"Gather", takes_all, make_gather},
    {"GatherElements", takes_all, make_gather_elements},
    {"Pad", refuses_pad, make_pad},
    {"ScatterND", refuses_scatter, make_scatter_nd},
    {"Slice", refuses_slice, make_slice},
    {"SliceGrad", refuses_slice, make_slice_gradient},
    {"SpaceToDepth", takes_all, make_depth_and_space<false>},
    {"Split", refuses_split, make_split},
    {"Tile", refuses_tile, make_tile},
    {"Transpose", takes_all, make_transpose},
    {"Trilu", refuses_trilu, make_trilu},
};

}  // namespace

std::span<const Operator> layout_operators() {
  return kMoves;
}

}  // namespace trainyard::torch_plugin
