// A batch as an Arrow struct array whose buffers are the batch's columns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "python/native/arrow/arrow_abi.h"
#include "python/native/dataset/parse_spec.h"
#include "python/native/dataset/parsed_batch.h"
#include "python/native/iterate/lease.h"

namespace recordpipe::python {

// Which rows have which feature.
struct Presence {
  std::vector<std::vector<uint8_t>> outputs;  // validity() of each of ParseSpec::outputs
  std::vector<std::vector<uint8_t>> feature_lists;
};

// To be called before the batch is lent. Features with a default value are present in all rows.
Presence presence_of(const ParsedBatch& batch, const ParseSpec& spec);

// Nothing is copied except the bits of bool arrays. `lent` goes back to the pool when the last of
// the array and its children is released: on any thread, without the GIL, also after the
// interpreter has ended. `spec` must have been made with MissingFeatures::null.
void export_batch(std::unique_ptr<ParsedBatch> lent, std::shared_ptr<LeasePool> pool,
                  const ParseSpec& spec, Presence presence, ArrowArray& out);

}  // namespace recordpipe::python
