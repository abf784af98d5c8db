#include "engine/kernels/onednn/dnnl.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace trainyard::kernels::onednn {
namespace {

dnnl::memory::data_type to_data_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return dnnl::memory::data_type::f32;
    case DType::kI32:
      return dnnl::memory::data_type::s32;
    case DType::kI8:
      return dnnl::memory::data_type::s8;
    case DType::kU8:
      return dnnl::memory::data_type::u8;
    default:
      break;
  }
  TY_CHECK(false, "{} reached oneDNN", dtype_name(dtype));
  return dnnl::memory::data_type::undef;
}

}  // namespace

const dnnl::engine& engine() {
  // One for the process: primitives of different engines cannot share memory.
  static const dnnl::engine kEngine(dnnl::engine::kind::cpu, 0);
  return kEngine;
}

dnnl::stream& stream() {
  // A stream may be used by one thread at a time, and graphs run on several.
  thread_local dnnl::stream of_thread(engine());
  return of_thread;
}

dnnl::memory::dims to_dims(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

Desc to_desc(const TensorType& type, const Layout& layout) {
  // Filled in by hand: the constructors check strides without knowing of blocks.
  Desc desc = any_desc(type);
  dnnl_memory_desc_t& raw = desc.data;
  raw.format_kind = dnnl_blocked;
  dnnl_blocking_desc_t& blocking = raw.format_desc.blocking;
  const std::vector<int64_t> strides = layout.outer_strides(type.shape);
  std::copy(strides.begin(), strides.end(), blocking.strides);
  blocking.inner_nblks = static_cast<int>(layout.blocks().size());
  for (size_t i = 0; i < layout.blocks().size(); ++i) {
    blocking.inner_blks[i] = layout.blocks()[i].size;
    blocking.inner_idxs[i] = layout.blocks()[i].axis;
  }
  for (int axis = 0; axis < raw.ndims; ++axis) {
    const int64_t block = layout.block_of(axis);
    // The last block is whole in memory, whatever the tensor needs of it.
    raw.padded_dims[axis] = (raw.dims[axis] + block - 1) / block * block;
  }
  return desc;
}

Desc to_desc(const TensorType& type) {
  return to_desc(type, Layout());
}

Desc any_desc(const TensorType& type) {
  return {to_dims(type.shape.dims()), to_data_type(type.dtype), dnnl::memory::format_tag::any};
}

Desc any_desc(const dnnl::memory::dims& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

Layout to_layout(const Desc& desc) {
  const dnnl_memory_desc_t& raw = desc.data;
  const dnnl_blocking_desc_t& blocking = raw.format_desc.blocking;
  std::vector<InnerBlock> blocks;
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    blocks.push_back({blocking.inner_idxs[i], blocking.inner_blks[i]});
  }
  Layout layout({blocking.strides, blocking.strides + raw.ndims}, std::move(blocks));
  const Shape shape(std::vector<int64_t>(raw.dims, raw.dims + raw.ndims));
  // Plain is the empty layout, so that equal layouts compare equal.
  if (layout.blocks().empty() && layout.strides() == shape.strides()) return {};
  return layout;
}

dnnl::primitive_attr user_scratch_attr() {
  dnnl::primitive_attr attr;
  // From our plan: otherwise the library allocates in every primitive.
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

bool append_activation(dnnl::post_ops& ops, std::string_view activation, float alpha, float beta) {
  using dnnl::algorithm;
  if (activation.empty()) return true;
  if (activation == "HardSigmoid") {
    ops.append_eltwise(1.0F, algorithm::eltwise_linear, alpha, beta);
    ops.append_eltwise(1.0F, algorithm::eltwise_clip, 0.0F, 1.0F);
    return true;
  }
  static constexpr std::array<std::pair<std::string_view, algorithm>, 10> kAlgorithms = {
      {{"Relu", algorithm::eltwise_relu},
       {"LeakyRelu", algorithm::eltwise_relu},
       {"Clip", algorithm::eltwise_clip},
       {"Sigmoid", algorithm::eltwise_logistic},
       {"Tanh", algorithm::eltwise_tanh},
       {"Elu", algorithm::eltwise_elu},
       {"Gelu", algorithm::eltwise_gelu_erf},
       {"HardSwish", algorithm::eltwise_hardswish},
       {"Swish", algorithm::eltwise_swish},
       {"Softplus", algorithm::eltwise_soft_relu}}};
  const auto* found = std::find_if(kAlgorithms.begin(), kAlgorithms.end(),
                                   [&](const auto& row) { return row.first == activation; });
  if (found == kAlgorithms.end()) return false;
  // Its first attribute says which of two formulas.
  const bool by_tanh = activation == "Gelu" && alpha != 0;
  ops.append_eltwise(1.0F, by_tanh ? algorithm::eltwise_gelu_tanh : found->second, alpha, beta);
  return true;
}

// Implementations with "ref" in their names are plain loops, slower than kernels of our own.
bool is_fast(std::string_view implementation) {
  return implementation.find("ref") == std::string_view::npos;
}

void BoundPrimitives::add(dnnl::primitive primitive, Arguments arguments) {
  Call call{std::move(primitive), std::move(arguments), {}};
  // The C interface wants an array; built once, so that run() does not allocate.
  for (const auto& [index, memory] : call.arguments) call.raw.push_back({index, memory.get()});
  calls_.push_back(std::move(call));
}

void BoundPrimitives::run() {
  for (const Call& call : calls_) {
    const dnnl_status_t status = dnnl_primitive_execute(
        call.primitive.get(), stream().get(), static_cast<int>(call.raw.size()), call.raw.data());
    TY_CHECK(status == dnnl_success, "oneDNN returned status {}", static_cast<int>(status));
  }
}

dnnl::memory PackedConstant::memory() const {
  return memory_at(desc, const_cast<float*>(data.data()));
}

PackedConstant pack_constant(const Desc& from, const void* data, const Desc& to) {
  PackedConstant packed;
  packed.desc = to;
  packed.data = native::PackedBuffer(static_cast<int64_t>(to.get_size() / sizeof(float)));
  dnnl::memory source = memory_at(from, const_cast<void*>(data));
  dnnl::memory target = packed.memory();
  dnnl::reorder(source, target).execute(stream(), source, target);
  stream().wait();
  return packed;
}

}  // namespace trainyard::kernels::onednn
