# The public face: what programs may include as <trainyard/…>. docs/library.md says what each is for, and a test compiles
# every one of them alone.
set(TY_PUBLIC_HEADERS
  analysis/compare.h
  analysis/layers.h
  analysis/memory.h
  analysis/receptive_field.h
  base/error.h
  ir/graph.h
  models/model.h
  network/network.h
  onnx_io/check.h
  onnx_io/export.h
  onnx_io/import.h
  ops/builder.h
  predict/catalog.h
  predict/predict.h
  report/document.h
  report/html.h
  runtime/bench.h
  runtime/compiler.h
  runtime/executable.h
  tensor/npy.h
  tensor/shape.h
  tensor/tensor.h
  train/trainer.h
  train/training_step.h)
