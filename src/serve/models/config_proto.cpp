// Configurations as messages of open_inference.proto: their text form, and which fields they have.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include "base/error.h"
#include "serve/models/model_config.h"
#include "serve/protocol/message_types.h"

namespace trainyard::serve {
namespace {

namespace pb = google::protobuf;

Json fields_json(const pb::Message& message);

// One value of a field; `index` is below 0 for a field that is not repeated.
Json field_value(const pb::Message& message, const pb::FieldDescriptor& field, int index) {
  const pb::Reflection& of = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return one ? of.GetBool(message, &field) : of.GetRepeatedBool(message, &field, index);
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return one ? of.GetInt32(message, &field) : of.GetRepeatedInt32(message, &field, index);
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return one ? of.GetInt64(message, &field) : of.GetRepeatedInt64(message, &field, index);
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return uint64_t{one ? of.GetUInt32(message, &field)
                          : of.GetRepeatedUInt32(message, &field, index)};
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return one ? of.GetUInt64(message, &field) : of.GetRepeatedUInt64(message, &field, index);
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return double{one ? of.GetFloat(message, &field)
                        : of.GetRepeatedFloat(message, &field, index)};
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? of.GetDouble(message, &field) : of.GetRepeatedDouble(message, &field, index);
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return (one ? of.GetEnum(message, &field) : of.GetRepeatedEnum(message, &field, index))
          ->name();
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return one ? of.GetString(message, &field) : of.GetRepeatedString(message, &field, index);
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return fields_json(one ? of.GetMessage(message, &field)
                             : of.GetRepeatedMessage(message, &field, index));
  }
  return {};
}

// Keys of a map are texts in JSON.
std::string key_text(const Json& key) {
  return key.is_string() ? key.as_string() : key.dump(-1);
}

// Unlike protobuf's own JSON, which writes 64-bit numbers as texts, as clients of Triton expect it.
Json fields_json(const pb::Message& message) {
  Json out = Json::object();
  std::vector<const pb::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    Json& value = out[field->name()];
    if (!field->is_repeated()) {
      value = field_value(message, *field, -1);
      continue;
    }
    value = field->is_map() ? Json::object() : Json::array();
    const int count = message.GetReflection()->FieldSize(message, field);
    for (int i = 0; i < count; ++i) {
      if (!field->is_map()) {
        value.push_back(field_value(message, *field, i));
        continue;
      }
      const pb::Message& entry = message.GetReflection()->GetRepeatedMessage(message, field, i);
      value[key_text(field_value(entry, *entry.GetDescriptor()->map_key(), -1))] =
          field_value(entry, *entry.GetDescriptor()->map_value(), -1);
    }
  }
  return out;
}

// The first problem of a text; what it only warns of are fields that are not known.
class Problems final : public pb::io::ErrorCollector {
 public:
  void AddError(int line, pb::io::ColumnNumber column, const std::string& text) override {
    if (problem_.empty()) problem_ = fmt::format("{}:{}: {}", line + 1, column + 1, text);
  }
  void AddWarning(int /*line*/, pb::io::ColumnNumber /*column*/, const std::string& text) override {
    warnings_.push_back(text);
  }
  const std::string& problem() const { return problem_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::string problem_;
  std::vector<std::string> warnings_;
};

std::unique_ptr<pb::Message> empty_config() {
  return make_message(*message_file().FindMessageTypeByName("ModelConfig"));
}

}  // namespace

TextConfig parse_text_config(std::string_view text, std::string_view origin) {
  constexpr int kMostDepth = 32;
  const auto message = empty_config();
  Problems problems;
  pb::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMostDepth);
  parser.RecordErrorsTo(&problems);
  TY_REQUIRE(parser.ParseFromString(std::string(text), message.get()), "{}:{}", origin,
             problems.problem());
  return {fields_json(*message), problems.warnings()};
}

Json known_config(const Json& tree) {
  const auto message = empty_config();
  pb::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!pb::util::JsonStringToMessage(tree.dump(-1), message.get(), options).ok()) {
    return Json::object();
  }
  return fields_json(*message);
}

}  // namespace trainyard::serve
