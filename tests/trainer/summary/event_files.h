// Reads event files, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/proto/event.pb.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

// Returns the complete records of the files in a folder, in the order of the files' names. Ignores
// a partial record at the end of a file; other damage fails the test.
inline std::vector<proto::Event> events_in(const std::string& folder) {
  std::vector<proto::Event> events;
  for (const std::string& name : posix_file_system().list(folder)) {
    RecordReader reader(posix_file_system(), folder + "/" + name);
    try {
      while (const auto record = reader.read()) {
        proto::Event event;
        EXPECT_TRUE(
            event.ParseFromArray(record->data.data(), static_cast<int>(record->data.size())));
        events.push_back(event);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::truncated) << error.what();
    }
  }
  return events;
}

// Returns the steps of the events that have summaries.
inline std::vector<int64_t> summary_steps_in(const std::string& folder) {
  std::vector<int64_t> steps;
  for (const proto::Event& event : events_in(folder))
    if (event.has_summary()) steps.push_back(event.step());
  return steps;
}

// Returns the summary's values by tag.
inline std::map<std::string, proto::Summary::Value> values_of(const proto::Event& event) {
  std::map<std::string, proto::Summary::Value> values;
  for (const proto::Summary::Value& value : event.summary().value()) {
    EXPECT_FALSE(values.contains(value.tag())) << value.tag();
    values[value.tag()] = value;
  }
  return values;
}

}  // namespace recordpipe
