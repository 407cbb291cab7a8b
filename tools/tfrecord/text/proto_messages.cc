#include "tools/tfrecord/text/proto_messages.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/json_util.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"

namespace recordpipe {
namespace {

namespace pb = google::protobuf;

// Keeps the first error.
class FirstError : public pb::compiler::MultiFileErrorCollector {
 public:
  void AddError(const std::string& file, int line, int column,
                const std::string& message) override {
    if (!text.empty()) return;
    text = file;
    if (line >= 0) text += ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1);
    text += ": " + message;
  }

  std::string text;
};

// Where the types come from: a .proto file and its imports, or a set of descriptors.
struct Types {
  virtual ~Types() = default;
  std::vector<const pb::FileDescriptor*> files;  // whose types can be named
  const pb::DescriptorPool* pool = nullptr;
};

struct SourceTypes final : Types {
  SourceTypes(const std::string& path, const std::vector<std::string>& folders) {
    const std::filesystem::path file(path);
    if (!std::filesystem::exists(file)) {
      throw Error({.kind = ErrorKind::not_found, .path = path, .reason = "no such file"});
    }
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
    // The name that an import in `folders` would have comes first: a file must have one name.
    for (const std::string& given : folders) tree.MapPath("", given);
    tree.MapPath("", folder.string());
    tree.MapPath("", ".");
    tree.MapPath("", "/usr/include");  // google/protobuf/*.proto
    std::string name = file.filename().string();
    for (const std::string& given : folders) {
      const auto relative = file.lexically_relative(given).generic_string();
      if (!relative.empty() && !relative.starts_with("..")) {
        name = relative;
        break;
      }
    }
    importer.emplace(&tree, &errors);
    const pb::FileDescriptor* const found = importer->Import(name);
    if (found == nullptr) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = path,
                   .reason = errors.text.empty() ? "can't be compiled" : errors.text,
                   .hint = "--proto-path FOLDER says where imports are"});
    }
    files = {found};
    pool = importer->pool();
  }

  pb::compiler::DiskSourceTree tree;
  FirstError errors;
  std::optional<pb::compiler::Importer> importer;
};

struct CompiledTypes final : Types {
  explicit CompiledTypes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw Error({.kind = ErrorKind::not_found, .path = path, .reason = "no such file"});
    pb::FileDescriptorSet set;
    if (!set.ParseFromIstream(&in) || set.file_size() == 0) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = path,
                   .reason = "neither a .proto file nor a FileDescriptorSet",
                   .hint = "protoc --include_imports --descriptor_set_out=FILE makes one"});
    }
    for (const pb::FileDescriptorProto& file : set.file()) {
      if (database.Add(file)) continue;
      throw Error(
          {.kind = ErrorKind::corrupted,
           .path = path,
           .reason = printable(file.name()) + " defines what another file of the set does"});
    }
    compiled.emplace(&database);
    for (const pb::FileDescriptorProto& file : set.file()) {
      const pb::FileDescriptor* const found = compiled->FindFileByName(file.name());
      if (found == nullptr) {
        throw Error({.kind = ErrorKind::corrupted,
                     .path = path,
                     .reason = printable(file.name()) + " can't be used: an import is missing",
                     .hint = "protoc --include_imports puts them into the set"});
      }
      files.push_back(found);
    }
    pool = &*compiled;
  }

  pb::SimpleDescriptorDatabase database;
  std::optional<pb::DescriptorPool> compiled;
};

const pb::Descriptor* find_type(const Types& types, const std::string& path,
                                const std::string& type) {
  if (const pb::Descriptor* const found = types.pool->FindMessageTypeByName(type)) return found;
  std::string names;
  for (const pb::FileDescriptor* const file : types.files) {
    for (int i = 0; i < file->message_type_count(); ++i) {
      const pb::Descriptor* const message = file->message_type(i);
      if (message->name() == type) return message;
      names += (names.empty() ? "" : ", ") + message->full_name();
    }
  }
  throw Error({.kind = ErrorKind::not_found,
               .path = path,
               .reason = "no message " + printable(type) +
                         (names.empty() ? "; there are none" : "; there are " + names)});
}

