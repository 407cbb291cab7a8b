// The cache operators: contents, lifetime, limits.
//
// A cache belongs to the Dataset returned by cache(), its copies, and the Datasets derived from it;
// it is freed with the last of these and of their iterators. All their iterators and passes share
// it: create the Dataset once, before the loop over epochs. An incomplete pass leaves its computed
// elements in the cache (tf.data discards them), and any later pass continues after them. If
// several iterators fill the cache concurrently, each computes the elements itself; the first
// result of an element is stored, and no iterator waits for another. Errors of elements are cached
// too.
//
// The source files stay open for the cache's lifetime. A later change of a file changes no element,
// and saved states contain the fingerprints of the files that filled the cache. Elements skipped by
// an upstream ignore_errors are reported by the iterator that computed them (Iterator::skipped).
//
// Memory: each iterator counts all cached elements that it has reached against its own
// memory_limit, whichever iterator computed them, so all iterators exceed the limit at the same
// element. A pipeline that uses the cache twice counts them twice.
//
// File cache (cache(path)): if the file exists, a pass reads its elements from it. Otherwise the
// pass computes its elements and writes them to a partial file, which is renamed to `path` at the
// end of the pass. No file is created by a pass that is incomplete, that was restored to a position
// after the start, that has a failed element (as in tf.data), or that finds another process or
// iterator writing the file; the next pass checks for the file again. A file of other operators,
// parameters or source files is refused with an error that names the file, and so is a cache if a
// file read by an input of interleave or flat_map has changed.
//
// Some changes are not detected; then remove the file yourself: changed functions; changed values
// of a vector; and an interleave or flat_map input whose file was moved, has a URL with a user name
// or query (these are never written to the cache), was read through another FileSystem than the
// cache's, or was not read by tfrecord_files.
//
// Saved state: the number of elements that this pass has returned. An iterator that is restored
// with an empty cache fills it from the first element.
#pragma once

#include <cstdint>

namespace recordpipe {

struct CacheOptions {
  // Limit in bytes on the elements, including their heap memory (heap_bytes, element.h). Throws
  // Error{limit_exceeded} at the first element beyond the limit.
  uint64_t max_bytes = UINT64_MAX;
};

}  // namespace recordpipe
