// Messages of the protocol, of types made at run time from its embedded description, so that no
// generated code is needed.
#pragma once

#include <memory>

namespace google::protobuf {
class Descriptor;
class FileDescriptor;
class Message;
}  // namespace google::protobuf

namespace trainyard::serve {

// What is described; made when it is first asked for.
const google::protobuf::FileDescriptor& message_file();

// An empty message of a type of that file. From any thread.
std::unique_ptr<google::protobuf::Message> make_message(const google::protobuf::Descriptor& type);

}  // namespace trainyard::serve
