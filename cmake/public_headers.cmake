# The public face: what programs may include as <trainyard/…>, and all that is installed of it beside the C header
# (api/c/trainyard.h): these headers include one another and no others, which a test checks. docs/library.md says what each is for.
set(TY_PUBLIC_HEADERS
  api/model.h
  api/prediction/prediction.h
  api/session.h
  api/training/training.h
  base/error.h
  ir/attribute.h
  ir/graph.h
  ir/initializer.h
  tensor/dtype.h
  tensor/half.h
  tensor/narrow.h
  tensor/npy.h
  tensor/shape.h
  tensor/tensor.h)