// Calls get(i) for the values of a field; i is -1 for a field that isn't repeated.
template <typename Get>
void for_each_value(const pb::Message& message, const pb::FieldDescriptor* field, Get get) {
  if (!field->is_repeated()) return get(-1);
  const int size = message.GetReflection()->FieldSize(message, field);
  for (int i = 0; i < size; ++i) get(i);
}

size_t count_unknown(const pb::Message& message) {
  const pb::Reflection* const reflection = message.GetReflection();
  auto count = static_cast<size_t>(reflection->GetUnknownFields(message).field_count());
  std::vector<const pb::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const pb::FieldDescriptor* const field : fields) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for_each_value(message, field, [&](int i) {
      count += count_unknown(i < 0 ? reflection->GetMessage(message, field)
                                   : reflection->GetRepeatedMessage(message, field, i));
    });
  }
  return count;
}

// The first field that JSON has no place for, here or in a nested message; protobuf's printer
// leaves extensions out, and takes the fields of a group for those of the message around it.
const pb::FieldDescriptor* find_unprintable(const pb::Message& message) {
  const pb::Reflection* const reflection = message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  const pb::FieldDescriptor* found = nullptr;
  for (const pb::FieldDescriptor* const field : fields) {
    if (field->is_extension() || field->type() == pb::FieldDescriptor::TYPE_GROUP) return field;
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for_each_value(message, field, [&](int i) {
      const pb::Message& nested = i < 0 ? reflection->GetMessage(message, field)
                                        : reflection->GetRepeatedMessage(message, field, i);
      if (found == nullptr) found = find_unprintable(nested);
    });
    if (found != nullptr) return found;
  }
  return nullptr;
}

// The values of a message's fields by their paths.
struct Values {
  std::map<std::string, std::vector<int64_t>> int64s = {};
  std::map<std::string, std::vector<float>> floats = {};
  Where::ExactNumbers exact = {};
  std::map<std::string, std::vector<std::string>> bytes = {};
};

void add_fields(const pb::Message& message, const std::string& path, Values& values) {
  const pb::Reflection* const reflection = message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const pb::FieldDescriptor* const field : fields) {
    const std::string name = path + field->name();
    for_each_value(message, field, [&](int i) {
      const bool one = i < 0;
      const auto read = [&](auto single, auto repeated) {
        return one ? (reflection->*single)(message, field)
                   : (reflection->*repeated)(message, field, i);
      };
      using R = pb::Reflection;
      switch (field->cpp_type()) {
        case pb::FieldDescriptor::CPPTYPE_INT32:
          values.int64s[name].push_back(read(&R::GetInt32, &R::GetRepeatedInt32));
          break;
        case pb::FieldDescriptor::CPPTYPE_INT64:
          values.int64s[name].push_back(read(&R::GetInt64, &R::GetRepeatedInt64));
          break;
        case pb::FieldDescriptor::CPPTYPE_UINT32:
          values.int64s[name].push_back(read(&R::GetUInt32, &R::GetRepeatedUInt32));
          break;
        case pb::FieldDescriptor::CPPTYPE_UINT64:
          values.exact.uint64s[name].push_back(read(&R::GetUInt64, &R::GetRepeatedUInt64));
          break;
        case pb::FieldDescriptor::CPPTYPE_BOOL:
          values.int64s[name].push_back(read(&R::GetBool, &R::GetRepeatedBool) ? 1 : 0);
          break;
        case pb::FieldDescriptor::CPPTYPE_FLOAT:
          values.floats[name].push_back(read(&R::GetFloat, &R::GetRepeatedFloat));
          break;
        case pb::FieldDescriptor::CPPTYPE_DOUBLE:
          values.exact.doubles[name].push_back(read(&R::GetDouble, &R::GetRepeatedDouble));
          break;
        case pb::FieldDescriptor::CPPTYPE_STRING:
          values.bytes[name].push_back(read(&R::GetString, &R::GetRepeatedString));
          break;
        case pb::FieldDescriptor::CPPTYPE_ENUM:
          values.bytes[name].push_back(read(&R::GetEnum, &R::GetRepeatedEnum)->name());
          break;
        case pb::FieldDescriptor::CPPTYPE_MESSAGE:
          add_fields(one ? reflection->GetMessage(message, field)
                         : reflection->GetRepeatedMessage(message, field, i),
                     name + ".", values);
          break;
      }
    });
  }
}

}  // namespace

