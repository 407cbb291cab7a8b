#include "tools/tfrecord/records/record_printer.h"

#include <algorithm>
#include <span>
#include <sstream>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/base/in_record.h"
#include "dataset/toolkit/selection/record_pass.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_writer.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {

// The text of printed records, and the end of each record in the text.
struct RecordPrinter::Printed {
  std::string text = {};
  std::vector<size_t> ends = {};
  FeatureNames found = {};  // names of options_.features in all records read, selected or not
  std::optional<Error> error = {};  // of the record behind the last printed one
};

RecordPrinter::RecordPrinter(const CommandContext& context, PrintOptions options, Output& output)
    : context_(context),
      options_(std::move(options)),
      reads_messages_(options_.format == PrintFormat::json ||
                      options_.format == PrintFormat::text || options_.where || options_.events ||
                      !options_.features.empty()),
      output_(output),
      left_(options_.limit.value_or(UINT64_MAX)),
      tags_(options_.events ? options_.events->tags : std::vector<std::string>()),
      message_(options_.kind) {}

uint64_t RecordPrinter::print_file(const std::string& path, std::string_view shown,
                                   InputProgress& progress, RecordRange range, uint64_t* last) {
  left_in_file_ = options_.file_limit.value_or(UINT64_MAX);
  printed_in_file_ = 0;
  const auto is_at_limit = [&] { return left_in_file_ == 0 || is_full(); };
  if (is_at_limit()) {
    was_limited_ = true;
    return 0;
  }
  HeldDamage damage(options_.input.damaged);
  InputReading input = options_.input;
  input.paths = {path};
  input.damaged = damage.holding();
  RecordCursor cursor(context_, std::move(input), range, progress);
  pass_over_records<Printed>(
      [&] { return read(cursor); }, thread_count(options_.threads),
      [&](const RecordBlock& block) { return print_block(block, shown); },
      [&](const Printed& printed) { return write(printed); },
      [&](const NumberedRecord& record) { return write_large(record, shown); },
      {.growth = 2, .damage = &damage});
  was_limited_ = was_limited_ || is_at_limit();
  if (last != nullptr) *last = cursor.next();
  return printed_in_file_;
}

bool RecordPrinter::selects(const NumberedRecord& record) {
  if (!options_.where && !options_.events) return true;
  read_message(record, message_, proto_);
  find_names(message_, options_.features, found_);
  return is_selected(record, message_, proto_);
}

void RecordPrinter::print(const NumberedRecord& record, std::string_view shown) {
  if (!options_.features.empty() && !present_.is_full()) {
    read_message(record, message_, proto_);
    present_.add(message_);
  }
  left_in_file_ = UINT64_MAX;
  write_large(record, shown);
}

std::string RecordPrinter::require_possible(bool looked_at_all) const {
  const bool all = looked_at_all && !was_limited_;
  std::string note = options_.where ? options_.where->require_possible(all) : std::string();
  const auto add = [&note](const std::string& more) {
    if (!note.empty() && !more.empty()) note += "; ";
    note += more;
  };
  add(tags_.note(all));
  if (any_) add(require_found(options_.features, found_, present_.all(), all));
  return note;
}

std::optional<NumberedRecord> RecordPrinter::read(RecordCursor& cursor) {
  auto record = cursor.read();
  if (record && !options_.features.empty() && !present_.is_full()) {
    read_message(*record, message_, proto_);
    present_.add(message_);
  }
  return record;
}

// `proto` keeps the bytes of the message's features.
void RecordPrinter::read_message(const Record& record, MessageView& message,
                                 ProtoMessages::Features& proto) const {
  if (!options_.proto) return message.read(record.data);
  try {
    proto = options_.proto->features(record.data);
  } catch (const Error& error) {
    throw in_record(error, record.path, record.offset);
  }
  message.read(std::as_bytes(std::span(proto.example)));
}

// The message as options_.proto prints it.
std::string RecordPrinter::content_of(const NumberedRecord& record) const {
  const ProtoMessages& proto = *options_.proto;
  try {
    if (options_.format == PrintFormat::json) {
      size_t unknown_fields = 0;
      std::string json = proto.json(record.data, unknown_fields);
      if (unknown_fields > 0) {
        json += ", \"unknown_fields\": " + std::to_string(unknown_fields);
      }
      return json;
    }
    if (options_.format != PrintFormat::text) return "";
    std::string out = proto.type() + ", " + byte_count(record.data.size()) + "\n";
    std::istringstream lines(proto.text(record.data));
    for (std::string line; std::getline(lines, line);) out += "  " + line + "\n";
    return out;
  } catch (const Error& error) {
    throw in_record(error, record.path, record.offset);
  }
}

