// What PyYAML, a reader that is not ours, makes of YAML texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/file.h"
#include "base/json.h"
#include "support/temporary_folder.h"

namespace trainyard {

// One value per text, or no value where Python has no yaml module. Throws Error with Python's
// message in it if PyYAML refuses one.
inline std::optional<Json::Array> read_by_python(const std::vector<std::string>& texts) {
  constexpr const char* kProgram =
      "import sys, json\n"
      "try: import yaml\n"
      "except ImportError: sys.exit(77)\n"
      "texts = json.load(open(sys.argv[1], encoding='utf-8'))\n"
      "json.dump([yaml.safe_load(text) for text in texts], sys.stdout)\n";
  const TemporaryFolder folder("python_yaml");
  write_file(folder / "texts.json", Json::array_of(texts).dump(-1));
  const std::vector<std::string> command = {"python3", "-c", kProgram,
                                            (folder / "texts.json").string()};
  const ChildProcess python(command, {.log = folder / "log"});
  std::string answer;
  while (python.read_some(answer, 1000)) {
  }
  const int code = python.wait();
  if (code == 77) return std::nullopt;
  TY_REQUIRE(code == 0, "PyYAML refused a text: {}", read_file(folder / "log"));
  return Json::parse(answer, "PyYAML").items();
}

}  // namespace trainyard
