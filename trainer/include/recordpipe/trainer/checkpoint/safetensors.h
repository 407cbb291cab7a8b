// safetensors files (https://github.com/huggingface/safetensors): named tensors in one file.
// Reading such a file executes nothing.
//
//   u64, little-endian: N     N bytes of JSON     the tensors' bytes
//
// The JSON maps each name to {"dtype":"F32","shape":[2,3],"data_offsets":[begin,end]}, with offsets
// from the end of the JSON, and "__metadata__" to an object of strings. Tensors are row-major and
// little-endian and fill the rest of the file without gaps or overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe {

// The maximum header size, for reading and writing.
inline constexpr uint64_t safetensors_header_limit = 100'000'000;
// The maximum number of dimensions of a tensor, for reading: NumPy's limit.
inline constexpr size_t safetensors_dimension_limit = 64;

using SafetensorsMetadata = std::map<std::string, std::string, std::less<>>;

// A file open for reading. The constructor validates the header. It throws Error{corrupted} for a
// header that isn't JSON of this form, lengths that overflow, offsets that leave the file, overlap
// or leave gaps, and more dimensions than the limit; Error{truncated} for a file that ends early.
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

  // The values of a float32 tensor. Throws Error{not_found} if there is no tensor of this name,
  // Error{unsupported} if it has another type, Error{invalid_argument} if it has another shape.
  std::vector<float> read_floats(std::string_view name, std::span<const size_t> shape) const;

 private:
  std::unique_ptr<MappedFile> file_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  SafetensorsMetadata metadata_;
};

// A tensor to write.
struct SafetensorsTensor {
  std::string dtype;
  std::vector<uint64_t> shape;
  std::vector<std::byte> data;

  static SafetensorsTensor floats(std::span<const size_t> shape, std::span<const float> values);
  static SafetensorsTensor bytes(std::string_view values);  // "U8", one dimension
};

// Writes the file atomically: it appears whole or not at all. The same tensors and metadata give
// the same bytes. Throws Error{invalid_argument} if a name or the metadata is not UTF-8.
void write_safetensors(FileSystem& file_system, const std::string& path,
                       const std::map<std::string, SafetensorsTensor>& tensors,
                       const SafetensorsMetadata& metadata);

}  // namespace recordpipe
