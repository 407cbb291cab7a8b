// Exports records as WebDataset's tar archives: one, or several of limited size.
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dataset/cifar/tar.h"
#include "dataset/record/shard_set.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/io/atomic_file_set.h"
#include "recordpipe/toolkit/json_text.h"
#include "tools/tfrecord/formats/export_target.h"
#include "tools/tfrecord/formats/webdataset.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr uint64_t kTarBlock = 512;
constexpr std::string_view kEnding = ".tar";

uint64_t size_in_tar(uint64_t content) {
  return kTarBlock + (content + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// NAME-00000-of-00003.tar
std::string archive_name(std::string_view output, size_t number, size_t count) {
  const bool ends = output.ends_with(kEnding);
  const std::string_view stem = output.substr(0, output.size() - (ends ? kEnding.size() : 0));
  return shard_name(stem, number, count, ends ? kEnding : "");
}

struct Member {
  std::string name = {};
  std::string text = {};                    // of numbers
  std::span<const std::byte> content = {};  // of bytes
};

class WebDatasetTarget final : public ExportTarget {
 public:
  WebDatasetTarget(const CommandContext& context, const TargetOptions& options)
      : options_(options), archives_(context.files) {
    for (const auto& [extension, feature] : options.members) extensions_[feature] = extension;
    if (options.many_archives()) {
      if (is_object_url(options.output)) {
        throw Error({.kind = ErrorKind::unsupported,
                     .path = options.output,
                     .reason = "objects get their names before the number of archives is known",
                     .hint = "write the archives to a folder of this machine, then copy them"});
      }
      begin_archive();
    } else {
      output_.emplace(context, options.output);
      tar_.emplace(*output_);
    }
  }

  void write(const ExportedRecord& record) override {
    require_example(record);
    const std::vector<Member> members = members_of(record);
    uint64_t size = 0;
    for (const Member& member : members) size += size_in_tar(member.content.size());
    const bool is_full = (options_.archive_records > 0 && records_ == options_.archive_records) ||
                         (options_.archive_bytes > 0 && bytes_ + size > options_.archive_bytes);
    if (is_full && records_ > 0) {
      tar_->close();
      begin_archive();
    }
    for (const Member& member : members) tar_->add_file(member.name, member.content);
    ++records_;
    bytes_ += size;
  }

  void close() override {
    tar_->close();
    if (output_) {
      output_->close();
    } else {
      archives_.commit(files());
    }
  }

  std::vector<std::string> files() const override {
    std::vector<std::string> paths;
    for (size_t i = 0; i < count_; ++i) paths.push_back(archive_name(options_.output, i, count_));
    return paths;
  }

 private:
  [[noreturn]] static void fail(const ExportedRecord& record, const std::string& reason,
                                const std::string& hint = "") {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = fmt::format("record {}: {}", record.number, reason),
                 .hint = hint});
  }

  void begin_archive() {
    tar_.reset();
    // The number of archives is known at the end, when they get their names.
    tar_.emplace(archives_.begin(archive_name(options_.output, count_++, 0)));
    records_ = 0;
    bytes_ = kEndOfArchive;
  }

  std::string key_of(const ExportedRecord& record) const {
    const std::string_view name = options_.name.empty() ? kSampleKey : options_.name;
    const FeatureView* const feature = record.message.find_feature(name);
    if (!feature && options_.name.empty()) return fmt::format("{:08}", record.number);
    const auto value = feature ? feature->single_bytes() : std::nullopt;
    if (!value) {
      fail(record, "no feature " + printable(name) + " with one value of bytes");
    }
    return std::string(reinterpret_cast<const char*>(value->data()), value->size());
  }

  // Checks what an archive must not have: names that lead out of the folder that it is extracted
  // to, and samples that are read as others.
  std::string checked_key(const ExportedRecord& record) {
    const std::string key = key_of(record);
    const bool leads_out = key.starts_with('/') || ("/" + key + "/").find("/../") != key.npos ||
                           key.find('\0') != key.npos;
    const std::string member = key + ".x";
    const auto named = sample_name(member);
    if (leads_out || !named || named->key != key) {
      fail(
          record, "its key, " + printable(key) + ", can't be one in an archive",
          "a key is a relative path whose last part has no dot; --name NAME takes another feature");
    }
    if (key == last_key_) {
      fail(record, "has the key of the record before it: " + printable(key),
           "--name NAME takes the keys from another feature");
    }
    last_key_ = key;
    return key;
  }

  std::vector<Member> members_of(const ExportedRecord& record) {
    const std::string key = checked_key(record);
    std::vector<Member> members;
    std::set<std::string> names;
    for (const NamedFeature& feature : record.message.features()) {
      if (feature.name == kSampleKey || feature.feature.size() == 0) continue;
      const auto named = extensions_.find(feature.name);
      std::string extension(named == extensions_.end() ? feature.name : named->second);
      std::ranges::replace(extension, '/', '.');
      Member member;
      if (const auto bytes = feature.feature.single_bytes()) {
        member.content = *bytes;
      } else if (feature.feature.kind() == FeatureKind::bytes) {
        fail(record, "feature " + printable(feature.name) + " has not one value of bytes",
             "leave it out with --select");
      } else {
        member.text = number_text(feature.feature, extension);
      }
      member.name = key + "." + extension;
      if (sample_name(member.name) != SampleName{key, extension} ||
          extension.find('\0') != extension.npos) {
        fail(record, "feature " + printable(feature.name) + " has no name for a file");
      }
      if (!names.insert(member.name).second) {
        fail(record, "two features would be members of the name " + printable(member.name));
      }
      members.push_back(std::move(member));
    }
    if (members.empty()) fail(record, "has no values: an archive has no samples without members");
    for (Member& member : members) {
      if (!member.text.empty()) member.content = std::as_bytes(std::span(member.text));
    }
    return members;
  }

  // A single number as text; several as a JSON list, which the extension says.
  static std::string number_text(const FeatureView& feature, std::string& extension) {
    JsonText json;
    json.values(feature);
    std::string text = json.take();
    if (feature.size() == 1) return text.substr(1, text.size() - 2);
    if (!("." + extension).ends_with(".json")) extension += ".json";
    return text;
  }

  static constexpr uint64_t kEndOfArchive = 2 * kTarBlock;

  const TargetOptions options_;
  AtomicFileSet archives_;
  size_t count_ = 0;  // of archives
  std::optional<Output> output_;
  std::optional<TarWriter> tar_;
  uint64_t records_ = 0;  // of the current archive
  uint64_t bytes_ = 0;
  std::string last_key_;
  NamePairs extensions_;  // by feature
};

}  // namespace

std::vector<std::string> replaced_by_export(FileSystem& files, const TargetOptions& options) {
  if (!options.many_archives()) return {options.output};
  const std::string folder = parent_directory(options.output);
  std::vector<std::string> found;
  if (!files.status(folder)) return found;  // writing there fails with the reason
  const auto name_of = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
  const std::string mask = archive_name(name_of(options.output), 0, 0);
  for (const std::string& other : files.list(folder)) {
    const bool fits = std::ranges::equal(other, mask, [](char c, char wanted) {
      return c == wanted || (wanted == '0' && c >= '0' && c <= '9');
    });
    if (!fits) continue;
    found.push_back(std::string(options.output, 0, options.output.rfind('/') + 1) + other);
  }
  return found;
}

std::unique_ptr<ExportTarget> webdataset_target(const CommandContext& context,
                                                const TargetOptions& options) {
  return std::make_unique<WebDatasetTarget>(context, options);
}

}  // namespace recordpipe
