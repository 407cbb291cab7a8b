// tfrecord_files: reads records by index from files that are mapped or read in ranges, and in
// sequence from streams.
#include "recordpipe/pipeline/tfrecord_files.h"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>

#include "dataset/parallel/jobs.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/operators/sources/lost_rest.h"
#include "dataset/pipeline/operators/sources/open_ahead.h"
#include "dataset/pipeline/operators/sources/record_producer.h"
#include "dataset/pipeline/operators/sources/streams_ahead.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/open_files.h"
#include "dataset/pipeline/plan/stage.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/record/input_files.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/stream_compression.h"

namespace recordpipe {
namespace internal {
namespace {

// Whether a file that can't be mapped for this reason can be read as a stream.
bool is_for_stream(ErrorKind kind) {
  return kind == ErrorKind::unsupported || kind == ErrorKind::truncated ||
         kind == ErrorKind::corrupted;
}

[[noreturn]] void refuse_random_access(const std::string& path, const std::string& why,
                                       const std::string& hint) {
  throw Error({.kind = ErrorKind::unsupported,
               .path = path,
               .reason = why + ": tfrecord_files can't give its records in any order, as "
                               "global_shuffle needs them",
               .hint = hint});
}

class RecordPlan final : public Plan {
 public:
  // `counts`: the number of records of each file, or empty.
  RecordPlan(FileSystem& file_system, const std::vector<std::string>& paths,
             const std::vector<uint64_t>& counts, const RecordReadOptions& options,
             const StageContext& context, std::shared_ptr<OpenedRecords> opened)
      : file_system_(file_system),
        paths_(paths),
        counts_(counts),
        options_(options),
        fingerprints_(context.files),
        open_files_(context.open_files),
        memory_(context.memory),
        opened_records_(std::move(opened)),
        mapped_(opened_records_->mapped),
        store_(opened_records_->streamed) {
    if (!context.crew || paths.size() < 2) return;
    ahead_ = std::make_shared<OpenAhead>(
        context.crew, [this](size_t number, const std::stop_token& stop) {
          // Opening a FIFO and closing it again would end its writer.
          const std::string& path = paths_[number];
          return file_system_.can_map(path) && is_regular(path) ? map(number, stop) : nullptr;
        });
  }

  ~RecordPlan() override {
    if (ahead_) ahead_->stop();
  }

  uint64_t size() override {
    while (ends_.size() < paths_.size()) {
      const size_t number = ends_.size();
      const uint64_t records = counts_.empty() ? mapped_file(number).size() : counts_[number];
      ends_.push_back((number == 0 ? 0 : ends_.back()) + records);
    }
    return ends_.empty() ? 0 : ends_.back();
  }

  // Counts the records of all files; keeps no file open.
  uint64_t count() {
    uint64_t total = 0;
    for (size_t number = 0; number < paths_.size(); ++number) {
      total += mapped_file(number).size();
      mapped_[number].reset();
    }
    return total;
  }

  void save(PlanState& state) const override { state.reset(0).numbers = {file_, record_, index_}; }

  void discard(std::span<const Ticket> tickets) override {
    const auto is_mapped = [](const Ticket& ticket) { return RecordRef{ticket.ref}.is_mapped(); };
    for (auto at = tickets.begin(); at != tickets.end();) {
      const auto first = std::find_if_not(at, tickets.end(), is_mapped);
      at = std::find_if(first, tickets.end(), is_mapped);
      store_.discard({first, at});
    }
  }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    store_.charge_to(account);
  }

  Stop do_plan(TicketSink& out, Wait) override {
    for (; file_ < paths_.size(); close()) {
      open();
      if (stream_) {
        plan_stream(out);
      } else {
        plan_mapped(out);
      }
      if (out.count() > 0) return Stop::none;
    }
    return Stop::end;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    for (; file_ < paths_.size(); close()) {
      open();
      pass_over(count, passed);
      if (passed == count) return Stop::none;
      if (is_stopping()) return Stop::requested;
    }
    return Stop::end;
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    for (size_t i = 0; i < places.size(); ++i) {
      const auto end = std::ranges::upper_bound(ends_, places[i]);
      const auto number = static_cast<uint64_t>(end - ends_.begin());
      const uint64_t record = places[i] - (number == 0 ? 0 : ends_[number - 1]);
      if (!mapped_[number]) mapped_file(number);  // size() knew its number of records
      out[i] = {{epoch_, places[i]}, RecordRef::of_mapped(number, record).ref};
    }
  }

