// A batch as an Arrow struct array whose buffers are the batch's columns.
#pragma once

#include <memory>

#include "python/native/arrow_abi.h"
#include "python/native/lease.h"
#include "python/native/parse_spec.h"
#include "python/native/parsed_batch.h"

namespace recordpipe::python {

// Nothing is copied except the bits of bool arrays. `lent` goes back to the pool when the last of
// the array and its children is released: on any thread, without the GIL, also after the
// interpreter has ended. In a process made by fork(), it is leaked, because another thread may have
// held the pool's mutex. `spec` must have been made with MissingFeatures::null; a missing feature
// is null, except if it has a default value.
void export_batch(std::unique_ptr<ParsedBatch> lent, std::shared_ptr<LeasePool> pool,
                  const ParseSpec& spec, ArrowArray& out);

}  // namespace recordpipe::python
