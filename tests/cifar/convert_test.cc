// Tests whole conversions: the files' contents, when the files appear, and what a failure leaves.
#include "recordpipe/cifar/convert.h"

#include <cerrno>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/cifar/data_folder.h"
#include "recordpipe/example/example_view.h"
#include "recordpipe/io/sha256.h"
#include "recordpipe/record/record_reader.h"
#include "tests/cifar/archives.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kImages = 11;

struct Image {
  std::string pixels;
  std::map<std::string, int64_t> labels;
  bool operator==(const Image&) const = default;
};

Image image_of(const CifarBatch& batch, size_t row) {
  Image image{as_text(batch.image(row)), {{"label", batch.labels[row]}}};
  if (!batch.coarse_labels.empty()) {
    image.labels["coarse_label"] = batch.coarse_labels[row];
    image.labels["fine_label"] = batch.labels[row];
  }
  return image;
}

std::vector<Image> images_of_batches(const std::vector<int>& numbers) {
  std::vector<Image> images;
  for (const int number : numbers) {
    const CifarBatch batch = make_batch(CifarDataset::cifar10, kImages, number);
    for (size_t row = 0; row < batch.rows(); ++row) images.push_back(image_of(batch, row));
  }
  return images;
}

std::vector<Image> images_in(const std::string& path) {
  std::vector<Image> images;
  RecordReader reader(posix_file_system(), path);
  while (const auto record = reader.read()) {
    Image image;
    image.pixels = as_text(find_feature(record->data, "image")->single_bytes().value());
    for (const char* name : {"label", "coarse_label", "fine_label"}) {
      if (const auto feature = find_feature(record->data, name)) {
        image.labels[name] = feature->single_int64().value();
      }
    }
    images.push_back(image);
  }
  return images;
}

class ConvertTest : public testing::Test {
 protected:
  ConvertTest() { files.make_directories(data_dir); }

  CifarConvertReport convert(const std::string& content, const CifarConvertOptions& options = {}) {
    write_file(archive, content);
    return convert_cifar(files, archive, data_dir, options);
  }
  Error error_of(const std::string& content, const CifarConvertOptions& options = {}) {
    try {
      convert(content, options);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return Error({});
  }
  std::string content_of(const std::string& name) { return read_file(data_dir + "/" + name); }
  std::vector<std::string> names() { return files.list(data_dir); }

  FileSystem& files = posix_file_system();
  TemporaryDirectory directory;
  const std::string data_dir = directory / "data";
  const std::string archive = directory / "a.tar.gz";
  const std::string good = archive_bytes(python_members(kImages));
};

// --- the files' contents --------------------------------------------------------------------

TEST_F(ConvertTest, SplitsHoldTheirBatchesInTheTutorialsOrder) {
  const CifarConvertReport report = convert(good);
  EXPECT_EQ(images_in(data_dir + "/train.tfrecords"), images_of_batches({0, 1, 2, 3}));
  EXPECT_EQ(images_in(data_dir + "/validation.tfrecords"), images_of_batches({4}));
  EXPECT_EQ(images_in(data_dir + "/eval.tfrecords"), images_of_batches({5}));
  EXPECT_THAT(names(), ElementsAre("eval.tfrecords", "source.txt", "train.tfrecords",
                                   "validation.tfrecords"));

  ASSERT_EQ(report.files.size(), 3u);
  EXPECT_EQ(report.files[0].path, data_dir + "/train.tfrecords");
  EXPECT_EQ(report.files[0].records, 4 * kImages);
  EXPECT_EQ(report.files[0].bytes, content_of("train.tfrecords").size());
  EXPECT_GT(report.files[0].seconds, 0);
  Sha256 hash;
  hash.update(as_bytes(good));
  EXPECT_EQ(report.sha256, hash.hex());
}

TEST_F(ConvertTest, TheSameBytesHoweverTheArchiveIsPacked) {
  convert(good);
  const std::string train = content_of("train.tfrecords");
  const std::string eval = content_of("eval.tfrecords");
  convert(archive_bytes(binary_members(kImages)));
  EXPECT_EQ(content_of("train.tfrecords"), train);
  EXPECT_EQ(content_of("eval.tfrecords"), eval);
  convert(good);
  EXPECT_EQ(content_of("train.tfrecords"), train);
}

TEST_F(ConvertTest, ShardsOneAfterTheOtherAreTheSameAsOneFile) {
  convert(good);
  std::map<std::string_view, std::string> whole;
  for (const std::string_view split : kCifarSplits) {
    whole[split] = content_of(split_file_name(split, 0, 1));
  }
  for (const size_t shards : {2, 3, 7, 50}) {
    SCOPED_TRACE(shards);
    const CifarConvertReport report = convert(good, {.shards = shards});
    EXPECT_EQ(report.files.size(), 3 * shards);
    for (const std::string_view split : kCifarSplits) {
      std::string together;
      for (size_t i = 0; i < shards; ++i) together += content_of(split_file_name(split, i, shards));
      EXPECT_EQ(together, whole[split]) << split;
    }
  }
}

TEST_F(ConvertTest, FilesOfAnotherNumberOfShardsAreRemoved) {
  convert(good, {.shards = 3});
  files.make_directories(data_dir + "/train-00001-of-00009.tfrecords/mine");
  write_file(data_dir + "/train-of-thought.tfrecords", "somebody else's");
  write_file(data_dir + "/mytrain.tfrecords", "somebody else's");
  const CifarConvertReport report = convert(good);
  EXPECT_EQ(report.removed.size(), 9u);
  EXPECT_THAT(names(), ElementsAre("eval.tfrecords", "mytrain.tfrecords", "source.txt",
                                   "train-00001-of-00009.tfrecords", "train-of-thought.tfrecords",
                                   "train.tfrecords", "validation.tfrecords"));
}

TEST_F(ConvertTest, WhatAKilledConversionLeftIsRemoved) {
  write_file(data_dir + "/.train-00001-of-00009.tfrecords.partial", "left");
  write_file(data_dir + "/.mine.tfrecords.partial", "somebody else's");
  for (const std::string folder : {"/cifar-10-batches-py", "/cifar-100-binary"}) {
    files.make_directories(data_dir + folder);
    write_file(data_dir + folder + "/.test_batch.partial", "left");
  }
  write_file(data_dir + "/cifar-10-batches-py/notes.txt", "somebody else's");
  convert(good);
  EXPECT_THAT(names(),
              ElementsAre(".mine.tfrecords.partial", "cifar-10-batches-py", "eval.tfrecords",
                          "source.txt", "train.tfrecords", "validation.tfrecords"));
  EXPECT_THAT(files.list(data_dir + "/cifar-10-batches-py"), ElementsAre("notes.txt"));
}

TEST_F(ConvertTest, CompressedFilesHoldTheSameRecords) {
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    convert(good, {.compression = compression, .shards = 2});
    const std::string path = data_dir + "/validation-00000-of-00002.tfrecords";
    EXPECT_EQ(detect_compression(files, path), compression);
    const auto all = images_of_batches({4});
    EXPECT_EQ(images_in(path), std::vector(all.begin(), all.begin() + kImages / 2));
  }
}