  void do_restart(Epoch epoch) override {
    stream_.reset();
    // After a stop request, what is being opened stays stopped.
    streams_ahead_.reset();
    for (auto& [number, opening] : distant_) {
      if (!opening.drop()) opening.wait();
    }
    distant_.clear();
    distant_end_ = 0;
    opened_ = false;
    file_ = record_ = 0;
    index_ = 0;
    epoch_ = epoch.ids;
    opened_records_->stop.withdraw();
    if (is_stopping()) do_request_stop();  // the request may have come before withdraw()
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 0);
    do_restart(epoch);
    file_ = numbers.next(paths_.size());
    const uint64_t record = numbers.next();
    const uint64_t index = numbers.next();
    if (record > 0) {
      if (file_ == paths_.size()) fail_state();
      open();
      uint64_t passed = 0;
      pass_over(record, passed);
      if (passed < record) fail_state();
    }
    index_ = index;
  }

  void do_request_stop() override { opened_records_->stop.request(); }

 private:
  // Opens the current file: maps it, once for all passes, or opens a stream at its start.
  void open() {
    if (opened_) return;
    const std::string& path = paths_[file_];
    try {
      if (mapped_[file_] || map_if_plain(file_)) {
        open_ahead(file_ + 1);
      } else {
        open_stream(path);
      }
    } catch (const Error& error) {
      // A stop says nothing about the file. restore() stops the threads of the pass before it while
      // the files are compared with the state.
      if (error.kind() != ErrorKind::cancelled) fingerprints_->failed_to_open(path);
      throw;
    }
    opened_ = true;
  }

  void open_stream(const std::string& path) {
    const CallStopScope scope(opened_records_->stop.token());
    if (!file_system_.reads_ahead(path)) {
      stream_.emplace(file_system_, path, options_);
      fingerprints_->opened(file_system_, path);
      return;
    }
    if (!streams_ahead_) {
      std::optional<uint64_t> read_ahead;
      if (memory_ && memory_->is_limited()) read_ahead = memory_->limit() / 2;
      streams_ahead_.emplace(file_system_, fingerprints_, read_ahead);
    }
    const auto next = std::span(paths_).subspan(file_ + 1);
    const auto end = std::ranges::find_if_not(
        next, [this](const auto& other) { return file_system_.reads_ahead(other); });
    stream_.emplace(streams_ahead_->open(path, std::span(next.begin(), end)), options_);
  }

  // Returns false if the file must be read as a stream: it is compressed, not a regular file, on a
  // file system that can't map, or damaged (a stream yields the records before the damage, then the
  // error).
  bool map_if_plain(size_t number) {
    if (take_opened(number)) return true;
    if (!file_system_.can_map(paths_[number]) || !is_regular(paths_[number])) return false;
    OpenRecordFilePtr file;
    try {
      file = map(number, opened_records_->stop.token());
    } catch (const Error& error) {
      if (!is_for_stream(error.kind())) throw;
      return false;
    }
    keep(number, std::move(file));
    return true;
  }

  bool is_regular(const std::string& path) {
    try {
      const auto status = file_system_.status(path);
      return status && status->kind == FileKind::regular;
    } catch (const Error& error) {
      // The server sends no sizes.
      if (error.kind() != ErrorKind::unsupported) throw;
      return false;
    }
  }

