// Makes records from JSON, selects some with a where expression, and prints them as JSON.
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"
#include "recordpipe/toolkit/json_examples.h"
#include "recordpipe/toolkit/record_json.h"
#include "recordpipe/toolkit/record_selection.h"

using namespace recordpipe;

int main() {
  RecordWriter writer(posix_file_system(), "pets.tfrecords");
  const FeatureTypes types;
  JsonExamples examples(types);
  JsonSurvey::Place place;
  for (const std::string_view line :
       {R"({"name": "cat", "legs": 4})", R"({"name": "hen", "legs": 2})"}) {
    ++place.line;
    const std::string record = examples.record(line, place);
    writer.write(std::as_bytes(std::span(record)));
  }
  writer.close();

  RecordReader reader(posix_file_system(), "pets.tfrecords");
  const RecordSelection selection = {.where = Where("legs > 2")};
  MessageView message;
  JsonText json;
  select_records([&] { return reader.read(); }, selection,
                 [&](RecordPieces record) {
                   message.read(record.front());
                   append_record_json({.record = {.data = record.front()}, .message = message},
                                      json);
                 });
  std::fputs(json.text().c_str(), stdout);
}
