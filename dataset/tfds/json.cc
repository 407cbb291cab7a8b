#include "dataset/tfds/json.h"

#include <utility>

#include "dataset/base/parse_number.h"

namespace recordpipe::tfds {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 20;
constexpr int kMaxJsonDepth = 1'000;

std::string snake_case(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      snake += '_';
      snake += static_cast<char>(c - 'A' + 'a');
    } else {
      snake += c;
    }
  }
  return snake;
}

}  // namespace

std::string read_text(FileSystem& file_system, const std::string& path) {
  const std::unique_ptr<ByteSource> source = file_system.open_source(path);
  std::string text;
  size_t size = 0;
  while (true) {
    text.resize(size + (size_t{64} << 10));
    const size_t read = read_fully(*source, std::as_writable_bytes(std::span(text).subspan(size)));
    size += read;
    if (size > kMaxBytes) {
      throw Error(
          {.kind = ErrorKind::limit_exceeded, .path = path, .reason = "larger than 64 MiB"});
    }
    if (size < text.size()) break;
  }
  text.resize(size);
  return text;
}

Json parse_json(std::string_view text, const std::string& path) {
  const auto fail = [&](std::string reason) {
    throw Error({.kind = ErrorKind::corrupted, .path = path, .reason = std::move(reason)});
  };
  // The parser treats NUL as the end of the text.
  if (text.find('\0') != text.npos) fail("invalid JSON: a NUL byte");
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxJsonDepth) fail("JSON that nests too deeply");
      return true;
    });
  } catch (const Json::exception& error) {
    fail("invalid JSON: " + printable(error.what()));
  }
  return {};
}

JsonObject::JsonObject(const Json& json, std::string path, std::string place)
    : json_(json), path_(std::move(path)), place_(std::move(place)) {
  if (!json.is_object()) fail("not an object");
}

void JsonObject::fail(const std::string& reason, ErrorKind kind, const std::string& hint) const {
  throw Error({.kind = kind,
               .path = path_,
               .reason = place_.empty() ? reason : printable(place_) + ": " + reason,
               .hint = hint});
}

const Json* JsonObject::find(std::string_view name) const {
  for (const std::string& spelling : {std::string(name), snake_case(name)}) {
    const auto member = json_.find(spelling);
    if (member != json_.end() && !member->is_null()) return &*member;
  }
  return nullptr;
}

std::string JsonObject::text(std::string_view name) const {
  const Json* member = find(name);
  if (!member) return {};
  if (!member->is_string()) fail("\"" + std::string(name) + "\" is not a string");
  return member->get<std::string>();
}

int64_t JsonObject::integer_of(const Json& value, std::string_view name) const {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{INT64_MAX}) {
    return value.get<int64_t>();
  }
  if (value.is_number_integer() && !value.is_number_unsigned()) return value.get<int64_t>();
  if (value.is_string()) {
    if (const auto number = parse_number<int64_t>(value.get_ref<const std::string&>()))
      return *number;
  }
  fail("\"" + std::string(name) + "\" is not an integer");
}

int64_t JsonObject::integer(std::string_view name, int64_t absent) const {
  const Json* member = find(name);
  return member ? integer_of(*member, name) : absent;
}

bool JsonObject::flag(std::string_view name) const {
  const Json* member = find(name);
  if (!member) return false;
  if (!member->is_boolean()) fail("\"" + std::string(name) + "\" is not true or false");
  return member->get<bool>();
}

std::vector<std::string> JsonObject::texts(std::string_view name) const {
  std::vector<std::string> all;
  const Json* member = find(name);
  if (!member) return all;
  if (!member->is_array()) fail("\"" + std::string(name) + "\" is not a list");
  for (const Json& item : *member) {
    if (!item.is_string()) fail("\"" + std::string(name) + "\" is not a list of strings");
    all.push_back(item.get<std::string>());
  }
  return all;
}

std::vector<int64_t> JsonObject::integers(std::string_view name) const {
  std::vector<int64_t> all;
  const Json* member = find(name);
  if (!member) return all;
  if (!member->is_array()) fail("\"" + std::string(name) + "\" is not a list");
  for (const Json& item : *member) all.push_back(integer_of(item, name));
  return all;
}

}  // namespace recordpipe::tfds