TEST_F(ConvertTest, Cifar100HasBothLabelsAndAFifthForValidation) {
  for (const bool binary : {false, true}) {
    const CifarConvertReport report =
        convert(archive_bytes(binary ? cifar100_binary_members(50) : cifar100_python_members(50)));
    EXPECT_EQ(report.kind.dataset, CifarDataset::cifar100);
    EXPECT_EQ(report.kind.binary, binary);
    std::vector<Image> expected;
    const CifarBatch train = make_batch(CifarDataset::cifar100, 50, 0);
    for (size_t row = 0; row < 50; ++row) expected.push_back(image_of(train, row));
    auto found = images_in(data_dir + "/train.tfrecords");
    EXPECT_EQ(found.size(), 40u);
    const auto validation = images_in(data_dir + "/validation.tfrecords");
    found.insert(found.end(), validation.begin(), validation.end());
    EXPECT_EQ(found, expected);
    EXPECT_EQ(images_in(data_dir + "/eval.tfrecords").size(), 10u);
  }
}

TEST_F(ConvertTest, KeepsWhatTheArchiveExtractsTo) {
  for (const bool binary : {false, true}) {
    const auto members = binary ? binary_members(kImages) : python_members(kImages);
    const CifarConvertReport report = convert(archive_bytes(members), {.keep_extracted = true});
    EXPECT_EQ(report.extracted,
              data_dir + (binary ? "/cifar-10-batches-bin" : "/cifar-10-batches-py"));
    size_t count = 0;
    for (const TarEntry& member : members) {
      if (member.type == '5') continue;
      EXPECT_EQ(content_of(member.name), member.content) << member.name;
      ++count;
    }
    EXPECT_EQ(files.list(report.extracted).size(), count);
  }
}

TEST_F(ConvertTest, ExtractsUnderThePublishedNamesOnly) {
  auto members = python_members(kImages);
  for (TarEntry& member : members) member.name = "else" + member.name.substr(19);
  members.push_back({.name = "else/notes.txt", .content = "mine"});
  members.push_back({.name = "../escaped", .content = "out"});
  members[0] = {.name = "else/link", .type = '2', .link = directory.path()};
  members.push_back({.name = "else/link/through", .content = "out"});
  const CifarConvertReport report = convert(archive_bytes(members), {.keep_extracted = true});
  EXPECT_THAT(files.list(report.extracted),
              ElementsAre("batches.meta", "data_batch_1", "data_batch_2", "data_batch_3",
                          "data_batch_4", "data_batch_5", "readme.html", "test_batch"));
  EXPECT_THAT(files.list(directory.path()), ElementsAre("a.tar.gz", "data"));
}

