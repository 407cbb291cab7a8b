#include "dataset/toolkit/jobs/shard_record.h"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

#include "dataset/base/parse_number.h"
#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/checksum/crc32c.h"

namespace recordpipe {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLargestShardRecord = size_t{1} << 30;
constexpr size_t kHashedPiece = size_t{1} << 20;

std::string hexadecimal(uint32_t crc) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(8, '0');
  for (size_t i = text.size(); i-- > 0; crc >>= 4) text[i] = kDigits[crc & 15];
  return text;
}

// Whether the name is that of a file in the folder, or in one below it.
bool is_inside(std::string_view name) {
  if (name.find('\0') != name.npos) return false;
  while (true) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    if (part.size() == name.size()) return true;
    name.remove_prefix(part.size() + 1);
  }
}

// The members of a line; throws std::exception for what is not there or of another type.
ShardRecord from_json(const Json& json) {
  ShardRecord record = {.job = json.at("job").get<std::string>(),
                        .input = json.at("input").get<std::string>(),
                        .version = json.at("version").get<std::string>(),
                        .output = json.at("output").get<std::string>()};
  if (!is_inside(record.output)) throw std::invalid_argument("output is not a file's name");
  if (json.contains("error")) {
    record.error = json.at("error").get<std::string>();
    if (record.error.empty()) throw std::invalid_argument("error is empty");
    return record;
  }
  const auto crc_text = json.at("crc32c").get<std::string>();
  record.crc = parse_number<uint32_t>(crc_text, 16).value_or(0);
  if (hexadecimal(record.crc) != crc_text) {
    throw std::invalid_argument("crc32c is not eight hexadecimal digits");
  }
  const auto count = [&](const char* name) {
    const Json& number = json.at(name);
    if (!number.is_number_unsigned())
      throw std::invalid_argument(std::string(name) + " is no count");
    return number.get<uint64_t>();
  };
  record.counts.records = count("records");
  if (json.contains("regions_skipped")) {
    record.counts.skipped.regions = count("regions_skipped");
    record.counts.skipped.bytes = count("bytes_skipped");
  }
  if (json.contains("compressed_bytes_skipped")) {
    record.counts.skipped.compressed_bytes = count("compressed_bytes_skipped");
  }
  if (json.contains("records_skipped")) record.counts.records_skipped = count("records_skipped");
  record.bytes = count("bytes");
  return record;
}

}  // namespace

void add_skipped(const DamageSkipped& skipped, Json& json) {
  if (skipped.regions > 0) {
    json["regions_skipped"] = skipped.regions;
    json["bytes_skipped"] = skipped.bytes;
  }
  if (skipped.compressed_bytes > 0) json["compressed_bytes_skipped"] = skipped.compressed_bytes;
}

std::string to_json_line(const ShardRecord& record) {
  Json json = {{"job", record.job},
               {"input", record.input},
               {"version", record.version},
               {"output", record.output}};
  if (record.error.empty()) {
    json["records"] = record.counts.records;
    json["bytes"] = record.bytes;
    json["crc32c"] = hexadecimal(record.crc);
  } else {
    json["error"] = record.error;
  }
  add_skipped(record.counts.skipped, json);
  if (record.counts.records_skipped > 0) json["records_skipped"] = record.counts.records_skipped;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ShardRecord parse_shard_record(std::string_view line, const std::string& path, uint64_t number) {
  try {
    // A line is flat; a callback refuses deeper values before they take the stack.
    const Json json = Json::parse(line, [](int depth, Json::parse_event_t event, Json&) {
      if (depth > 0 && (event == Json::parse_event_t::object_start ||
                        event == Json::parse_event_t::array_start)) {
        throw std::invalid_argument("a value is an object or an array");
      }
      return true;
    });
    return from_json(json);
  } catch (const std::exception& error) {
    throw Error(
        {.kind = ErrorKind::corrupted,
         .path = path,
         .reason = "line " + std::to_string(number) + " is no line of a manifest: " + error.what(),
         .hint = "a manifest is the manifest.jsonl in the folder of --to-dir (in Python, of "
                 "convert_to_dir())"});
  }
}

std::vector<ShardRecord> read_manifest(FileSystem& files, const std::string& path) {
  const std::vector<std::byte> bytes = read_all(*files.open_source(path), kLargestShardRecord);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<ShardRecord> records;
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    records.push_back(parse_shard_record(text.substr(0, end), path, number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (records.empty()) {
    throw Error(
        {.kind = ErrorKind::corrupted,
         .path = path,
         .reason = "the manifest is empty",
         .hint = "make it again: the job with --resume (in Python, resume=True) keeps the files "
                 "that are right"});
  }
  return records;
}

void measure_output(FileSystem& files, const std::string& path, ShardRecord& record,
                    const std::function<void(uint64_t bytes)>& advance) {
  const auto source = files.open_source(path);
  std::vector<std::byte> piece(kHashedPiece);
  record.bytes = 0;
  record.crc = 0;
  while (const size_t size = read_fully(*source, piece)) {
    record.crc = crc32c_extend(record.crc, std::span(piece).first(size));
    record.bytes += size;
    if (advance) advance(size);
  }
}

std::optional<FoundOutput> find_output(FileSystem& files, const std::string& path,
                                       const ShardRecord& expected,
                                       const std::function<void(uint64_t bytes)>& advance) {
  if (!expected.error.empty()) return std::nullopt;
  const auto status = files.status(path);
  if (!status) return std::nullopt;
  FoundOutput found = {.is_regular = status->kind == FileKind::regular, .bytes = status->size};
  if (!found.is_regular || found.bytes != expected.bytes) return found;
  ShardRecord now;
  measure_output(files, path, now, advance);
  found.bytes = now.bytes;
  if (now.bytes == expected.bytes) found.crc = now.crc;
  return found;
}

std::string difference(const std::optional<FoundOutput>& found, const ShardRecord& expected) {
  if (!expected.error.empty()) return "not made: " + expected.error;
  if (!found) return "missing";
  if (!found->is_regular) return "no regular file";
  if (!found->crc) {
    return grouped(found->bytes) + " bytes, not the " + grouped(expected.bytes) +
           " of the manifest";
  }
  if (*found->crc == expected.crc) return {};
  return "CRC-32C " + hexadecimal(*found->crc) + ", not the " + hexadecimal(expected.crc) +
         " of the manifest";
}

}  // namespace recordpipe
