// Describes the cache operators: contents, lifetime, limits.
//
// A cache belongs to the Dataset returned by cache(), its copies, and the Datasets derived from it;
// it is freed with the last of these Datasets and their iterators. All their iterators and passes
// share the cache: create the Dataset once, before the loop over epochs. An incomplete pass leaves
// its computed elements in the cache (tf.data discards them), and any later pass continues after
// them. If several iterators fill the cache concurrently, each iterator computes the elements
// itself; the first result of an element is stored, and no iterator waits for another. Errors of
// elements are also cached.
//
// The source files stay open for the cache's lifetime. If a file changes later, the elements do not
// change, and saved states contain the fingerprints of the files that filled the cache. Elements
// skipped by an upstream ignore_errors are reported by the iterator that computed them
// (Iterator::skipped).
//
// Memory: each iterator counts all cached elements that it has reached against its own
// memory_limit, regardless of which iterator computed them, so all iterators exceed the limit at
// the same element. A pipeline that uses the cache twice counts the elements twice.
//
// File cache (cache(path)): if the file exists, a pass reads its elements from it. Otherwise the
// pass computes its elements and writes them to a partial file, which is renamed to `path` at the
// end of the pass. A pass creates no file if it is incomplete, if it was restored to a position
// after the start, if it has a failed element (as in tf.data), or if another process or iterator is
// writing the file; the next pass checks for the file again. A file of other operators, parameters
// or source files is refused with an error that names the file, and so is a cache if a file read by
// an input of interleave or flat_map has changed.
//
// Some changes are not detected; remove the cache file yourself after such a change: changed
// functions; changed values of a vector; and an interleave or flat_map input whose file was moved,
// has a URL with a user name or query (these are never written to the cache), was read through
// another FileSystem than the cache's, or was not read by tfrecord_files.
//
// Saved state: the number of elements that this pass has returned. If an iterator is restored while
// the cache is empty, it fills the cache from the first element.
#pragma once

#include <cstdint>

namespace recordpipe {

struct CacheOptions {
  // Limit in bytes on the elements, including their heap memory (heap_bytes, element.h). At the
  // first element beyond the limit, the iterator throws Error{limit_exceeded}.
  uint64_t max_bytes = UINT64_MAX;
};

}  // namespace recordpipe
