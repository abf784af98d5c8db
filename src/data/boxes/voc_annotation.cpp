#include <algorithm>
#include <cmath>
#include <pugixml.hpp>

#include "base/error.h"
#include "base/file.h"
#include "data/boxes/voc.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

constexpr int64_t kLargestAnnotation = int64_t{64} << 20U;
// Coordinates beyond any picture, still exact as floats.
constexpr double kFarthest = 1 << 24;

std::string without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

std::string text_of(const pugi::xml_node& parent, const char* name) {
  return without_blanks(parent.child(name).text().get());
}

VocObject read_object(const pugi::xml_node& node, std::string_view origin, size_t index) {
  const std::string where = fmt::format("{}: object {}", origin, index + 1);
  VocObject object;
  object.name = text_of(node, "name");
  TY_REQUIRE(!object.name.empty(), "{} has no <name>", where);
  const pugi::xml_node box = node.child("bndbox");
  TY_REQUIRE(box, "{} ('{}') has no <bndbox>", where, object.name);
  const auto number = [&](const char* name) {
    return parse_real(text_of(box, name), -kFarthest, kFarthest,
                      fmt::format("{} ('{}'), <{}>", where, object.name, name));
  };
  object.xmin = number("xmin");
  object.ymin = number("ymin");
  object.xmax = number("xmax");
  object.ymax = number("ymax");
  const std::string difficult = text_of(node, "difficult");
  object.difficult = !difficult.empty() && difficult != "0";
  return object;
}

}  // namespace

VocAnnotation read_voc_annotation(std::string_view xml, std::string_view origin) {
  pugi::xml_document document;
  // Neither comments nor document types are of interest, so they are not kept.
  const pugi::xml_parse_result parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default);
  TY_REQUIRE(parsed, "{}: no XML at byte {}: {}", origin, parsed.offset, parsed.description());
  const pugi::xml_node root = document.child("annotation");
  TY_REQUIRE(root, "{}: expected <annotation> as Pascal VOC has it, found <{}>", origin,
             document.document_element().name());
  VocAnnotation annotation;
  annotation.filename = text_of(root, "filename");
  for (const pugi::xml_node& node : root.children("object")) {
    annotation.objects.push_back(read_object(node, origin, annotation.objects.size()));
  }
  return annotation;
}

VocAnnotation read_voc_file(const std::filesystem::path& path) {
  return read_voc_annotation(read_file(path, kLargestAnnotation), path.string());
}

std::vector<std::filesystem::path> voc_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".xml" && entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace trainyard::data
