#include "tools/tfrecord/records/manifest_check.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/shard_record.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/url_path.h"
#include "tools/tfrecord/io/input_progress.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

std::string line_of(const std::string& path, const ShardRecord& expected,
                    const std::string& difference, bool json) {
  if (!json) {
    return fmt::format("{}: {}\n", shown_path(path),
                       difference.empty() ? fmt::format("as in the manifest, {}, {}",
                                                        counted(expected.records, "record"),
                                                        byte_count(expected.bytes))
                                          : difference);
  }
  nlohmann::ordered_json line = {{"path", without_secrets(path)},
                                 {"records", expected.records},
                                 {"bytes", expected.bytes},
                                 {"intact", difference.empty()}};
  if (!difference.empty()) line["error"] = difference;
  return json_line(line);
}

}  // namespace

ExitCode check_manifests(const CommandContext& context, const std::vector<std::string>& manifests,
                         size_t threads, bool json, Output& out) {
  std::vector<std::string> paths;
  std::vector<ShardRecord> expected;
  uint64_t bytes = 0;
  for (const std::string& manifest : manifests) {
    for (ShardRecord& record : read_manifest(context.files, manifest)) {
      paths.push_back(parent_directory(manifest) + "/" + record.output);
      bytes += record.bytes;
      expected.push_back(std::move(record));
    }
  }
  InputProgress progress(context, "verify", bytes);
  return for_each_input_at_once(
      context, "verify", paths, threads,
      [&](const FileShare& share) -> InputReport {
        const size_t i = share.number;
        const std::string found =
            difference(find_output(context.files, paths[i], expected[i]), expected[i]);
        progress.add(expected[i].bytes);
        return [&, i, found] {
          context.progress.clear();
          out.write(line_of(paths[i], expected[i], found, json));
          return found.empty() ? ExitCode::ok : ExitCode::no;
        };
      },
      [](ErrorKind) { return ExitCode::trouble; },
      // One thread reads a file, also a large one.
      turn_of_headers);
}

}  // namespace recordpipe
