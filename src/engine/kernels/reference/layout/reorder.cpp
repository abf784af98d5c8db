// Reorder between any two layouts, element by element.
#include "engine/kernels/reference/reference.h"
#include "tensor/layout_copy.h"

namespace trainyard::kernels::reference {
namespace {

class Reorder final : public Kernel {
 public:
  Reorder(const NodeView& node, const NodeLayouts& layouts)
      : type_(node.input_type(0)), from_(layouts.inputs[0]), to_(layouts.outputs[0]) {}

  void run(const KernelArgs& args) const override {
    copy_between_layouts(type_, args.inputs[0].data, from_, args.outputs[0].data, to_);
  }

 private:
  TensorType type_;
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
