# The headers that were directly in recordpipe/ (those of batches of images in recordpipe/image/,
# those of scans in recordpipe/toolkit/). Their old paths include the new ones in version 0.2 only.
set(recordpipe_moved_headers
  base/error.h
  base/parameter.h
  base/philox.h
  base/progress.h
  base/stop.h
  base/version.h
  checksum/crc32c.h
  decompression/more_compressions.h
  example/columns.h
  example/dict.h
  example/dict_batch.h
  example/dict_sequences.h
  example/example_builder.h
  example/example_schema.h
  example/example_view.h
  example/feature_values.h
  example/message_view.h
  example/parse_example.h
  example/parse_sequence_example.h
  example/tensor_proto.h
  example/unlisted_features.h
  image/batches/example_images.h
  image/batches/image_column.h
  image/batches/image_spec.h
  io/atomic_file.h
  io/atomic_file_set.h
  io/compression.h
  io/file.h
  io/glob.h
  io/parallel_deflate.h
  io/sha256.h
  io/temporary_file.h
  pipeline/bucket_by_sequence_length.h
  pipeline/cache.h
  pipeline/cache_codec.h
  pipeline/cardinality.h
  pipeline/choose_from_datasets.h
  pipeline/chrome_trace.h
  pipeline/collator.h
  pipeline/dataset.h
  pipeline/element.h
  pipeline/from_generator.h
  pipeline/from_vector.h
  pipeline/ignore_errors.h
  pipeline/iterator.h
  pipeline/list_files.h
  pipeline/memory_use.h
  pipeline/options.h
  pipeline/pack_sequences.h
  pipeline/padded_batch.h
  pipeline/range.h
  pipeline/sample_from_datasets.h
  pipeline/statistics.h
  pipeline/tfrecord_files.h
  pipeline/zip.h
  record/damaged_region.h
  record/input_files.h
  record/parallel_record_scanner.h
  record/record.h
  record/record_format.h
  record/record_index.h
  record/record_reader.h
  record/record_scanner.h
  record/record_writer.h
  record/stream_compression.h)

# recordpipe_old_paths(FILES HEADERS...): sets FILES to the headers at old paths, in
# ${recordpipe_moved}/, for those of the public HEADERS that have moved.
set(recordpipe_moved ${PROJECT_BINARY_DIR}/moved_headers)
function(recordpipe_old_paths files)
  set(all "")
  foreach(header IN LISTS ARGN)
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${recordpipe_public_headers}/recordpipe)
    if(header IN_LIST recordpipe_moved_headers)
      string(REGEX REPLACE "^(image/batches|[a-z]+)/" "" old ${header})
      if(header MATCHES "^image/")
        string(PREPEND old image/)
      elseif(header MATCHES "damaged_region|scanner")
        string(PREPEND old toolkit/)
      endif()
      file(CONFIGURE OUTPUT ${recordpipe_moved}/recordpipe/${old} CONTENT
"// Moved to recordpipe/${header}. This path goes with version 0.3.
#pragma once

#include \"recordpipe/${header}\"
")
      list(APPEND all ${recordpipe_moved}/recordpipe/${old})
    endif()
  endforeach()
  set(${files} ${all} PARENT_SCOPE)
endfunction()