bool RecordPrinter::selects_event(const NumberedRecord& record, const MessageView& message) const {
  if (message.kind() != MessageKind::event) {
    tags_.add_other();
    return false;
  }
  try {
    EventView event = read_event(record.data);
    tags_.add(event);
    return keep_selected(event, *options_.events);
  } catch (const Error&) {
    return false;  // nothing is known of its values
  }
}

bool RecordPrinter::is_selected(const NumberedRecord& record, const MessageView& message,
                                const ProtoMessages::Features& proto) const {
  // Both see each record, for what they note.
  const auto* const exact = options_.proto ? &proto.exact : nullptr;
  const bool has_event = !options_.events || selects_event(record, message);
  const bool matches =
      !options_.where || options_.where->matches(message, record, exact) != options_.inverts_where;
  return has_event && matches;
}

// Returns whether the message is selected; if it is, keeps only the requested features.
bool RecordPrinter::wanted(const NumberedRecord& record, MessageView& message,
                           const ProtoMessages::Features& proto, FeatureNames& found) const {
  find_names(message, options_.features, found);
  if (!is_selected(record, message, proto)) return false;
  keep_features(message, options_.features);
  return true;
}

RecordPrinter::Printed RecordPrinter::print_block(const RecordBlock& block,
                                                  std::string_view path) const {
  MessageView message(options_.kind);
  JsonText json;
  Printed printed;
  ProtoMessages::Features features;
  const auto print_record = [&](const NumberedRecord& record) {
    if (reads_messages_) read_message(record, message, features);
    if (!wanted(record, message, features, printed.found)) return;
    ShownRecord shown = {
        .path = path, .number = record.number, .record = record, .message = message};
    shown.events = options_.events ? &*options_.events : nullptr;
    std::string content;
    if (options_.proto) shown.content = &(content = content_of(record));
    if (options_.format == PrintFormat::json) {
      append_record_json(shown, json);
      printed.ends.push_back(json.text().size());
      return;
    }
    append(shown, printed.text);
    printed.ends.push_back(printed.text.size());
  };
  try {
    for (size_t i = 0; i < block.size(); ++i) print_record(block[i]);
  } catch (const Error& error) {
    printed.error = error;
  }
  if (options_.format == PrintFormat::json) printed.text = json.take();
  return printed;
}

// Appends a record in any format but JSON.
void RecordPrinter::append(const ShownRecord& shown, std::string& out) const {
  if (options_.format == PrintFormat::text) {
    out += record_text(shown, options_.text);
  } else if (options_.format == PrintFormat::framed) {
    append_framed(shown.record.data, out);
  } else if (options_.format == PrintFormat::raw) {
    out.append(reinterpret_cast<const char*>(shown.record.data.data()), shown.record.data.size());
  }
}

// Returns whether more records are wanted.
bool RecordPrinter::write(const Printed& printed) {
  const uint64_t left = std::min(left_, left_in_file_);
  const uint64_t count = std::min<uint64_t>(left, printed.ends.size());
  std::string_view text = printed.text;
  if (count < printed.ends.size() || printed.error) {
    text = text.substr(0, count == 0 ? 0 : printed.ends[count - 1]);
  }
  left_ -= count;
  left_in_file_ -= count;
  printed_in_file_ += count;
  any_ = any_ || count > 0;
  found_.insert(printed.found.begin(), printed.found.end());
  output_.write(text);
  if (printed.error && left > count) throw *printed.error;
  return left > count;
}

bool RecordPrinter::write_large(const NumberedRecord& record, std::string_view path) {
  MessageView message(options_.kind);
  ProtoMessages::Features features;
  read_message(record, message, features);
  if (!wanted(record, message, features, found_)) return true;
  ShownRecord shown = {.path = path, .number = record.number, .record = record, .message = message};
  shown.events = options_.events ? &*options_.events : nullptr;
  std::string content;
  if (options_.proto) shown.content = &(content = content_of(record));
  if (options_.format == PrintFormat::json) {
    JsonText json([&](std::string_view piece) { output_.write(piece); });
    append_record_json(shown, json);
    output_.write(json.text());
  } else if (options_.format == PrintFormat::raw) {
    output_.write(record.data);
  } else if (options_.format == PrintFormat::framed) {
    output_.write(encode_record_header(record.data.size()));
    output_.write(record.data);
    output_.write(encode_record_footer(record.data));
  } else {
    std::string text;
    append(shown, text);
    output_.write(text);
  }
  any_ = true;
  ++printed_in_file_;
  --left_;
  --left_in_file_;
  return left_ > 0 && left_in_file_ > 0;
}

}  // namespace recordpipe