TEST_F(ConvertTest, ExtractsNothingOfAStrayFile) {
  auto members = python_members(kImages);
  members.insert(members.begin(), {.name = "test", .content = "no batch"});
  const CifarConvertReport report = convert(archive_bytes(members), {.keep_extracted = true});
  EXPECT_EQ(report.extracted, data_dir + "/cifar-10-batches-py");
  EXPECT_THAT(files.list(report.extracted), testing::Not(testing::Contains("test")));
  EXPECT_THAT(names(), testing::Not(testing::Contains(HasSubstr("cifar-100"))));
}

// --- when they appear -----------------------------------------------------------------------

TEST_F(ConvertTest, NothingHasItsNameBeforeTheArchiveIsCheckedToItsEnd) {
  convert(good);
  const std::string before = content_of("train.tfrecords");
  std::string other = archive_bytes(binary_members(kImages + 1));
  other[other.size() - 5] ^= 1;  // gzip's CRC
  EXPECT_EQ(error_of(other, {.shards = 1, .keep_extracted = true}).kind(), ErrorKind::corrupted);
  EXPECT_EQ(content_of("train.tfrecords"), before);
  EXPECT_THAT(names(), ElementsAre("eval.tfrecords", "source.txt", "train.tfrecords",
                                   "validation.tfrecords"));
}

TEST_F(ConvertTest, AnotherChecksumIsRefused) {
  const Error error = error_of(good, {.sha256 = std::string(64, '0')});
  EXPECT_EQ(error.kind(), ErrorKind::checksum_mismatch);
  EXPECT_EQ(error.path(), archive);
  EXPECT_THAT(names(), IsEmpty());

  std::string sha256 = convert(good).sha256;
  for (char& c : sha256) c = static_cast<char>(std::toupper(c));
  EXPECT_NO_THROW(convert(good, {.sha256 = sha256}));
  EXPECT_EQ(error_of(good, {.sha256 = "abc"}).kind(), ErrorKind::invalid_argument);
}

TEST_F(ConvertTest, NoChecksumIsComputedWhereNobodyAsks) {
  EXPECT_EQ(convert(good, {.hash = false}).sha256, "");
}

TEST_F(ConvertTest, SayingStopLeavesNothing) {
  std::stop_source stop;
  uint64_t calls = 0;
  const CifarConvertOptions options{.progress =
                                        [&](const Progress&) {
                                          ++calls;
                                          stop.request_stop();
                                        },
                                    .stop = stop.get_token()};
  EXPECT_EQ(error_of(good, options).kind(), ErrorKind::cancelled);
  EXPECT_EQ(calls, 1u);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ConvertTest, AnExceptionFromTheProgressFunctionComesOut) {
  const CifarConvertOptions options{
      .progress = [](const Progress&) { throw std::runtime_error("enough"); }};
  EXPECT_THROW(convert(good, options), std::runtime_error);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ConvertTest, ProgressReachesTheEnd) {
  Progress last;
  convert(good, {.progress = [&](const Progress& progress) { last = progress; }});
  EXPECT_EQ(last.activity, "convert");
  EXPECT_EQ(last.done, good.size());
  EXPECT_EQ(last.total, good.size());
}

