// Operators whose facts already say how they are computed, because shape arithmetic needs it.
#include "kernels/reference/reference.h"
#include "ops/op_def.h"

namespace trainyard::kernels::reference {
namespace {

ops::Routine shared(const NodeView& node) {
  const ops::OpDef& op = ops::op_of(node);
  TY_CHECK(op.routine != nullptr, "operator {} has no routine", op.name);
  return op.routine(node);
}

}  // namespace

#define SHARED(name) extern const KernelDef k##name = routine_kernel<shared>(#name);
SHARED(Abs)
SHARED(Acos)
SHARED(Acosh)
SHARED(Add)
SHARED(And)
SHARED(Asin)
SHARED(Asinh)
SHARED(Atan)
SHARED(Atanh)
SHARED(BitShift)
SHARED(Ceil)
SHARED(Celu)
SHARED(Clip)
SHARED(Concat)
SHARED(Constant)
SHARED(Cos)
SHARED(Cosh)
SHARED(Div)
SHARED(Elu)
SHARED(Equal)
SHARED(Erf)
SHARED(Exp)
SHARED(Flatten)
SHARED(Floor)
SHARED(Gather)
SHARED(Greater)
SHARED(GreaterOrEqual)
SHARED(HardSigmoid)
SHARED(HardSwish)
SHARED(Identity)
SHARED(IsInf)
SHARED(IsNaN)
SHARED(LeakyRelu)
SHARED(Less)
SHARED(LessOrEqual)
SHARED(Log)
SHARED(Mish)
SHARED(Mod)
SHARED(Mul)
SHARED(Neg)
SHARED(Not)
SHARED(Or)
SHARED(PRelu)
SHARED(Pow)
SHARED(Reciprocal)
SHARED(Relu)
SHARED(Reshape)
SHARED(Round)
SHARED(Selu)
SHARED(Shape)
SHARED(Shrink)
SHARED(Sigmoid)
SHARED(Sign)
SHARED(Sin)
SHARED(Sinh)
SHARED(Size)
SHARED(Slice)
SHARED(Softplus)
SHARED(Softsign)
SHARED(Sqrt)
SHARED(Sub)
SHARED(Tan)
SHARED(Tanh)
SHARED(ThresholdedRelu)
SHARED(Transpose)
SHARED(Xor)
#undef SHARED

}  // namespace trainyard::kernels::reference
