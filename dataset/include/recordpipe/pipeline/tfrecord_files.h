// tfrecord_files: a source of the records of TFRecord files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/record/damaged_region.h"
#include "recordpipe/record/record.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

struct DamageOptions {
  // skip_file and resync need the CRCs. Local plain files, too, are then read on the planning
  // thread, their indexes are not used, and there is no random access. For other files, a record
  // longer than max_record_size counts as damage. Iterator::skipped() says what was left out; of
  // files that several workers of a shard read, each worker counts all damage.
  OnDamage on_damage = OnDamage::raise;
  // With `raise`: what the errors recommend. Programs whose users know the option by another name
  // change it; empty if they can't choose.
  std::string remedy = "pass OnDamage::skip_file or OnDamage::resync to tfrecord_files to go on";
};

// Yields the records of `paths`, file after file, in order. An element's id is its index over all
// files.
//
// A path may also be a folder, a pattern ("train-*.tfrecords"), braces ("train-{000..127}") or a
// set of shards ("train@64"), which stand for files at the time of this call (input_files.h). If a
// file with exactly this name exists, the path is not treated as a pattern. For the folders below a
// folder, end the path with /**/ or call find_input_files({.recursive = true}).
//
// Plain files are memory-mapped: a record is a span into the mapping, valid for the iterator's
// lifetime, and its CRC is checked on the threads that compute elements, after any shuffling.
// Compressed files, pipes, devices and files that the file system can't map (URLs) are read
// sequentially as streams on the planning thread: place a prefetch after them. The records of such
// streams own their bytes: a view into such a record's data (a string_view or an ImageRow) dangles
// unless Record::owner is kept with the view. Linux allows 65,530 mappings per process by default
// (vm.max_map_count), so one iterator can't map more files.
//
// Files are opened when their first record is needed. A damaged or missing file is an error at its
// position: all records before the damage are delivered. After a damaged record header the rest of
// the file is lost, unless the file has an index. `damage` leaves out damage instead.
//
// The index of a plain file (PATH.idx, written by `tfrecord index`; record_index.h) is used if it
// exists and matches the file, and if CRCs are checked. A file of more than 1 MiB is then opened
// without reading all headers. A record with a damaged header is then a failed element, which
// ignore_errors can skip; the records after it stay readable. A damaged or mismatching index is
// ignored. If an entry is wrong, its element fails, because the CRCs of header and data are
// checked. But the set of records is determined only by the index: a malicious index could list
// records inside the data of another record, so remove untrusted indexes.
//
// With more than one thread, the next plain files (at most 4) are opened ahead, on the threads that
// compute elements. This affects neither elements nor errors.
//
// Random access (global_shuffle) requires regular plain files, or URLs of plain files whose server
// supports range requests; other files throw Error{unsupported} when the first element is needed.
// All headers of a URL are read before the first element, unless the URL has an index. A request is
// for at least 64 KiB (HttpReadOptions::smallest_window): with records of up to 128 KiB, reading
// the headers downloads practically the whole file, so write an index. With an index, each record
// is one request, and as many requests run at a time as threads compute elements. These records own
// their bytes.
//
// Saved state: the file, the record in the file, and the list of files (iterator_state.h). If a
// file is read as a stream, a restore reads it again up to the saved position. Destroying an
// iterator waits for the request or the record being read, and for the fingerprint (72 KiB) of a
// file being opened.
Dataset<Record> tfrecord_files(std::vector<std::string> paths, RecordReadOptions options = {},
                               DamageOptions damage = {});
// The same with another FileSystem, which must be thread-safe and must outlive the Dataset and its
// iterators.
Dataset<Record> tfrecord_files(FileSystem& file_system, std::vector<std::string> paths,
                               RecordReadOptions options = {}, DamageOptions damage = {});

// The records of files that were found before: no path is taken for a folder or a pattern, and no
// request is made here. The Dataset and its iterators keep the FileSystem.
Dataset<Record> listed_tfrecord_files(std::shared_ptr<FileSystem> file_system,
                                      std::vector<std::string> paths,
                                      RecordReadOptions options = {}, DamageOptions damage = {});

// A file, and the number of its records, which is known from elsewhere: a manifest, for example.
struct CountedRecordFile {
  std::string path;  // no pattern
  uint64_t records = 0;
};
// The same for such files. Throws Error{corrupted}, with the path and both numbers, when the first
// record of a plain file with another number of records is needed. The numbers of compressed files
// and pipes are not compared.
Dataset<Record> listed_tfrecord_files(FileSystem& file_system, std::vector<CountedRecordFile> files,
                                      RecordReadOptions options = {});

}  // namespace recordpipe
