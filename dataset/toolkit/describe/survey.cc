#include "dataset/toolkit/describe/survey.h"

#include "dataset/base/available_cpus.h"
#include "dataset/toolkit/selection/record_pass.h"
#include "recordpipe/example/message_view.h"

namespace recordpipe {
namespace {

// The contribution of a block of records to the statistics.
struct StatisticsBlock {
  StatisticsPart statistics = {};
  FeatureNames found = {};  // requested names in all records read, selected or not
};

// `skipped` and `options` must outlive the result.
InputReading reading_of(const std::vector<std::string>& paths, const SurveyOptions& options,
                        DamageSkipped& skipped) {
  InputReading input = options.input;
  input.paths = paths;
  input.damaged = [&](const std::string& path, const DamagedRegion& region) {
    skipped.add(region);
    if (options.input.damaged) options.input.damaged(path, region);
  };
  return input;
}

}  // namespace

InferredSchema infer_schema(const FileWork& work, const std::vector<std::string>& paths,
                            SurveyOptions options) {
  InferredSchema schema = survey_schema(work, paths, options);
  work.note(options.filter.require_possible());
  return schema;
}

InferredSchema survey_schema(const FileWork& work, const std::vector<std::string>& paths,
                             SurveyOptions& options) {
  RecordFilter& filter = options.filter;
  InferredSchema schema;
  work.begin("look");
  const InputReading input = reading_of(paths, options, schema.skipped);
  InputRecords records(work, input, thread_count(options.threads));
  const auto read = [&] { return records.next(); };
  pass_over_records<InferredSchema>([&] { return filter.next(read); },
                                    thread_count(options.threads),
                                    [&](const RecordBlock& block) {
                                      MessageView message(filter.kind());
                                      InferredSchema part;
                                      for (size_t i = 0; i < block.size(); ++i) {
                                        const NumberedRecord record = block[i];
                                        message.read(record.data);
                                        if (!filter.matches(message, record)) continue;
                                        part.add(message, record.data.size());
                                      }
                                      return part;
                                    },
                                    [&](const InferredSchema& part) {
                                      schema.merge(part);
                                      return true;
                                    },
                                    [&](const NumberedRecord& record) {
                                      MessageView message(filter.kind());
                                      message.read(record.data);
                                      if (!filter.matches(message, record)) return true;
                                      schema.add(message, record.data.size());
                                      return true;
                                    },
                                    {.growth = 4});
  return schema;
}

FeatureStatistics compute_statistics(const FileWork& work, const std::vector<std::string>& paths,
                                     const FeatureNames& names, SurveyOptions options) {
  StatisticsSurvey survey = survey_statistics(work, paths, names, options);
  work.note(options.filter.require_possible());
  if (survey.statistics.records > 0) {
    work.note(require_found(names, survey.found, survey.present, !options.filter.is_full()));
  }
  return std::move(survey.statistics);
}

StatisticsSurvey survey_statistics(const FileWork& work, const std::vector<std::string>& paths,
                                   const FeatureNames& names, SurveyOptions& options) {
  const std::vector<std::string> only(names.begin(), names.end());
  RecordFilter& filter = options.filter;
  StatisticsSurvey survey;
  auto& [all, found, first_names] = survey;
  FirstNames present;
  work.begin("count");
  const InputReading input = reading_of(paths, options, all.skipped);
  InputRecords records(work, input, thread_count(options.threads));
  MessageView first(filter.kind());
  const auto read = [&] {
    auto record = records.next();
    if (record && !names.empty() && !present.is_full()) {
      first.read(record->data);
      present.add(first);
    }
    return record;
  };
  pass_over_records<StatisticsBlock>(
      [&] { return filter.next(read); }, thread_count(options.threads),
      [&](const RecordBlock& block) {
        MessageView message(filter.kind());
        StatisticsBlock part;
        for (size_t i = 0; i < block.size(); ++i) {
          const NumberedRecord record = block[i];
          message.read(record.data);
          find_names(message, names, part.found);
          if (filter.matches(message, record)) {
            part.statistics.add(message, record.data.size(), only);
          }
        }
        part.statistics.settle();
        return part;
      },
      [&](const StatisticsBlock& part) {
        all.merge(part.statistics);
        found.insert(part.found.begin(), part.found.end());
        return true;
      },
      [&](const NumberedRecord& record) {
        MessageView message(filter.kind());
        message.read(record.data);
        find_names(message, names, found);
        if (filter.matches(message, record)) all.add(message, record.data.size(), only);
        return true;
      },
      {.block_size = size_t{512} << 10, .large_size = size_t{1} << 20, .growth = 4});
  first_names = present.all();
  return survey;
}

}  // namespace recordpipe
