#include "dataset/toolkit/jobs/convert_plan.h"

#include "dataset/base/available_cpus.h"
#include "dataset/base/damage_hint.h"
#include "dataset/toolkit/files/count_records.h"
#include "dataset/toolkit/files/many_files.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/io/file.h"

namespace recordpipe {
namespace {

struct InputFacts {
  std::optional<uint64_t> bytes = {};
  std::optional<uint64_t> records = {};
};

InputFacts facts_of(const FileWork& work, const std::string& path, const InputReading& input,
                    const InputStatus& known) {
  InputFacts facts;
  if (known.is_stream) return facts;
  if (known.is_local_regular) {
    facts.bytes = known.size;
  } else if (const auto size = regular_file_size(work.files, path)) {
    facts.bytes = *size;
  } else if (!is_url(path)) {
    open_uncounted(work, path);  // reports what it is
  }
  if (input.on_damage != OnDamage::raise) {  // headers don't tell how many records are intact
    open_random_input(work, path);           // reports what can't be read
    return facts;
  }
  facts.records = naming_remedy(input.remedy, [&] {
    return count_without_reading(work, path, input.reading, UrlHeaders::leave);
  });
  return facts;
}

template <typename T>
void add(std::optional<T>& sum, const std::optional<T>& part) {
  sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
}

std::vector<std::string> outputs_of(const ConvertOptions& options) {
  const RecordOutputOptions& output = options.output;
  check_names(output);
  check_files_at_once(output);
  if (output.max_bytes == 0) return output_paths(output);
  const std::string number(5, '?');
  const std::string unknown = number + "-of-" + number;
  std::vector<std::string> patterns = output_paths(output);
  for (std::string& pattern : patterns) {
    pattern.replace(pattern.size() - unknown.size(), unknown.size(), unknown);
  }
  return patterns;
}

}  // namespace

ConvertPlan plan_conversion(const FileWork& work, const ConvertOptions& options) {
  check_conversion(options);
  const std::vector<std::string>& paths = options.input.paths;
  ConvertPlan plan = {
      .inputs = paths.size(),
      .bytes = 0,
      .records = 0,
      .once_if_few = !options.counts_without_data() && !options.selection.edit.replace,
      .outputs = outputs_of(options)};
  work.begin("count");
  for_each_file<InputFacts>(
      paths.size(), thread_count(options.selection.threads),
      [&](size_t number) { return turn_of_headers(work, paths[number]); },
      [&](FileShare share) {
        return facts_of(work, paths[share.number], options.input, share.turn.status);
      },
      [&, number = size_t{0}](const InputFacts& facts) mutable {
        add(plan.bytes, facts.bytes);
        add(plan.records, facts.records);
        if (options.needs_count() && !(facts.records && options.counts_without_data())) {
          plan.read_twice.push_back(paths[number]);
        }
        ++number;
        return true;
      });
  return plan;
}

}  // namespace recordpipe
