// show --proto in programs that are built without Protocol Buffers, as those of wheels: refused.
#include "recordpipe/base/error.h"
#include "tools/tfrecord/text/proto_messages.h"

namespace recordpipe {

struct ProtoMessages::State {
  std::string type;
};

ProtoMessages::ProtoMessages(const std::string& path, const std::string& /*type*/,
                             const std::vector<std::string>& /*folders*/) {
  throw Error({.kind = ErrorKind::unsupported,
               .path = path,
               .reason = "this program was built without Protocol Buffers, as those of all wheels",
               .hint = "build it with libprotobuf-dev, or decode the output of show --format raw "
                       "with protoc --decode"});
}
ProtoMessages::~ProtoMessages() = default;

// Never called: there are no objects.
const std::string& ProtoMessages::type() const { return state_->type; }
bool ProtoMessages::has_field(const std::string&) const { return false; }
std::string ProtoMessages::json(std::span<const std::byte>, size_t&) const { return {}; }
std::string ProtoMessages::text(std::span<const std::byte>) const { return {}; }
ProtoMessages::Features ProtoMessages::features(std::span<const std::byte>) const { return {}; }

}  // namespace recordpipe
