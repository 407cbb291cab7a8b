#include "recordpipe/toolkit/record_selection.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/base/in_record.h"
#include "dataset/toolkit/files/input_records.h"
#include "dataset/toolkit/selection/record_pass.h"
#include "recordpipe/example/message_view.h"

namespace recordpipe {
namespace {

constexpr uint64_t kSampleStream = 0x5341'4d50'4c45'0001;  // the sample's random stream
constexpr size_t kMaxThreads = 16;                         // limits the memory of all blocks

// An edited record, or why it can't be edited, which doesn't matter behind the limit.
struct EditResult {
  EditedMessage message = {};
  std::optional<Error> error = {};
  bool can_be_skipped = false;  // the error is that of FeatureEdit::replace
};

// What FeatureEdit::replace has thrown, and no other part of the edit.
struct FailedReplacement {
  Error error;
};

FeatureEdit marking_failures(FeatureEdit edit) {
  if (!edit.replace) return edit;
  edit.replace = [replace = std::move(edit.replace)](const MessageView& message) {
    try {
      return replace(message);
    } catch (const Error& error) {
      throw FailedReplacement{error};
    }
  };
  return edit;
}

struct SelectedBlock {
  RecordBlock block;
  std::vector<size_t> wanted = {};      // indexes in the block
  std::vector<EditResult> edited = {};  // of the wanted records, if there is an edit
  FeatureNames found = {};              // requested names in records that aren't selected
};

bool reads_ahead(const RecordSelection& selection) {
  return selection.where || !selection.edit.empty();
}

class Selector {
 public:
  Selector(const std::function<std::optional<Record>()>& read, const RecordSelection& selection,
           const std::function<void(RecordPieces, const NumberedRecord&)>& consume,
           HeldDamage* damage = nullptr)
      : read_(read),
        selection_(selection),
        edit_(marking_failures(selection.edit)),
        names_(names_of(selection)),
        consume_(consume),
        damage_(damage),
        message_(selection.edit.kind) {}

  SelectionReport run() {
    if (reads_ahead(selection_)) {
      pass_over_records<SelectedBlock>(
          [this] { return next_record(); }, std::min(thread_count(selection_.threads), kMaxThreads),
          [this](RecordBlock block) { return select(std::move(block)); },
          [this](const SelectedBlock& selected) { return take_block(selected); },
          [this](const NumberedRecord& record) { return take_large(record); }, {.damage = damage_});
    } else {
      while (const auto record = next_record()) take(*record, RecordPieces(&record->data, 1));
    }
    report_.looked_at_all = !is_full() && !selection_.fraction && !selection_.is_part;
    report_.present = present_.all();
    if (selection_.where) {
      report_.note = selection_.where->require_possible(report_.looked_at_all);
    }
    return std::move(report_);
  }

 private:
  bool is_full() const { return selection_.limit && report_.taken >= *selection_.limit; }

  // Returns the next record in the sample.
  std::optional<NumberedRecord> next_record() {
    if (is_full()) return std::nullopt;
    while (const auto record = read_()) {
      note_present(*record);
      const NumberedRecord numbered = numbers_.numbered(*record);
      if (is_in_sample(selection_, report_.read++)) return numbered;
    }
    return std::nullopt;
  }

  void note_present(const Record& record) {
    if (names_.empty() || present_.is_full()) return;
    message_.read(record.data);
    present_.add(message_);
  }

  // Returns whether the record is selected. If it isn't, adds to `found` the requested names that
  // occur in the record.
  bool is_wanted(const NumberedRecord& record, MessageView& message, FeatureNames& found) const {
    if (!selection_.where) return true;
    message.read(record.data);
    if (selection_.where->matches(message, record)) return true;
    find_names(message, names_, found);
    return false;
  }

  SelectedBlock select(RecordBlock block) const {
    SelectedBlock selected{.block = std::move(block)};
    MessageView message(selection_.edit.kind);
    for (size_t i = 0; i < selected.block.size(); ++i) {
      const NumberedRecord record = selected.block[i];
      if (!is_wanted(record, message, selected.found)) continue;
      selected.wanted.push_back(i);
      if (!selection_.edit.empty()) selected.edited.push_back(edit(record));
    }
    return selected;
  }