  // Opens the file for random access: maps it, or reads it in ranges. If neither works, throws
  // an error that says why.
  const MappedRecordFile& mapped_file(size_t number) {
    open_distant_ahead(number + 1);
    if (!mapped_[number] && !take_opened(number)) {
      const std::string& path = paths_[number];
      const auto status = file_system_.status(path);
      if (status && status->kind != FileKind::regular) {
        refuse_random_access(path, "no regular file", "shuffle with a buffer");
      }
      try {
        keep(number, map(number, opened_records_->stop.token()));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported) throw;
        open_unmapped(number);
      }
    }
    open_ahead(number + 1);
    return mapped_[number]->file;
  }

  void open_unmapped(size_t number) {
    const std::string& path = paths_[number];
    try {
      const std::stop_token stop = opened_records_->stop.token();
      const CallStopScope scope(stop);
      keep(number, open_records(number, file_system_.open_random(path), stop));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      refuse_random_access(path, error.reason(),
                           "decompress or download it first, or shuffle with a buffer");
    }
  }

  // Runs on any thread.
  OpenRecordFilePtr map(size_t number, const std::stop_token& stop) const {
    const std::string& path = paths_[number];
    std::shared_ptr<const MappedFile> mapped = file_system_.map(path);
    const auto head = mapped->read(0, kRecordHeaderSize, {});
    const bool is_plain = detect_record_compression(head, options_) == Compression::none;
    if (open_files_ && is_plain) {
      std::string version = version_of(path, *mapped);
      mapped = open_files_->keep(file_system_, path, std::move(version), std::move(mapped));
    }
    return open_records(number, std::move(mapped), stop);
  }

  OpenRecordFilePtr open_records(size_t number, const std::shared_ptr<const RandomAccessFile>& file,
                                 const std::stop_token& stop) const {
    const std::string& path = paths_[number];
    MappedRecordFile records(file_system_, path, options_,
                             {.use_index = true, .file = file, .stop = stop});
    return std::make_shared<const OpenRecordFile>(std::move(records), fingerprint_of(path, *file),
                                                  memory_);
  }