TEST_F(ConvertTest, TheSourceIsNoted) {
  EXPECT_EQ(noted_source(files, data_dir), "");
  const std::string sha256 = convert(good).sha256;
  EXPECT_EQ(noted_source(files, data_dir), archive + " (SHA-256 " + sha256 + ")");
  convert(good, {.hash = false});
  EXPECT_EQ(noted_source(files, data_dir), archive);
  error_of(good + "garbage");  // nothing was replaced
  EXPECT_EQ(noted_source(files, data_dir), archive);
  write_file(data_dir + "/source.txt", "\x1b[2Jmine\n\n" + std::string(100'000, 'x'));
  EXPECT_THAT(noted_source(files, data_dir), testing::StartsWith("\\x1b[2Jmine\\x0a\\x0ax"));
  EXPECT_LT(noted_source(files, data_dir).size(), 10'000u);
}

TEST_F(ConvertTest, ASecondWriterIsRefused) {
  const AtomicFile held(files, data_dir + "/validation.tfrecords");
  EXPECT_EQ(error_of(good).kind(), ErrorKind::busy);
}

TEST_F(ConvertTest, ShardsHaveALimit) {
  EXPECT_EQ(error_of(good, {.shards = 0}).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(error_of(good, {.shards = kMaxCifarShards + 1}).kind(), ErrorKind::invalid_argument);
}

// --- faults ---------------------------------------------------------------------------------

// After a failure, each file is either the complete old one (from another archive) or the complete
// new one.
class ConvertFaultTest : public ConvertTest {
 protected:
  ConvertFaultTest() {
    write_file(archive, archive_bytes(binary_members(2)));
    convert_cifar(files, archive, data_dir);
    for (const char* name : kNames) old_files[name] = content_of(name);
    old_source = noted_source(files, data_dir);
    write_file(archive, good);
    convert_cifar(files, archive, data_dir);
    for (const char* name : kNames) new_files[name] = content_of(name);
    new_source = noted_source(files, data_dir);
  }

  void restore() {
    for (const auto& [name, content] : old_files) write_file(data_dir + "/" + name, content);
    write_file(data_dir + "/source.txt", old_source + "\n");
  }
  void check_whole() {
    for (const auto& [name, content] : old_files) {
      const std::string found = content_of(name);
      EXPECT_TRUE(found == content || found == new_files[name]) << name;
      // A missing source.txt is better than a wrong one.
      const std::string source = noted_source(files, data_dir);
      EXPECT_TRUE(source.empty() || source == (found == content ? old_source : new_source));
    }
  }
  auto action(bool keep_extracted) {
    return [=, this](FileSystem& faulty) {
      convert_cifar(faulty, archive, data_dir, {.keep_extracted = keep_extracted});
    };
  }

  static constexpr const char* kNames[] = {"eval.tfrecords", "train.tfrecords",
                                           "validation.tfrecords"};
  std::map<std::string, std::string> old_files;
  std::map<std::string, std::string> new_files;
  std::string old_source;
  std::string new_source;
};

TEST_F(ConvertFaultTest, AnyCallMayFail) {
  for (const int code : {EIO, ENOSPC}) {
    const uint64_t runs = for_every_fault(
        files, code, action(code == EIO),
        [&](const FaultyFileSystem& faulty) {
          check_whole();
          for (const std::string& name : names()) {
            EXPECT_FALSE(name.ends_with(".partial") && !faulty.failed_call().starts_with("remove"))
                << name;
          }
        },
        [&] { restore(); }, {"remove"});
    EXPECT_GT(runs, 20u);
  }
}

TEST_F(ConvertFaultTest, SyntheticImagesAreNeverUnmarked) {
  // Converts synthetic images over unmarked files, and real images over marked files. While a file
  // contains synthetic images, the mark must exist; after the conversion it must be correct.
  for (const bool synthetic : {true, false}) {
    const auto prepare = [&] {
      restore();
      if (synthetic) {
        unmark_synthetic(files, data_dir);
      } else {
        mark_synthetic(files, data_dir);
      }
    };
    for_every_fault(
        files, EIO,
        [&](FileSystem& faulty) {
          convert_cifar(faulty, archive, data_dir, {.synthetic = synthetic});
        },
        [&](const FaultyFileSystem& faulty) {
          const auto& drawn = synthetic ? new_files : old_files;
          bool any = false;
          for (const auto& [name, content] : drawn) any = any || content_of(name) == content;
          const bool marked = is_marked_synthetic(files, data_dir);
          EXPECT_TRUE(marked || !any);
          if (faulty.failed_call().empty()) {
            EXPECT_EQ(marked, synthetic);
          }
        },
        prepare, {"remove"});
  }
}

TEST_F(ConvertFaultTest, TheProcessMayDieAnywhere) {
  for (const auto fault : {FaultyFileSystem::Fault::kill, FaultyFileSystem::Fault::power_loss}) {
    const uint64_t runs = for_every_kill(
        files, fault, action(fault == FaultyFileSystem::Fault::kill),
        [&] {
          check_whole();
          // The next run completes the conversion and cleans up: of the extracted files, only those
          // with final names remain.
          FaultyFileSystem without_syncs(files);
          convert_cifar(without_syncs, archive, data_dir);
          std::vector<std::string> expected = {"eval.tfrecords", "source.txt", "train.tfrecords",
                                               "validation.tfrecords"};
          const std::string extracted = "cifar-10-batches-py";
          if (names().front() == extracted) {
            for (const std::string& name : files.list(data_dir + "/" + extracted)) {
              EXPECT_FALSE(name.starts_with('.')) << name;
              files.remove(data_dir + "/" + extracted + "/" + name);
            }
            files.remove_empty_directory(data_dir + "/" + extracted);
          }
          EXPECT_EQ(names(), expected);
          EXPECT_EQ(content_of("train.tfrecords"), new_files["train.tfrecords"]);
          EXPECT_EQ(noted_source(files, data_dir), new_source);
        },
        [&] { restore(); });
    EXPECT_GT(runs, 20u);
  }
}

}  // namespace
}  // namespace recordpipe
