// Prints the selected records of files, for show, head, tail and grep.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dataset/example/event_view.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/record_json.h"
#include "recordpipe/toolkit/where.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/event_arguments.h"
#include "tools/tfrecord/records/record_cursor.h"
#include "tools/tfrecord/text/proto_messages.h"
#include "tools/tfrecord/text/record_text.h"

namespace recordpipe {

struct PrintOptions {
  enum class Format {
    text,
    json,    // a line for each record
    raw,     // the data
    framed,  // the record
    none,    // records are only counted
  };

  InputReading input = {};  // without paths
  Format format = Format::text;
  RecordTextOptions text = {};
  std::optional<MessageKind> kind = {};  // of the messages; default: as message_kind() says
  FeatureNames features = {};            // to print; default: all
  // Records are messages of this type (default: of `kind`), and `where` is about its fields.
  std::shared_ptr<const ProtoMessages> proto = {};
  std::optional<Where> where = {};
  std::optional<EventFilter> events = {};   // prints only Events, and only these values
  bool inverts_where = false;               // print the records that `where` doesn't select
  std::optional<uint64_t> limit = {};       // of all files together
  std::optional<uint64_t> file_limit = {};  // of each file
  size_t threads = 0;
};

using PrintFormat = PrintOptions::Format;

class RecordBlock;

class RecordPrinter {
 public:
  // `output` is not closed.
  RecordPrinter(const CommandContext& context, PrintOptions options, Output& output);
  RecordPrinter(const RecordPrinter&) = delete;
  RecordPrinter& operator=(const RecordPrinter&) = delete;

  // Prints the selected records of `path` in the range. `shown` is the path to print with each
  // record; empty: none. Returns the number of selected records, up to the limit. `last` gets the
  // number of the record after the last one that was read, if it is given.
  uint64_t print_file(const std::string& path, std::string_view shown, InputProgress& progress,
                      RecordRange range = {}, uint64_t* last = nullptr);
  // Whether options.where and options.events select the record.
  bool selects(const NumberedRecord& record);
  // Prints a record if it is selected.
  void print(const NumberedRecord& record, std::string_view shown);

  // Whether the limit of all files is reached.
  bool is_full() const { return left_ == 0; }
  // Whether any record was selected.
  bool any() const { return any_; }
  // Must be called after the last file. Throws Error{not_found} for a feature that was named and
  // that no record has, or returns a note, as Where::require_possible() and require_found().
  // `looked_at_all` says whether all records were read, apart from what the limits left out.
  [[nodiscard]] std::string require_possible(bool looked_at_all) const;

 private:
  struct Printed;

  std::optional<NumberedRecord> read(RecordCursor& cursor);
  void read_message(const Record& record, MessageView& message,
                    ProtoMessages::Features& proto) const;
  std::string content_of(const NumberedRecord& record) const;
  bool is_selected(const NumberedRecord& record, const MessageView& message,
                   const ProtoMessages::Features& proto) const;
  bool wanted(const NumberedRecord& record, MessageView& message,
              const ProtoMessages::Features& proto, FeatureNames& found) const;
  bool selects_event(const NumberedRecord& record, const MessageView& message) const;
  Printed print_block(const RecordBlock& block, std::string_view path) const;
  void append(const ShownRecord& shown, std::string& out) const;
  bool write(const Printed& printed);
  bool write_large(const NumberedRecord& record, std::string_view path);

  const CommandContext& context_;
  const PrintOptions options_;
  const bool reads_messages_;
  Output& output_;
  uint64_t left_;
  uint64_t left_in_file_ = UINT64_MAX;
  uint64_t printed_in_file_ = 0;
  bool any_ = false;
  bool was_limited_ = false;  // a limit was reached, so that records may not have been read
  FeatureNames found_;        // names of options_.features that occurred
  FirstNames present_;
  mutable TagsSeen tags_;          // of options_.events
  MessageView message_;            // used on the reading thread
  ProtoMessages::Features proto_;  // of message_
};

}  // namespace recordpipe