  void keep(size_t number, OpenRecordFilePtr file) {
    if (!counts_.empty() && counts_[number] != file->file.size()) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = paths_[number],
                   .reason = std::to_string(file->file.size()) + " records, where " +
                             std::to_string(counts_[number]) + " are expected",
                   .hint = "the file is not complete, or is one of another version"});
    }
    fingerprints_->opened(file_system_, paths_[number], file->fingerprint);
    mapped_[number] = std::move(file);
  }

  bool take_opened(size_t number) {
    OpenRecordFilePtr file = ahead_ ? ahead_->take(number) : nullptr;
    if (!file) file = take_distant(number);
    if (file) keep(number, std::move(file));
    return mapped_[number] != nullptr;
  }
  OpenRecordFilePtr take_distant(size_t number) {
    auto opening = distant_.extract(number);
    try {
      return opening ? opening.mapped().get() : nullptr;
    } catch (const Error&) {
      return nullptr;  // opened again, which reports the failure
    }
  }

  // Starts to open the files from `first` on that are read over the network, for random access.
  // Opening one waits for several answers in turn.
  void open_distant_ahead(size_t first) {
    const std::stop_token stop = opened_records_->stop.token();
    const size_t end = std::min(first + kDistantAhead, paths_.size());
    for (size_t number = std::max(first, distant_end_); number < end; ++number) {
      distant_end_ = number + 1;
      if (mapped_[number] || !file_system_.reads_ahead(paths_[number])) continue;
      distant_.emplace(number, distant_jobs_.submit([this, number, stop] {
        const CallStopScope scope(stop);
        return open_records(number, file_system_.open_random(paths_[number]), stop);
      }));
    }
  }

  // Starts to open the files from `first` on that are needed next.
  void open_ahead(size_t first) {
    if (!ahead_) return;
    std::vector<size_t> numbers;
    const size_t end = std::min(first + kFilesAhead, paths_.size());
    for (size_t number = first; number < end; ++number) {
      if (!mapped_[number]) numbers.push_back(number);
    }
    ahead_->want(numbers);
  }

  // Skips records of the current file until `passed` is `wanted`, or the file ends.
  void pass_over(uint64_t wanted, uint64_t& passed) {
    const auto pass = [&](uint64_t count) {
      record_ += count;
      index_ += count;
      passed += count;
    };
    if (stream_) {
      while (passed < wanted && !is_stopping() && pass_over_one()) pass(1);
    } else {
      pass(std::min<uint64_t>(wanted - passed, mapped_[file_]->file.size() - record_));
    }
  }

  // As in a mapped file, a record that is passed over may be damaged. Returns false at the end.
  bool pass_over_one() {
    try {
      return stream_->read().has_value();
    } catch (const Error&) {
      if (!stream_->reads_on()) throw;
      return true;
    }
  }

  void close() {
    stream_.reset();
    opened_ = false;
    record_ = 0;
    ++file_;
  }

  void plan_mapped(TicketSink& out) {
    const size_t size = mapped_[file_]->file.size();
    for (; !out.is_full() && record_ < size; ++record_) {
      out.push({{epoch_, index_++}, RecordRef::of_mapped(file_, record_).ref});
    }
  }

  void plan_stream(TicketSink& out) {
    do {
      const std::optional<uint64_t> ref = put_next_of_stream();
      if (!ref) return;
      out.push({{epoch_, index_++}, *ref});
      ++record_;
    } while (!out.is_full() && !is_stopping());
  }

  // Stores the next record, or its failure if the stream has more records; nullopt at the end.
  std::optional<uint64_t> put_next_of_stream() {
    try {
      const std::optional<Record> record = stream_->read();
      if (!record) return std::nullopt;
      Record kept = keep_record(*record, stream_->path());
      kept.number = record_;
      return store_.put(&kept);
    } catch (const Error& error) {
      if (stream_->reads_on()) return store_.put_failure(std::current_exception());
      if (is_damage(error.kind())) throw lost_rest(file_system_, *stream_, error);
      throw;
    }
  }

  static constexpr size_t kFilesAhead = 4;
  static constexpr size_t kDistantAhead = 128;

  FileSystem& file_system_;
  const std::vector<std::string>& paths_;
  const std::vector<uint64_t>& counts_;
  const RecordReadOptions options_;
  const std::shared_ptr<FileFingerprints> fingerprints_;
  const std::shared_ptr<OpenFiles> open_files_;
  const std::shared_ptr<MemoryAccount> memory_;
  const std::shared_ptr<OpenedRecords> opened_records_;  // shared with the work
  MappedFiles& mapped_;
  ValueStore& store_;
  std::shared_ptr<OpenAhead> ahead_;  // null: no other thread, or only one file
  std::optional<StreamsAhead> streams_ahead_;
  std::map<size_t, parallel::Job<OpenRecordFilePtr>> distant_;  // being opened, by number
  size_t distant_end_ = 0;                                      // behind the last of these
  std::vector<uint64_t> ends_;  // number of records up to the end of each file
  std::optional<RecordReader> stream_;
  bool opened_ = false;
  uint64_t file_ = 0;
  uint64_t record_ = 0;  // in the current file
  uint64_t index_ = 0;
  uint64_t epoch_ = 0;
  // Last: waits for its jobs before what they use is destroyed.
  parallel::Jobs distant_jobs_{kDistantAhead, parallel::CrewKind::waits};
};

