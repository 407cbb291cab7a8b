#include "dataset/pipeline/state/iterator_state.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "dataset/parallel/for_each.h"
#include "dataset/pipeline/state/iterator_state_codec.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/iterator.h"

namespace recordpipe::internal {
namespace {

constexpr uint32_t kStateVersion = 4;
constexpr size_t kMaxFingerprints = 1024;  // 8 KiB
constexpr size_t kMaxText = 4096;
// Of small requests: nearly all of the time is spent waiting.
constexpr size_t kLookedAtAtOnce = 64;

constexpr char kHint[] = "restore it into the pipeline it was saved from, over the same files";
constexpr char kCodeHint[] =
    "a function has changed since; if its results have not, restore without comparing code (in "
    "Python, compare_code=False)";

[[noreturn]] void refuse_state(std::string reason, std::string path = {},
                               const char* hint = kHint) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = std::move(path),
               .reason = std::move(reason),
               .hint = hint});
}

constexpr char kHasChanged[] =
    "is another file than the state was saved with, or has changed since";

// The indexes of the opened files as ranges [begin, end): begin, end, begin, end, ...
using Runs = std::vector<uint32_t>;

// The number of files that one fingerprint covers.
size_t files_per_fingerprint(size_t files) {
  return std::max<size_t>(1, (files + kMaxFingerprints - 1) / kMaxFingerprints);
}

Runs opened_runs(std::span<const SourceFile> files, const FileFingerprints& known) {
  Runs runs;
  bool in_run = false;
  for (size_t i = 0; i <= files.size(); ++i) {
    const bool is_open = i < files.size() && known.was_opened(*files[i].file_system, files[i].path);
    if (is_open != std::exchange(in_run, is_open)) runs.push_back(static_cast<uint32_t>(i));
  }
  return runs;
}

// Asks for the fingerprints of files that are read over the network, many at a time: `known` keeps
// them. Failures are left to fingerprints().
void look_at(std::span<const SourceFile> files, const std::vector<bool>& is_opened,
             FileFingerprints& known) {
  std::vector<size_t> distant;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [file_system, path] = files[i];
    if (!file_system->reads_ahead(path) || known.was_opened(*file_system, path)) continue;
    distant.push_back(i);
  }
  const auto look = [&](uint64_t at) {
    const size_t file = distant[at];
    const auto& [file_system, path] = files[file];
    try {
      is_opened[file] ? known.content(*file_system, path) : known.name_and_size(*file_system, path);
    } catch (const std::exception&) {
      // The same call will throw it again.
    }
  };
  parallel::for_each(distant.size(), kLookedAtAtOnce, look, parallel::CrewKind::waits);
}

// Fingerprints opened files by content, and other files by name and size.
std::vector<uint64_t> fingerprints(std::span<const SourceFile> files, const Runs& opened,
                                   size_t per_fingerprint, FileFingerprints& known) {
  std::vector<bool> is_opened;
  size_t run = 0;  // index in `opened` of the next bound
  for (size_t i = 0; i < files.size(); ++i) {
    while (run < opened.size() && opened[run] <= i) ++run;
    is_opened.push_back(run % 2 == 1);
  }
  look_at(files, is_opened, known);
  std::vector<uint64_t> all;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [file_system, path] = files[i];
    const uint64_t fingerprint =
        is_opened[i] ? known.content(*file_system, path) : known.name_and_size(*file_system, path);
    if (i % per_fingerprint == 0) all.push_back(0);
    all.back() = derive_key(all.back(), fingerprint);
  }
  return all;
}

// Returns the names and contents of the files that inputs have opened, alternating, sorted by name.
std::vector<uint64_t> input_files(std::span<const SourceFile> sources,
                                  const FileFingerprints& known) {
  std::set<std::pair<uint64_t, uint64_t>> inputs;
  for (const FileFingerprints::Opened& file : known.opened_besides(sources)) {
    inputs.emplace(file.fingerprint.name, file.fingerprint.content);
  }
  std::vector<uint64_t> out;
  for (const auto& [name, content] : inputs) out.insert(out.end(), {name, content});
  return out;
}

[[noreturn]] void refuse_version(uint32_t version) {
  const bool is_older = version < kStateVersion;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "a state of version " + std::to_string(version) +
                         ", but this program reads version " + std::to_string(kStateVersion),
               .hint = is_older ? "finish the pass with the older program that saved it, or start "
                                  "a new pass"
                                : "restore it with the newer program that saved it"});
}

// The part of a plan's text that a state keeps.
std::string kept_text(const PlanDescription& plan) {
  return plan.text(PlanDescription::Detail::compared).substr(0, kMaxText);
}

