// Texts of tensors that are needed for a while only.
#pragma once

namespace trainyard {

// What text_number() sees first on this thread while one lives is forgotten when it ends: a server
// takes texts from strangers for as long as it runs. Tensors of texts that were made meanwhile mean
// nothing afterwards. There is one at a time: others wait.
class TextScope {
 public:
  TextScope();
  ~TextScope();
  TextScope(const TextScope&) = delete;
  TextScope& operator=(const TextScope&) = delete;
};

}  // namespace trainyard
