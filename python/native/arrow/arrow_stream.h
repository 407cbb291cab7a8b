// A parsed dataset as an Arrow C stream: each of its batches is a record batch.
#pragma once

#include "python/native/arrow/arrow_abi.h"
#include "python/native/arrow/needed_columns.h"
#include "python/native/dataset/dataset.h"

namespace recordpipe::python {

// The dataset's spec must have been made with MissingFeatures::null. Throws Error{unsupported} if
// the elements are not parsed records or batches of them, or have no Arrow type.
void export_schema(const PythonDataset& dataset, ArrowSchema& out);

// The pass begins with the first get_next(). The callbacks need no GIL. get_next() on the main
// thread handles signals; if the handler raises, for example KeyboardInterrupt, get_next() fails
// with ECANCELED, and Python raises the exception when the main thread executes its next bytecode.
// The end is an error if `needed` are not there.
void export_stream(const PythonDataset& dataset, NeededColumns needed, ArrowArrayStream& out);

// Ends the passes of all streams and joins their threads; their get_next() fails from then on. To
// be called without the GIL, before the interpreter ends.
void close_arrow_streams();

}  // namespace recordpipe::python