// The error names the first line that differs between the two texts.
[[noreturn]] void refuse_plan(const IteratorState& state, const PlanDescription& plan) {
  const std::string plan_text = kept_text(plan);
  std::string_view saved = state.plan_text;
  std::string_view here = plan_text;
  const bool is_code =
      state.operators_hash == plan.hash(PlanDescription::Detail::compared_except_code);
  const std::string what = is_code ? "a state of other code" : "a state of another plan";
  const auto next_line = [](std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
  };
  while (!saved.empty() || !here.empty()) {
    const std::string_view saved_line = next_line(saved);
    const std::string_view here_line = next_line(here);
    if (saved_line == here_line) continue;
    const auto named = [](std::string_view line) {
      return line.empty() ? std::string("nothing") : printable(line);
    };
    refuse_state(
        what + ": it was saved with " + named(saved_line) + " where here is " + named(here_line),
        {}, is_code ? kCodeHint : kHint);
  }
  refuse_state(what, {}, is_code ? kCodeHint : kHint);
}

IteratorState parse(std::string_view serialized) {
  std::optional<ParsedIteratorState> parsed = parse_iterator_state(serialized);
  if (!parsed) refuse_state("not a saved iterator state");
  if (!parsed->is_intact) refuse_state("a damaged iterator state");
  if (parsed->state.version != kStateVersion) refuse_version(parsed->state.version);
  return std::move(parsed->state);
}

void check_files(const PlanDescription& plan, const IteratorState& state, FileFingerprints& known) {
  const std::vector<SourceFile> files = plan.source_files();
  const size_t per_fingerprint = files_per_fingerprint(files.size());
  const std::vector<uint64_t>& saved = state.file_fingerprints;
  if (state.files_per_fingerprint != per_fingerprint) {
    refuse_state("a state of another number of files");
  }
  const std::vector<uint64_t> here =
      fingerprints(files, state.opened_files, per_fingerprint, known);
  if (saved.size() != here.size()) refuse_state("a state of another number of files");
  for (size_t i = 0; i < here.size(); ++i) {
    if (saved[i] == here[i]) continue;
    const size_t first = i * per_fingerprint;
    const size_t last = std::min(first + per_fingerprint, files.size()) - 1;
    refuse_state(first == last
                     ? kHasChanged
                     : "or one of the files up to " + shown_path(files[last].path) +
                           " is another than the state was saved with, or has changed since",
                 files[first].path);
  }
}

void expect_input_files(const std::vector<uint64_t>& files, FileFingerprints& known) {
  if (files.size() % 2 != 0) refuse_state("not a saved iterator state");
  std::multimap<uint64_t, uint64_t> contents_by_name;
  for (size_t i = 0; i < files.size(); i += 2) contents_by_name.emplace(files[i], files[i + 1]);
  known.expect(std::move(contents_by_name));
}

}  // namespace

std::string save_iterator_state(const PlanDescription& plan, const IteratorPlace& place,
                                FileFingerprints& known) {
  const std::vector<SourceFile> files = plan.source_files();
  const size_t per_fingerprint = files_per_fingerprint(files.size());
  const std::string text = plan.text(PlanDescription::Detail::compared);
  IteratorState state{.version = kStateVersion,
                      .plan_hash = PlanDescription::hash(text),
                      .plan_text = text.substr(0, kMaxText),
                      .files_per_fingerprint = static_cast<uint32_t>(per_fingerprint),
                      .place = place.plan,
                      .position = place.position,
                      .epoch = place.epoch,
                      .opened_files = opened_runs(files, known),
                      .operators_hash = plan.hash(PlanDescription::Detail::compared_except_code)};
  state.file_fingerprints = fingerprints(files, state.opened_files, per_fingerprint, known);
  state.input_files = input_files(files, known);
  return serialize(state);
}

IteratorPlace load_iterator_state(const PlanDescription& plan, std::string_view serialized,
                                  FileFingerprints& known) {
  IteratorState state = parse(serialized);
  if (state.plan_hash != plan.hash()) {
    refuse_plan(state, plan);
  }
  known.forget_unopened();
  check_files(plan, state, known);
  expect_input_files(state.input_files, known);
  return {std::move(state.place), state.position, state.epoch};
}

std::string with_code_of(const PlanDescription& plan, std::string_view serialized) {
  IteratorState state = parse(serialized);
  if (state.operators_hash == plan.hash(PlanDescription::Detail::compared_except_code)) {
    state.plan_hash = plan.hash();
    state.plan_text = kept_text(plan);
  }
  return serialize(state);
}

void require_input_files(FileFingerprints& known) {
  std::string changed = known.take_unexpected();
  if (!changed.empty()) refuse_state(kHasChanged, std::move(changed));
}

}  // namespace recordpipe::internal

namespace recordpipe {

std::string moved_state(std::string_view state, uint64_t count) {
  internal::IteratorState moved = internal::parse(state);
  moved.place.passed_over += count;
  moved.position += count;
  return internal::serialize(moved);
}

std::string next_epoch_state(std::string_view state) {
  internal::IteratorState next = internal::parse(state);
  next.place = {};
  next.position = 0;
  ++next.epoch;
  return internal::serialize(next);
}

uint64_t position_of_state(std::string_view state) { return internal::parse(state).position; }

}  // namespace recordpipe