struct ProtoMessages::State {
  std::unique_ptr<const Types> types;
  std::string type;
  // A factory is thread-safe, and must outlive its messages.
  std::unique_ptr<pb::DynamicMessageFactory> factory;
  const pb::Message* prototype = nullptr;

  std::unique_ptr<pb::Message> parse(std::span<const std::byte> record) const {
    std::unique_ptr<pb::Message> message(prototype->New());
    const bool fits = record.size() <= size_t{std::numeric_limits<int>::max()};
    if (!fits || !message->ParsePartialFromArray(record.data(), static_cast<int>(record.size()))) {
      throw Error({.kind = ErrorKind::corrupted, .reason = "not a " + type});
    }
    return message;
  }
};

ProtoMessages::ProtoMessages(const std::string& path, const std::string& type,
                             const std::vector<std::string>& folders) {
  // What it would print is in our errors.
  pb::SetLogHandler(nullptr);
  auto state = std::make_unique<State>();
  if (path.ends_with(".proto")) {
    state->types = std::make_unique<SourceTypes>(path, folders);
  } else {
    state->types = std::make_unique<CompiledTypes>(path);
  }
  const pb::Descriptor* const descriptor = find_type(*state->types, path, type);
  state->type = descriptor->full_name();
  state->factory = std::make_unique<pb::DynamicMessageFactory>();
  state->prototype = state->factory->GetPrototype(descriptor);
  state_ = std::move(state);
}
ProtoMessages::~ProtoMessages() = default;

const std::string& ProtoMessages::type() const { return state_->type; }

bool ProtoMessages::has_field(const std::string& path) const {
  const pb::Descriptor* message = state_->prototype->GetDescriptor();
  for (size_t begin = 0, end = 0; end != path.npos; begin = end + 1) {
    end = path.find('.', begin);
    const std::string name = path.substr(begin, end == path.npos ? end : end - begin);
    const auto* const field = message ? message->FindFieldByName(name) : nullptr;
    if (field == nullptr) return false;
    message = field->message_type();
  }
  return true;
}

std::string ProtoMessages::json(std::span<const std::byte> record, size_t& unknown_fields) const {
  const auto message = state_->parse(record);
  if (!message->IsInitialized()) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "can't be printed as JSON: required fields are missing: " +
                           message->InitializationErrorString(),
                 .hint = "--format text prints what there is"});
  }
  if (const auto* const field = find_unprintable(*message)) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "can't be printed as JSON: " + field->name() +
                           (field->is_extension() ? " is an extension" : " is a group"),
                 .hint = "--format text can"});
  }
  unknown_fields = count_unknown(*message);
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string out;
  if (const auto status = pb::util::MessageToJsonString(*message, &out, options); !status.ok()) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "can't be printed as JSON: " + std::string(status.message()),
                 .hint = "--format text can"});
  }
  return out;
}

std::string ProtoMessages::text(std::span<const std::byte> record) const {
  std::string out;
  pb::TextFormat::PrintToString(*state_->parse(record), &out);
  return out;
}

ProtoMessages::Features ProtoMessages::features(std::span<const std::byte> record) const {
  Values values;
  add_fields(*state_->parse(record), "", values);
  ExampleBuilder example;
  for (const auto& [name, numbers] : values.int64s) example.set_int64s(name, numbers);
  for (const auto& [name, numbers] : values.floats) example.set_floats(name, numbers);
  // Of these, the Example has names, kinds and lengths.
  for (const auto& [name, numbers] : values.exact.doubles) {
    example.set_floats(name, std::vector<float>(numbers.size()));
  }
  for (const auto& [name, numbers] : values.exact.uint64s) {
    example.set_int64s(name, std::vector<int64_t>(numbers.size()));
  }
  for (const auto& [name, strings] : values.bytes) {
    std::vector<std::span<const std::byte>> views;
    for (const std::string& one : strings) views.push_back(std::as_bytes(std::span(one)));
    example.set_bytes_list(name, views);
  }
  return {.example = example.serialize(), .exact = std::move(values.exact)};
}

}  // namespace recordpipe