  EditResult edit(const Record& record) const {
    try {
      return {.message = edit_features(record.data, edit_)};
    } catch (const Error& error) {
      return {.error = in_record(error, record.path, record.offset)};
    } catch (const FailedReplacement& failed) {
      return {.error = in_record(failed.error, record.path, record.offset), .can_be_skipped = true};
    }
  }

  // take_block() and take_large() return whether more records are wanted.
  bool take_block(const SelectedBlock& selected) {
    report_.found.insert(selected.found.begin(), selected.found.end());
    for (size_t i = 0; i < selected.wanted.size(); ++i) {
      const NumberedRecord record = selected.block[selected.wanted[i]];
      if (!selected.edited.empty()) {
        take(record, selected.edited[i]);
      } else {
        take(record, RecordPieces(&record.data, 1));
      }
    }
    return !is_full();
  }

  bool take_large(const NumberedRecord& record) {
    MessageView message(selection_.edit.kind);
    if (is_wanted(record, message, report_.found)) {
      if (selection_.edit.empty()) {
        take(record, RecordPieces(&record.data, 1));
      } else {
        take(record, edit(record));
      }
    }
    return !is_full();
  }

  void take(const NumberedRecord& record, const EditResult& edited) {
    if (is_full()) return;
    if (edited.error) {
      if (!edited.can_be_skipped || !selection_.on_failed_edit) throw Error(*edited.error);
      ++report_.failed;
      selection_.on_failed_edit(*edited.error);
      return;
    }
    report_.found.insert(edited.message.found.begin(), edited.message.found.end());
    take(record, RecordPieces(edited.message.pieces));
  }

  void take(const NumberedRecord& record, RecordPieces pieces) {
    if (is_full()) return;
    ++report_.taken;
    try {
      consume_(pieces, record);
    } catch (const Error& error) {
      if (!error.path().empty()) throw;
      throw in_record(error, record.path, record.offset);
    }
  }

  const std::function<std::optional<Record>()>& read_;
  const RecordSelection& selection_;
  const FeatureEdit edit_;
  const FeatureNames names_;
  const std::function<void(RecordPieces, const NumberedRecord&)>& consume_;
  HeldDamage* const damage_;  // of `read`; may be null
  RecordNumbers numbers_;
  MessageView message_;
  FirstNames present_;
  SelectionReport report_;
};

}  // namespace

bool is_in_sample(const RecordSelection& selection, uint64_t index) {
  if (!selection.fraction) return true;
  const uint64_t drawn = Random(derive_key(selection.seed, kSampleStream), 0, index).next64();
  return std::ldexp(static_cast<double>(drawn >> 11), -53) < *selection.fraction;
}

FeatureNames names_of(const RecordSelection& selection) {
  FeatureNames names = selection.named;
  if (const auto& select = selection.edit.select) names.insert(select->begin(), select->end());
  names.insert(selection.edit.drop.begin(), selection.edit.drop.end());
  for (const auto& [name, new_name] : selection.edit.rename) names.insert(name);
  names.insert(selection.edit.replaced.begin(), selection.edit.replaced.end());
  return names;
}

SelectionReport select_records(const std::function<std::optional<Record>()>& read,
                               const RecordSelection& selection,
                               const std::function<void(RecordPieces)>& consume) {
  return select_records(read, selection,
                        [&](RecordPieces pieces, const NumberedRecord&) { consume(pieces); });
}

SelectionReport select_records(
    const std::function<std::optional<Record>()>& read, const RecordSelection& selection,
    const std::function<void(RecordPieces, const NumberedRecord& record)>& consume) {
  return Selector(read, selection, consume).run();
}

SelectionReport select_inputs(
    const FileWork& work, const InputReading& input, const RecordSelection& selection,
    const char* activity, const std::function<void(RecordPieces, const NumberedRecord&)>& consume) {
  work.begin(activity);
  HeldDamage damage(input.damaged);
  InputReading holding = input;
  if (reads_ahead(selection)) holding.damaged = damage.holding();
  InputRecords records(work, holding, thread_count(selection.threads));
  return Selector([&] { return records.next(); }, selection, consume, &damage).run();
}

}  // namespace recordpipe
