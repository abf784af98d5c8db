#include "serve/protocol/message_types.h"

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "base/error.h"
#include "serve/embedded.h"

namespace trainyard::serve {
namespace {

namespace pb = google::protobuf;

// The factory locks, so it may be asked from several threads.
struct MessageTypes {
  pb::DescriptorPool pool;
  pb::DynamicMessageFactory factory;
  const pb::FileDescriptor* file = nullptr;

  MessageTypes() {
    const std::string_view text = embedded_text(embedded_files(), "open_inference.proto");
    pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
    pb::io::Tokenizer tokenizer(&stream, nullptr);
    pb::compiler::Parser parser;
    pb::FileDescriptorProto description;
    description.set_name("open_inference.proto");
    TY_CHECK(parser.Parse(&tokenizer, &description),
             "the protocol's own description cannot be read");
    file = pool.BuildFile(description);
    TY_CHECK(file != nullptr, "the protocol's own description is not right");
  }
};

MessageTypes& message_types() {
  static MessageTypes types;
  return types;
}

}  // namespace

const pb::FileDescriptor& message_file() {
  return *message_types().file;
}

std::unique_ptr<pb::Message> make_message(const pb::Descriptor& type) {
  return std::unique_ptr<pb::Message>(message_types().factory.GetPrototype(&type)->New());
}

}  // namespace trainyard::serve
