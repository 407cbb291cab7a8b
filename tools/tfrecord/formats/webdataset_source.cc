// Makes Examples of the samples in WebDataset's tar archives. Nothing is extracted to disk: names
// become keys and names of features.
#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "dataset/base/lower_case.h"
#include "dataset/base/parse_number.h"
#include "dataset/cifar/tar.h"
#include "dataset/io/read_ahead.h"
#include "dataset/toolkit/files/file_name.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/io/compression.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/formats/webdataset.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {

std::optional<SampleName> sample_name(std::string_view path) {
  const size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  if (name == 0 && path.starts_with("__") && path.ends_with("__")) return std::nullopt;
  const size_t dot = path.find('.', name);
  if (dot == path.npos || dot == name) return std::nullopt;
  return SampleName{path.substr(0, dot), path.substr(dot + 1)};
}

namespace {

// Limits of a sample, which is in memory as a whole.
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
constexpr size_t kMaxSampleFeatures = 10'000;
constexpr size_t kMaxExtensions = 20;  // of a message

class Sample {
 public:
  const std::string& key() const { return key_; }
  bool empty() const { return names_.empty(); }

  // The first member of another sample; the last one must have been taken.
  void begin(std::string_view key) {
    key_ = key;
    example_.set_bytes(kSampleKey, key);
    names_.emplace(kSampleKey);
  }

  // Adds the member that `tar` is at.
  void add(const std::string& extension, const NamePairs& features, const TarMember& member,
           TarReader& tar) {
    const auto named = features.find(extension);
    const std::string& name = named == features.end() ? extension : named->second;
    if (!is_utf8(name)) {
      fail(tar, ErrorKind::unsupported, "its extension is not UTF-8, as names of features are");
    }
    if (!names_.insert(name).second) {
      fail(tar, ErrorKind::corrupted,
           "another member of the sample has the same extension, or becomes the same feature");
    }
    if (names_.size() > kMaxSampleFeatures) {
      fail(tar, ErrorKind::limit_exceeded, "a sample of more than 10,000 members");
    }
    // The size is only what the header says: memory grows with what is there.
    if (member.size > kMaxBytes - bytes_) {
      fail(tar, ErrorKind::limit_exceeded, "a sample of more than 1 GiB");
    }
    const std::vector<std::byte> content = read_all(tar, kMaxBytes - bytes_);
    bytes_ += content.size();
    if (named == features.end() || !is_class(extension)) {
      example_.set_bytes(name, content);
      return;
    }
    std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    // As int() in Python reads it, which WebDataset calls, but without underscores.
    constexpr std::string_view kBlanks = " \t\n\v\f\r";
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    text.remove_suffix(text.size() - (text.find_last_not_of(kBlanks) + 1));  // npos + 1 is 0
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    const auto number = parse_number<int64_t>(text);
    if (!number) {
      fail(tar, ErrorKind::unsupported, "holds no integer, which the class of a sample is",
           "name it with another extension than cls, or leave it out of --members");
    }
    example_.set_int64(name, *number);
  }

  std::string take() {
    std::string record = example_.serialize();
    example_.clear();
    names_.clear();
    bytes_ = 0;
    return record;
  }

 private:
  [[noreturn]] static void fail(const TarReader& tar, ErrorKind kind, std::string reason,
                                std::string hint = {}) {
    throw Error(
        {.kind = kind, .path = tar.path(), .reason = std::move(reason), .hint = std::move(hint)});
  }

  std::string key_;
  ExampleBuilder example_;
  std::set<std::string, std::less<>> names_;
  uint64_t bytes_ = 0;
};

class WebDatasetSource final : public ExampleSource {
 public:
  WebDatasetSource(const CommandContext& context, std::vector<std::string> paths,
                   NamePairs features)
      : context_(context), paths_(std::move(paths)), features_(std::move(features)) {}

  void run(const Consume& consume) override {
    InputProgress progress(context_, "create", paths_);
    for (const std::string& path : paths_) {
      read(progress.counted(open_input(context_, path)), consume);
      if (told_.insert(path).second) tell(path);
    }
    for (const auto& [extension, feature] : features_) {
      if (extensions_.contains(extension)) continue;
      throw Error({.kind = ErrorKind::not_found,
                   .reason = "--members names " + printable(extension) +
                             ", which no member has; there are " +
                             fmt::format("{}", fmt::join(extensions_, ", "))});
    }
  }

 private:
  void tell(const std::string& path) const {
    if (left_out_ > 0) {
      context_.progress.warn(
          fmt::format("tfrecord create: {}: left out {} without a key and an extension",
                      shown_path(path), counted(left_out_, "member")));
    }
    if (split_ == 0) return;
    context_.progress.warn(fmt::format(
        "tfrecord create: {}: {} {} the key of an earlier one, as its members don't follow one "
        "another in the archive: each is a record with a part of the members; the first is {} "
        "(GNU tar --sort=name packs them together)",
        shown_path(path), counted(split_, "sample"), split_ == 1 ? "has" : "have",
        printable(first_split_)));
  }

  void read(std::unique_ptr<ByteSource> archive, const Consume& consume) {
    constexpr size_t kHead = 10;
    PeekedSource peeked = peek(std::move(archive), kHead);
    // A name may begin like zlib's header, but not like those of gzip and zstd.
    Compression compression = sniff_compression(peeked.head);
    if (compression == Compression::zlib) compression = Compression::none;
    ReadAhead content(inflate(std::move(peeked.source), compression));
    TarReader tar(content, {.bytes = UINT64_MAX, .members = SIZE_MAX});
    Sample sample;
    left_out_ = 0;
    split_ = 0;
    std::unordered_set<uint64_t> keys;  // their hashes
    const auto end_sample = [&] {
      if (sample.empty()) return;
      const std::string record = sample.take();
      consume(std::as_bytes(std::span(record)));
    };
    while (const auto member = tar.next()) {
      throw_if_stopped(context_.stop, tar.path());
      if (member->folder) continue;
      if (!member->regular) {
        throw Error({.kind = ErrorKind::unsupported,
                     .path = tar.path(),
                     .reason = "a link, a sparse file or a device, which has no content of its own",
                     .hint = "pack the archive with: tar --dereference --hard-dereference"});
      }
      const auto name = sample_name(member->path);
      if (!name) {
        ++left_out_;
        continue;
      }
      if (sample.empty() || name->key != sample.key()) {
        end_sample();
        sample.begin(name->key);
        if (!keys.insert(seed_of_name(0, name->key)).second && split_++ == 0) {
          first_split_ = name->key;
        }
      }
      const std::string extension = lower_case(name->extension);
      if (extensions_.size() < kMaxExtensions || features_.contains(extension)) {
        extensions_.insert(extension);
      }
      sample.add(extension, features_, *member, tar);
    }
    end_sample();
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const NamePairs features_;
  std::set<std::string> extensions_;  // that there are; the first ones, and all of features_
  // Of the current archive:
  uint64_t left_out_ = 0;       // members
  uint64_t split_ = 0;          // samples whose key an earlier one has
  std::string first_split_;     // key
  std::set<std::string> told_;  // paths of which this was reported
};

}  // namespace

std::unique_ptr<ExampleSource> webdataset_source(const CommandContext& context,
                                                 std::vector<std::string> paths,
                                                 const SourceOptions& options) {
  return std::make_unique<WebDatasetSource>(context, std::move(paths), options.members);
}

}  // namespace recordpipe
