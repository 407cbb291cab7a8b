#include "recordpipe/trainer/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "recordpipe/base/error.h"
#include "recordpipe/io/atomic_file.h"
#include "trainer/checkpoint/safetensors_header.h"

namespace recordpipe {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files need a little-endian machine");

constexpr size_t length_bytes = 8;

// Empty for an unknown type. Types smaller than a byte are not supported.
std::optional<uint64_t> bytes_per_value(std::string_view dtype) {
  static const std::map<std::string_view, uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};
  const auto found = sizes.find(dtype);
  if (found == sizes.end()) return {};
  return found->second;
}

// Empty if the product overflows.
std::optional<uint64_t> byte_count(const SafetensorsHeader::Entry& entry, uint64_t value_size) {
  uint64_t bytes = value_size;
  for (const uint64_t length : entry.shape)
    if (__builtin_mul_overflow(bytes, length, &bytes)) return {};
  return bytes;
}

std::string to_string(std::span<const size_t> shape) {
  if (shape.size() > 8) return "of " + std::to_string(shape.size()) + " dimensions";
  std::string text;
  for (const size_t length : shape) text += (text.empty() ? "" : "x") + std::to_string(length);
  return text.empty() ? "scalar" : text;
}

}  // namespace

SafetensorsReader::SafetensorsReader(FileSystem& file_system, const std::string& path)
    : file_(file_system.map(path)) {
  const std::span<const std::byte> bytes = file_->bytes();
  const auto fail = [&](ErrorKind kind, uint64_t offset, const std::string& reason) -> Error {
    return Error({.kind = kind, .path = path, .offset = offset, .reason = reason});
  };
  if (bytes.size() < length_bytes)
    throw fail(ErrorKind::truncated, bytes.size(), "ends within the length of the header");
  uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), length_bytes);
  if (header_size > safetensors_header_limit)
    throw fail(ErrorKind::corrupted, 0,
               "not a safetensors file: a header of " + std::to_string(header_size) + " bytes");
  if (header_size > bytes.size() - length_bytes)
    throw fail(ErrorKind::truncated, bytes.size(), "ends within the header");

  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + length_bytes,
                              header_size);
  if (!json.starts_with('{'))
    throw fail(ErrorKind::corrupted, length_bytes, "the header doesn't start with {");
  SafetensorsHeader header = parse_safetensors_header(json, path);

  // In the order of their data, each tensor must start at the end of the one before.
  const std::span<const std::byte> data = bytes.subspan(length_bytes + header_size);
  std::vector<SafetensorsHeader::Entry*> by_offset;
  for (SafetensorsHeader::Entry& entry : header.entries) by_offset.push_back(&entry);
  std::stable_sort(by_offset.begin(), by_offset.end(),
                   [](const auto* a, const auto* b) { return a->offsets < b->offsets; });
  uint64_t reached = 0;
  for (SafetensorsHeader::Entry* entry : by_offset) {
    const uint64_t begin = entry->offsets[0], end = entry->offsets[1];
    const std::string name = "tensor " + in_quotes(entry->name);
    const auto value_size = bytes_per_value(entry->dtype);
    if (!value_size)
      throw fail(ErrorKind::unsupported, length_bytes,
                 name + " has an unknown type " + in_quotes(entry->dtype));
    if (begin != reached || end < begin)
      throw fail(ErrorKind::corrupted, length_bytes,
                 name + " overlaps another tensor or leaves a gap: it is at [" +
                     std::to_string(begin) + ", " + std::to_string(end) + ") instead of at " +
                     std::to_string(reached));
    if (byte_count(*entry, *value_size) != end - begin)
      throw fail(
          ErrorKind::corrupted, length_bytes,
          name + " has " + std::to_string(end - begin) + " bytes, which doesn't match its shape");
    if (end > data.size()) throw fail(ErrorKind::truncated, bytes.size(), "ends within " + name);
    tensors_.emplace(std::move(entry->name), Tensor{.dtype = std::move(entry->dtype),
                                                    .shape = std::move(entry->shape),
                                                    .data = data.subspan(begin, end - begin)});
    reached = end;
  }
  if (reached != data.size())
    throw fail(ErrorKind::corrupted, length_bytes + header_size + reached,
               "there are bytes after the last tensor");
  metadata_ = std::move(header.metadata);
}

std::vector<float> SafetensorsReader::read_floats(std::string_view name,
                                                  std::span<const size_t> shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw Error({.kind = ErrorKind::not_found,
                 .path = path(),
                 .reason = "holds no tensor '" + std::string(name) + "'"});
  const Tensor& tensor = found->second;
  if (tensor.dtype != "F32")
    throw Error(
        {.kind = ErrorKind::unsupported,
         .path = path(),
         .reason = "tensor '" + std::string(name) + "' is of type " + tensor.dtype + ", not F32"});
  if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end()))
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = path(),
                 .reason = "tensor '" + std::string(name) + "' is " +
                           to_string({tensor.shape.data(), tensor.shape.size()}) + ", not " +
                           to_string(shape)});
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::ranges::copy(tensor.data, std::as_writable_bytes(std::span(values)).begin());
  if (file_->damaged())
    throw Error({.kind = ErrorKind::io,
                 .path = path(),
                 .reason = "was truncated or became unreadable during reading"});
  return values;
}

SafetensorsTensor SafetensorsTensor::floats(std::span<const size_t> shape,
                                            std::span<const float> values) {
  const auto data = std::as_bytes(values);
  return {"F32", {shape.begin(), shape.end()}, {data.begin(), data.end()}};
}

SafetensorsTensor SafetensorsTensor::bytes(std::string_view values) {
  const auto data = std::as_bytes(std::span(values));
  return {"U8", {data.size()}, {data.begin(), data.end()}};
}

void write_safetensors(FileSystem& file_system, const std::string& path,
                       const std::map<std::string, SafetensorsTensor>& tensors,
                       const SafetensorsMetadata& metadata) {
  // Larger types first, so that every value is aligned to its size.
  std::vector<const std::pair<const std::string, SafetensorsTensor>*> in_order;
  for (const auto& tensor : tensors) in_order.push_back(&tensor);
  std::ranges::stable_sort(in_order, std::greater(), [](const auto* tensor) {
    return bytes_per_value(tensor->second.dtype).value_or(1);
  });
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto* entry : in_order) {
    const auto& [name, tensor] = *entry;
    const uint64_t end = offset + tensor.data.size();
    header[name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string json;
  try {
    json = header.dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = path,
                 .reason = "a name or another text of the header is not UTF-8"});
  }
  json.resize((json.size() + 7) / 8 * 8, ' ');  // data starts at a multiple of 8
  if (json.size() > safetensors_header_limit)
    throw Error({.kind = ErrorKind::limit_exceeded, .path = path, .reason = "too many tensors"});

  AtomicFile file(file_system, path);
  const uint64_t header_size = json.size();
  file.write(std::as_bytes(std::span(&header_size, 1)));
  file.write(std::as_bytes(std::span(json)));
  for (const auto* tensor : in_order) file.write(tensor->second.data);
  file.commit();
}

}  // namespace recordpipe
