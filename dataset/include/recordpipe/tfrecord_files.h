// tfrecord_files: the records of TFRecord files as a Dataset.
#pragma once

#include <string>
#include <vector>

#include "recordpipe/dataset.h"
#include "recordpipe/file.h"
#include "recordpipe/record.h"
#include "recordpipe/record_reader.h"

namespace recordpipe {

// The records of `paths`, file after file, in order. An element's id is its number over all files.
//
// A path may be a pattern ("train-*.tfrecords", glob.h): it stands for the files that match at the
// time of this call, sorted by their names. One that nothing matches throws Error{not_found}. A
// file that is there under the very name is that file, whatever characters are in it.
//
// Plain files are mapped: a record is a span into the mapping, valid while the iterator lives, and
// its CRC is checked on the threads that compute elements, after any shuffling. Compressed files,
// pipes, devices and files that the file system can't map (URLs) are read as streams, in order, on
// the thread that plans: put a prefetch after them; their records own their bytes. Whatever keeps a
// view into such a record's data, a string_view or an ImageRow, must keep Record::owner too: when
// the last one is gone, the bytes are. Linux allows 65,530 mappings per process by default
// (vm.max_map_count): more files than that can't be mapped by one iterator.
//
// Files are opened when their first record is wanted. Damage and missing files are errors at their
// place: records before them are delivered. Where a record's header is damaged, those after it are
// lost, too, unless the file has an index.
//
// The index of a plain file (PATH.idx, as `tfrecord index` writes it; record_index.h) is used where
// there is one, it fits and CRCs are checked. A file of more than 1 MiB then opens without a walk
// over all headers, and a record with a damaged header is an element that fails, which
// ignore_errors can leave out, with those after it intact. An index that is damaged or doesn't fit
// is ignored. Where one says what isn't so, that element fails: header and data are checked by
// their CRCs. Which records there are is the index's word: one made to mislead could name records
// that lie inside the data of another, so remove indexes that you don't trust.
//
// With more than one thread, up to 4 plain files that come next are opened ahead, on the threads
// that compute elements. That changes no element and no error.
//
// Random access (global_shuffle) requires plain files that are regular files or URLs whose server
// supports range requests; others throw Error{unsupported} when the first element is wanted. The
// headers of a URL are all read before the first element, unless it has an index. Requests are for
// at least 64 KiB (HttpReadOptions::smallest_window): if records have up to 128 KiB, reading their
// headers downloads practically the whole file, so write an index. Each record is then read by its
// own request, as many at a time as threads compute elements; records own their bytes.
//
// Saved: the file, the record in it, and what files there were (iterator_state.h); a file that is
// read as a stream is read again up to the place. Destroying an iterator waits for the request or
// the record that is being read, and for the fingerprint (72 KiB) of a file that is being opened.
Dataset<Record> tfrecord_files(std::vector<std::string> paths, RecordReadOptions options = {});
// The same through another file system than the operating system's, which must outlive it and be
// safe to use from several threads.
Dataset<Record> tfrecord_files(FileSystem& file_system, std::vector<std::string> paths,
                               RecordReadOptions options = {});

}  // namespace recordpipe
