#include "dataset/toolkit/jobs/job_features.h"

#include "dataset/toolkit/state_bytes.h"

namespace recordpipe {
namespace {

void archive(auto& state, FileFeatures& file) {
  state.number(file.any_taken);
  archive_names(state, file.found);
  archive_names(state, file.present);
  archive_seen(state, file.seen);
}

}  // namespace

std::string to_bytes(FileFeatures file) {
  StateSaver state;
  archive(state, file);
  return state.take();
}

FileFeatures file_features(std::string_view bytes) {
  StateLoader state(bytes);
  FileFeatures file;
  archive(state, file);
  state.require_end();
  return file;
}

void JobFeatures::add(const FileFeatures& file) {
  any_taken_ = any_taken_ || file.any_taken;
  found_.insert(file.found.begin(), file.found.end());
  present_.add(file.present);
  if (selection_.where) selection_.where->add_seen(file.seen);
}

std::string JobFeatures::require_found_in_any(bool added_all) const {
  const bool looked_at_all = added_all && !selection_.fraction && !selection_.limit;
  std::string note;
  if (selection_.where) note = selection_.where->require_possible(looked_at_all);
  if (!any_taken_) return note;
  const std::string missing =
      require_found(names_of(selection_), found_, present_.all(), looked_at_all);
  if (!note.empty() && !missing.empty()) note += "; ";
  return note + missing;
}

}  // namespace recordpipe
