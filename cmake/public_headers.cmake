# The public face: what programs may include as <trainyard/…>. docs/library.md says what each is for, and a test compiles
# every one of them alone.
set(TY_PUBLIC_HEADERS
  analysis/compare.h
  analysis/layers.h
  analysis/memory.h
  analysis/receptive_field.h
  api/session.h
  base/error.h
  ir/graph.h
  models/zoo/model.h
  models/network.h
  models/onnx/check.h
  models/onnx/export.h
  models/onnx/import.h
  ops/builder.h
  cluster/predict/catalog.h
  cluster/predict/predict.h
  report/document.h
  report/html.h
  engine/bench.h
  engine/compiler.h
  engine/executable.h
  tensor/npy.h
  tensor/shape.h
  tensor/tensor.h
  train/trainer.h
  train/training_step.h)
