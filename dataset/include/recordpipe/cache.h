// cache: what it keeps, and for how long.
//
// A cache belongs to the Dataset that cache() returned, its copies, and the Datasets made from it;
// it is freed with the last of them and of their iterators. All their iterators and passes share
// it: make the Dataset once, before a loop over epochs. A pass that is given up leaves the elements
// it has computed (tf.data throws them away), and any later one continues behind them. While
// several iterators fill the cache at the same time, each of them computes the elements itself; the
// first one to have an element stores it, and nobody waits. Elements that fail are kept as failing.
//
// The files that the elements were read from stay open as long as the cache. A file that changes
// later changes no element, and saved states have the fingerprints of the files that filled the
// cache. What ignore_errors skips upstream is reported by the iterator that computed it
// (Iterator::skipped).
//
// Memory: each iterator counts the elements of the cache that it has reached against its own
// memory_limit, whichever iterator computed them, so that a limit is exceeded at the same element
// in all of them. A pipeline that uses the cache twice counts them twice.
//
// In a file (cache(path)): a pass that finds the file serves from it; one that doesn't computes its
// elements and writes the file beside: it appears, whole, when the pass has come to its end. A pass
// that is given up, restored to its middle, or has an element that fails leaves none (tf.data's
// rule), and neither does one that finds another process or iterator writing it: the next pass
// looks again. A file that was made from other operators, parameters or source files is refused by
// name, and so is one where a file that the inputs of interleave and flat_map have read has
// changed. Remove the cache yourself where functions are others, or values in a vector, or where
// such an input's file was moved, has a URL with a user name or query (which are never written to
// the cache), was read through another FileSystem than the cache, or not by tfrecord_files: that is
// not seen.
//
// Saved: how many elements this pass has handed on. An iterator that is restored over an empty
// cache fills it from the first element.
#pragma once

#include <cstdint>

namespace recordpipe {

struct CacheOptions {
  // Limit of the elements and what they hold (heap_bytes, element.h). Throws Error{limit_exceeded}
  // at the first element that doesn't fit.
  uint64_t max_bytes = UINT64_MAX;
};

}  // namespace recordpipe
