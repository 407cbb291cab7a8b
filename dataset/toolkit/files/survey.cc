#include "dataset/toolkit/files/survey.h"

#include <cstdint>
#include <optional>

#include "dataset/base/available_cpus.h"
#include "dataset/toolkit/selection/record_pass.h"
#include "recordpipe/message_view.h"

namespace recordpipe {
namespace {

// The contribution of a block of records to the statistics.
struct StatisticsBlock {
  StatisticsPart statistics = {};
  FeatureNames found = {};  // requested names in all records read, selected or not
};

}  // namespace

InferredSchema infer_schema(const FileWork& work, const std::vector<std::string>& paths,
                            SurveyOptions options) {
  RecordFilter& filter = options.filter;
  InferredSchema schema;
  work.begin("look");
  for (const std::string& path : paths) {
    if (filter.is_full()) break;
    RecordReader reader(open_counted(work, path), options.reading);
    const auto read = [&] { return reader.read(); };
    pass_over_records<InferredSchema>([&] { return filter.next(read); }, 0,
                                      thread_count(options.threads),
                                      [&](const RecordBlock& block) {
                                        MessageView message;
                                        InferredSchema part;
                                        for (size_t i = 0; i < block.size(); ++i) {
                                          message.read(block[i].data);
                                          if (!filter.matches(message)) continue;
                                          part.add(message, block[i].data.size());
                                        }
                                        return part;
                                      },
                                      [&](const InferredSchema& part) {
                                        schema.merge(part);
                                        return true;
                                      },
                                      [&](uint64_t, const Record& record) {
                                        MessageView message;
                                        message.read(record.data);
                                        if (!filter.matches(message)) return true;
                                        schema.add(message, record.data.size());
                                        return true;
                                      },
                                      {.growth = 4});
  }
  filter.require_possible();
  return schema;
}

FeatureStatistics compute_statistics(const FileWork& work, const std::vector<std::string>& paths,
                                     const FeatureNames& names, SurveyOptions options) {
  const std::vector<std::string> only(names.begin(), names.end());
  RecordFilter& filter = options.filter;
  FeatureStatistics all;
  FeatureNames found;
  FirstNames present;
  work.begin("count");
  for (const std::string& path : paths) {
    if (filter.is_full()) break;
    RecordReader reader(open_counted(work, path), options.reading);
    MessageView first;
    const auto read = [&] {
      auto record = reader.read();
      if (record && !names.empty() && !present.is_full()) {
        first.read(record->data);
        present.add(first);
      }
      return record;
    };
    pass_over_records<StatisticsBlock>(
        [&] { return filter.next(read); }, 0, thread_count(options.threads),
        [&](const RecordBlock& block) {
          MessageView message;
          StatisticsBlock part;
          for (size_t i = 0; i < block.size(); ++i) {
            message.read(block[i].data);
            find_names(message, names, part.found);
            if (filter.matches(message)) part.statistics.add(message, only);
          }
          part.statistics.settle();
          return part;
        },
        [&](const StatisticsBlock& part) {
          all.merge(part.statistics);
          found.insert(part.found.begin(), part.found.end());
          return true;
        },
        [&](uint64_t, const Record& record) {
          MessageView message;
          message.read(record.data);
          find_names(message, names, found);
          if (filter.matches(message)) all.add(message, only);
          return true;
        },
        {.block_size = size_t{512} << 10, .large_size = size_t{1} << 20, .growth = 4});
  }
  filter.require_possible();
  if (all.records > 0) require_found(names, found, present.all(), !filter.is_full());
  return all;
}

}  // namespace recordpipe
