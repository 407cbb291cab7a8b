// Counts the records of an input, with as little reading as possible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataset/toolkit/files/file_work.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

// Whether a URL without an index may be counted by its headers: for long records, a request each.
enum class UrlHeaders { read, leave };

// Counts the records of a plain file or URL by a fitting PATH.idx, or else by the headers; data
// CRCs are not checked. Returns nullopt for an input that must be read as a stream: compressed, a
// pipe, or, with UrlHeaders::leave, a URL without an index. Throws the errors of
// RecordHeaderReader.
std::optional<uint64_t> count_without_reading(const FileWork& work, const std::string& path,
                                              const RecordReadOptions& reading,
                                              UrlHeaders urls = UrlHeaders::read);

// Counts the records of any input; reads a stream to its end. Also throws the errors of
// RecordReader.
uint64_t count_records(const FileWork& work, const std::string& path,
                       const RecordReadOptions& reading, UrlHeaders urls = UrlHeaders::read);

}  // namespace recordpipe
