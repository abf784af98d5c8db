// Reorder of bytes: between channels last and row-major, and any other two layouts.
#include <algorithm>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/int8/byte_layout.h"
#include "engine/kernels/native/parallel.h"
#include "tensor/layout_copy.h"

namespace trainyard::kernels::native {
namespace {

// Turns a matrix of `rows` x `columns` bytes.
void turn(const uint8_t* from, int64_t rows, int64_t columns, uint8_t* to) {
  constexpr int64_t kTile = 16;
  for (int64_t r = 0; r < rows; r += kTile) {
    for (int64_t c = 0; c < columns; c += kTile) {
      for (int64_t j = c; j < std::min(columns, c + kTile); ++j) {
        for (int64_t i = r; i < std::min(rows, r + kTile); ++i) {
          to[j * rows + i] = from[i * columns + j];
        }
      }
    }
  }
}

class ByteReorder final : public Kernel {
 public:
  ByteReorder(const NodeView& node, const NodeLayouts& layouts)
      : type_(node.input_type(0)), from_(layouts.inputs[0]), to_(layouts.outputs[0]) {
    const Layout last = channels_last(type_.shape);
    const auto is = [&](const Layout& layout, const Layout& other) {
      return same_placement(layout, other, type_.shape);
    };
    if (type_.shape.rank() == 4) {
      images_ = type_.shape[0];
      channels_ = type_.shape[1];
      pixels_ = type_.shape[2] * type_.shape[3];
    }
    gathers_ = type_.shape.rank() == 4 && is(from_, Layout()) && is(to_, last);
    spreads_ = type_.shape.rank() == 4 && is(from_, last) && is(to_, Layout());
  }

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<uint8_t>();
    auto* y = args.outputs[0].as<uint8_t>();
    if (!gathers_ && !spreads_) return copy_between_layouts(type_, x, from_, y, to_);
    const int64_t bytes = pixels_ * channels_;
    parallel_for(images_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        turn(x + i * bytes, gathers_ ? channels_ : pixels_, gathers_ ? pixels_ : channels_,
             y + i * bytes);
      }
    });
  }

 private:
  TensorType type_;
  Layout from_;
  Layout to_;
  int64_t images_ = 1;
  int64_t channels_ = 1;
  int64_t pixels_ = 1;
  bool gathers_ = false;  // channels become neighbors
  bool spreads_ = false;
};

}  // namespace

extern const KernelDef kByteReorder = {
    .op = "Reorder",
    .library = "native",
    .refuses = [](const NodeView& node) -> std::string_view {
      if (dtype_size(node.input_type(0).dtype) != 1) return "only bytes are implemented";
      return "";
    },
    .create_in = [](const NodeView& node, const NodeLayouts& layouts) -> std::unique_ptr<Kernel> {
      return std::make_unique<ByteReorder>(node, layouts);
    }};

}  // namespace trainyard::kernels::native
