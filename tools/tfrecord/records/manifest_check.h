// verify --manifest: checks the files of a folder by the manifest of the job that made them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/output.h"

namespace recordpipe {

// Compares the size and the CRC-32C of each file in the manifests with the file beside its
// manifest; several files at a time. Writes a line for each file:
//     out/a.tfrecord: as in the manifest, 3 records, 88 bytes
//     out/b.tfrecord: 80 bytes, not the 88 of the manifest
//     {"path": "out/b.tfrecord", "records": 3, "bytes": 88, "intact": false, "error": "..."}
// `records` and `bytes` are those of the manifest. Throws read_manifest()'s errors.
ExitCode check_manifests(const CommandContext& context, const std::vector<std::string>& manifests,
                         size_t threads, bool json, Output& out);

}  // namespace recordpipe