class RecordNode final : public Node {
 public:
  RecordNode(std::shared_ptr<FileSystem> file_system, std::vector<std::string> paths,
             std::vector<uint64_t> counts, RecordReadOptions options)
      : Node(element_ops<Record>()),
        file_system_(std::move(file_system)),
        paths_(std::move(paths)),
        counts_(std::move(counts)),
        options_(options) {}
  // Claims random access. Throws for a compressed local file; if another file has no random access,
  // size() throws when it opens the file.
  std::string sequential_operator() const override {
    for (const std::string& path : paths_) {
      const Compression compression = compression_of_local(path);
      if (compression == Compression::none) continue;
      refuse_random_access(path, "compressed with " + std::string(to_string(compression)),
                           "decompress it first, or shuffle with a buffer");
    }
    return {};
  }
  Cardinality cardinality() const override {
    if (!counts_.empty()) {
      return known_cardinality(std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}));
    }
    try {
      const auto opened = std::make_shared<OpenedRecords>(paths_.size());
      const std::stop_callback stop(call_stop, [&] { opened->stop.request(); });
      return known_cardinality(make_plan(make_stage_context({.threads = 1}), opened)->count());
    } catch (const Error& error) {
      if (!is_for_stream(error.kind())) throw;
      return kUnknownCardinality;
    }
  }

 protected:
  PlanDescription describe_operator() const override {
    return {.name = "tfrecord_files",
            .parameters = {{"files", paths_.size()}},
            .file_system = file_system_.get(),
            .files = paths_};
  }
  Stage build_stage(const StageContext& context) const override {
    auto opened = std::make_shared<OpenedRecords>(paths_.size());
    auto plan = make_plan(context, opened);
    auto work = std::make_shared<RecordWork>(std::move(opened), options_.crc != CrcCheck::never);
    return {std::move(plan), std::move(work), context.chunk_size};
  }

 private:
  // None for a file that can't be mapped, or can't be read: it is looked at when it is opened.
  Compression compression_of_local(const std::string& path) const {
    try {
      if (!file_system_->can_map(path)) return Compression::none;
      const auto status = file_system_->status(path);
      if (!status || status->kind != FileKind::regular) return Compression::none;
      return detect_compression(*file_system_, path, options_);
    } catch (const Error&) {
      return Compression::none;
    }
  }
  std::unique_ptr<RecordPlan> make_plan(const StageContext& context,
                                        std::shared_ptr<OpenedRecords> opened) const {
    return std::make_unique<RecordPlan>(*file_system_, paths_, counts_, options_, context,
                                        std::move(opened));
  }

  const std::shared_ptr<FileSystem> file_system_;
  std::vector<std::string> paths_;
  std::vector<uint64_t> counts_;
  RecordReadOptions options_;
};

// For a FileSystem that outlives the Dataset.
std::shared_ptr<FileSystem> not_owned(FileSystem& file_system) {
  return {std::shared_ptr<FileSystem>(), &file_system};
}

Dataset<Record> record_files(std::shared_ptr<FileSystem> file_system,
                             std::vector<std::string> paths, std::vector<uint64_t> counts,
                             RecordReadOptions options) {
  if (paths.size() > RecordRef::kMaxFiles) {
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "tfrecord_files: more than " + std::to_string(RecordRef::kMaxFiles) + " files"});
  }
  return DatasetNode::source<Record>(std::make_shared<RecordNode>(
      std::move(file_system), std::move(paths), std::move(counts), std::move(options)));
}

}  // namespace
}  // namespace internal

Dataset<Record> tfrecord_files(std::vector<std::string> paths, RecordReadOptions options) {
  return tfrecord_files(posix_file_system(), std::move(paths), options);
}

Dataset<Record> tfrecord_files(FileSystem& file_system, std::vector<std::string> paths,
                               RecordReadOptions options) {
  return internal::record_files(internal::not_owned(file_system),
                                find_input_files(file_system, paths), {}, std::move(options));
}

Dataset<Record> listed_tfrecord_files(std::shared_ptr<FileSystem> file_system,
                                      std::vector<std::string> paths, RecordReadOptions options) {
  return internal::record_files(std::move(file_system), std::move(paths), {}, std::move(options));
}

Dataset<Record> listed_tfrecord_files(FileSystem& file_system, std::vector<CountedRecordFile> files,
                                      RecordReadOptions options) {
  std::vector<std::string> paths;
  std::vector<uint64_t> counts;
  for (CountedRecordFile& file : files) {
    paths.push_back(std::move(file.path));
    counts.push_back(file.records);
  }
  return internal::record_files(internal::not_owned(file_system), std::move(paths),
                                std::move(counts), std::move(options));
}

}  // namespace recordpipe
