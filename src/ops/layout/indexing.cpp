#include "ops/layout/indexing.h"

#include <algorithm>

#include "ops/math/scalar_functions.h"
#include "tensor/dispatch.h"

namespace trainyard::ops {
namespace {

struct Overwrite {
  template <typename A>
  static A apply(A, A update) {
    return update;
  }
};

struct Sum {
  template <typename A>
  static A apply(A old, A update) {
    return old + update;
  }
};

struct Product {
  template <typename A>
  static A apply(A old, A update) {
    return old * update;
  }
};

struct Largest {
  template <typename A>
  static A apply(A old, A update) {
    return std::max(old, update);
  }
};

struct Smallest {
  template <typename A>
  static A apply(A old, A update) {
    return std::min(old, update);
  }
};

template <typename Rule>
void update_elements(const TensorView& from, int64_t from_at, const TensorView& to, int64_t to_at,
                     int64_t count) {
  for_type(to.dtype, [&]<typename T>(T) {
    using A = std::conditional_t<kIsFloat<T>, double, Whole>;
    for (int64_t i = 0; i < count; ++i) {
      T& element = to.as<T>()[to_at + i];
      const A update = from.as<const T>()[from_at + i];
      element = static_cast<T>(Rule::apply(static_cast<A>(element), update));
    }
  });
}

}  // namespace

void require_indices(const TensorType& indices) {
  TY_REQUIRE(is_integer(indices.dtype), "indices are {}, expected integers",
             dtype_name(indices.dtype));
}

void require_updates(const NodeView& node, const Shape& expected) {
  const TensorType& data = node.input_type(0);
  const TensorType& updates = node.input_type(2);
  TY_REQUIRE(updates.dtype == data.dtype, "updates are {}, data are {}", dtype_name(updates.dtype),
             dtype_name(data.dtype));
  const bool open = !updates.shape.is_static() || !expected.is_static();
  TY_REQUIRE(open || updates.shape == expected, "updates have shape {}, expected {}",
             updates.shape.to_string(), expected.to_string());
}

ScatterUpdate scatter_update(const NodeView& node) {
  const std::string reduction = node.attr_text("reduction", "none");
  if (reduction == "none") return update_elements<Overwrite>;
  if (reduction == "add") return update_elements<Sum>;
  if (reduction == "mul") return update_elements<Product>;
  if (reduction == "max") return update_elements<Largest>;
  if (reduction == "min") return update_elements<Smallest>;
  throw_error("reduction '{}' is not one of none, add, mul, max, min", reduction);
}

}  // namespace trainyard::ops
