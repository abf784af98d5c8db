// Requests that are a picture and nothing else, and what comes back: its labels or boxes, or the
// picture with them drawn on it.
#pragma once

#include <string_view>

#include "http/http.h"
#include "serve/models/network.h"
#include "serve/protocol/infer_request.h"

namespace trainyard::serve {

// What somebody with curl wants to see: the best five classes of each output that has classes, and
// other outputs as they are.
InferRequest best_of_each(const Network& network);

// A JPEG or PNG file, by its first bytes.
bool is_picture(std::string_view body);

struct PictureRequest {
  Body picture;
  bool drawn = false;      // as a PNG picture
  double threshold = 0.5;  // least score of a box
};

// What the header Accept and a query as "threshold=0.3" ask for. Throws RequestError.
PictureRequest read_question(Body picture, std::string_view accept, std::string_view query);

// A response of the protocol. Of a detector: boxes in pixels of the picture (left, top, right,
// bottom), labels by name and scores, the best first. Of a classifier: the best five classes of
// each output that has classes; other outputs as they are.
HttpResponse answer_question(const PictureRequest& question, const InferResult& result,
                             const Network& network);

}  // namespace trainyard::serve
