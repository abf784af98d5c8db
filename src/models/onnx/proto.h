// The protobuf classes of ONNX. Included by .cpp files of this folder only, and by few of them: it
// costs two seconds of compilation each.
#pragma once

#include <onnx/onnx_pb.h>
