// safetensors files (https://github.com/huggingface/safetensors): named tensors in one file that
// nothing has to be executed to read.
//
//   u64, little-endian: N     N bytes of JSON     the tensors' bytes
//
// The JSON maps each name to {"dtype":"F32","shape":[2,3],"data_offsets":[begin,end]}, offsets
// counting from the end of the JSON, and "__metadata__" to an object of strings. Tensors are
// row-major and little-endian and fill the rest of the file without holes or overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/file.h"

namespace recordpipe {

// The longest header that is read or written.
inline constexpr uint64_t safetensors_header_limit = 100'000'000;
// The most dimensions of a tensor that are read: numpy has no more either.
inline constexpr size_t safetensors_dimension_limit = 64;

using SafetensorsMetadata = std::map<std::string, std::string, std::less<>>;

// A file open for reading. What it says is checked before it is believed: a header that isn't
// JSON of this form, lengths that overflow, offsets that leave the file, overlap or leave holes,
// more dimensions than the limit throw Error{corrupted}, a file that ends early Error{truncated}.
class SafetensorsReader {
 public:
  struct Tensor {
    std::string dtype;  // "F32", "I64", ...
    std::vector<uint64_t> shape;
    std::span<const std::byte> data;
  };

  SafetensorsReader(FileSystem& file_system, const std::string& path);

  const std::string& path() const { return file_->path(); }
  const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }
  const SafetensorsMetadata& metadata() const { return metadata_; }

  // The numbers of a tensor of float32. Throws Error{not_found} where there is none of this name,
  // Error{unsupported} where it has another type, Error{invalid_argument} for another shape.
  std::vector<float> read_floats(std::string_view name, std::span<const size_t> shape) const;

 private:
  std::unique_ptr<MappedFile> file_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  SafetensorsMetadata metadata_;
};

// A tensor to be written.
struct SafetensorsTensor {
  std::string dtype;
  std::vector<uint64_t> shape;
  std::vector<std::byte> data;

  static SafetensorsTensor floats(std::span<const size_t> shape, std::span<const float> values);
  static SafetensorsTensor bytes(std::string_view values);  // "U8", one dimension
};

// Writes a file that appears whole or not at all. The same tensors and metadata give the same
// bytes. Throws Error{invalid_argument} for names and metadata that are not UTF-8.
void write_safetensors(FileSystem& file_system, const std::string& path,
                       const std::map<std::string, SafetensorsTensor>& tensors,
                       const SafetensorsMetadata& metadata);

}  // namespace recordpipe
