#include "serve/pictures.h"

#include <algorithm>

namespace trainyard::serve {

bool is_picture(std::string_view body) {
  return body.starts_with("\xff\xd8\xff") || body.starts_with("\x89PNG\r\n");
}

void prefer_classes(const ModelVersion& model, InferRequest& request) {
  constexpr int64_t kBest = 5;
  request.all_binary = false;
  for (const TensorSpec& spec : model.network().outputs()) {
    const bool classes = spec.dims.size() == 2 && spec.dims[1] > 1 && is_float(spec.dtype);
    request.outputs.push_back(
        {.name = spec.name, .classes = classes ? std::min(kBest, spec.dims[1]) : 0});
  }
}

}  // namespace trainyard::serve
