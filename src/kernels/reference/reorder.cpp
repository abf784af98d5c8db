// Reorder between any two layouts, element by element.
#include <cstring>

#include "kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class Reorder final : public Kernel {
 public:
  Reorder(const NodeView& node, const NodeLayouts& layouts)
      : shape_(node.input_shape(0)),
        element_(static_cast<size_t>(dtype_size(node.input_type(0).dtype))),
        from_(layouts.inputs[0]),
        to_(layouts.outputs[0]) {}

  void run(const KernelArgs& args) const override {
    std::memset(args.outputs[0].data, 0, static_cast<size_t>(to_.span_elements(shape_)) * element_);
    std::vector<int64_t> index(static_cast<size_t>(shape_.rank()), 0);
    for (int64_t i = 0; i < shape_.num_elements(); ++i) {
      int64_t rest = i;
      for (size_t axis = index.size(); axis-- > 0;) {
        index[axis] = rest % shape_[static_cast<int64_t>(axis)];
        rest /= shape_[static_cast<int64_t>(axis)];
      }
      std::memcpy(args.outputs[0].as<std::byte>() + to_.offset(shape_, index) * element_,
                  args.inputs[0].as<std::byte>() + from_.offset(shape_, index) * element_,
                  element_);
    }
  }

 private:
  Shape shape_;
  size_t element_;
  Layout from_;
  Layout to_;
};

}  // namespace

// Without layouts it copies.
extern const KernelDef kReorder = {
    .op = "Reorder",
    .library = "reference",
    .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
      return std::make_unique<Reorder>(node, NodeLayouts{.inputs = {{}}, .outputs = {{}}});
    },
    .create_in = [](const NodeView& node, const NodeLayouts& layouts) -> std::unique_ptr<Kernel> {
      return std::make_unique<Reorder>(node, layouts);
    }};

}  // namespace trainyard::kernels::reference
