// Tests archives: published, repacked, damaged and malicious ones.
#include "recordpipe/cifar/archive.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/cifar/archives.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kRows = 3;

struct Found {
  CifarArchiveKind kind = {};
  std::vector<size_t> places = {};       // in order of arrival
  std::vector<CifarBatch> batches = {};  // by place
};

Found read(std::unique_ptr<ByteSource> archive) {
  Found found;
  found.kind = read_cifar_archive(
      std::move(archive), [&](const CifarArchiveKind& kind, size_t place, CifarBatch batch) {
        found.batches.resize(cifar_batch_names(kind.dataset).size());
        found.places.push_back(place);
        found.batches[place] = std::move(batch);
      });
  return found;
}

Found read(std::string archive) {
  return read(std::make_unique<MemorySource>(std::move(archive), "a.tar.gz"));
}

Error error_of(std::string archive) {
  try {
    read(std::move(archive));
  } catch (const Error& error) {
    EXPECT_THAT(error.path(), testing::StartsWith("a.tar.gz"));
    EXPECT_FALSE(error.hint().empty());
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error({});
}

void expect_same(const CifarBatch& found, const CifarBatch& expected) {
  EXPECT_EQ(found.labels, expected.labels);
  EXPECT_EQ(found.coarse_labels, expected.coarse_labels);
  ASSERT_EQ(found.rows(), expected.rows());
  for (size_t row = 0; row < found.rows(); ++row) {
    EXPECT_TRUE(std::ranges::equal(found.image(row), expected.image(row))) << row;
  }
}

void expect_cifar10(const Found& found, bool binary, size_t rows = kRows) {
  EXPECT_EQ(found.kind.dataset, CifarDataset::cifar10);
  EXPECT_EQ(found.kind.binary, binary);
  ASSERT_EQ(found.batches.size(), 6u);
  for (int place = 0; place < 6; ++place) {
    expect_same(found.batches[static_cast<size_t>(place)],
                make_batch(CifarDataset::cifar10, rows, place));
  }
}

// --- accepted archives ----------------------------------------------------------------------

TEST(CifarArchive, PicklesInThePublishedOrder) {
  const Found found = read(archive_bytes(python_members(kRows)));
  EXPECT_THAT(found.places, ElementsAre(3, 5, 2, 1, 4, 0));
  expect_cifar10(found, false);
}

TEST(CifarArchive, PlainRecords) {
  const Found found = read(archive_bytes(binary_members(kRows)));
  EXPECT_THAT(found.places, ElementsAre(0, 1, 2, 3, 4, 5));
  expect_cifar10(found, true);
}

TEST(CifarArchive, Cifar100) {
  for (const bool binary : {false, true}) {
    const Found found =
        read(archive_bytes(binary ? cifar100_binary_members(10) : cifar100_python_members(10)));
    EXPECT_EQ(found.kind.dataset, CifarDataset::cifar100);
    EXPECT_EQ(found.kind.binary, binary);
    ASSERT_EQ(found.batches.size(), 2u);
    expect_same(found.batches[0], make_batch(CifarDataset::cifar100, 10, 0));
    expect_same(found.batches[1], make_batch(CifarDataset::cifar100, 2, 1));
  }
}

TEST(CifarArchive, InAnyFolderOrNone) {
  for (const std::string folder : {"", "./", "my/copy of/", "./cifar/"}) {
    auto members = python_members(kRows);
    for (TarEntry& member : members) {
      member.name = folder + member.name.substr(member.name.rfind('/') + 1);
    }
    members.erase(members.begin());  // the folder itself
    expect_cifar10(read(archive_bytes(members)), false);
  }
}

TEST(CifarArchive, ContentTellsPicklesFromRecordsNotTheName) {
  auto members = binary_members(kRows);
  for (TarEntry& member : members) {
    if (member.name.ends_with(".bin")) member.name.resize(member.name.size() - 4);
  }
  expect_cifar10(read(archive_bytes(members)), true);
}

TEST(CifarArchive, InflatedAlready) {
  expect_cifar10(read(tar_bytes(python_members(kRows))), false);
}

TEST(CifarArchive, FromASourceThatGivesAByteAtATime) {
  for (const bool binary : {false, true}) {
    const auto members = binary ? binary_members(1) : python_members(1);
    for (const std::string& archive : {tar_bytes(members), archive_bytes(members)}) {
      expect_cifar10(read(std::make_unique<TrickleSource>(archive, "a.tar.gz")), binary, 1);
    }
  }
}

TEST(CifarArchive, InSeveralGzipMembers) {
  const std::string tar = tar_bytes(python_members(kRows));
  expect_cifar10(read(gzip_bytes(tar.substr(0, 10'000)) + gzip_bytes(tar.substr(10'000))), false);
}

TEST(CifarArchive, WhatElseIsInItIsPassedOver) {
  auto members = python_members(kRows);
  const std::vector<TarEntry> others = {
      {.name = "../data_batch_1", .content = "out"},
      {.name = "a/../../data_batch_1", .content = "out"},
      {.name = "/abs/data_batch_1", .content = "from the root"},
      {.name = "cifar-10-batches-py/._data_batch_1", .content = "a Mac was here"},
      {.name = "cifar-10-batches-py/data_batch_6", .content = "six"},
      {.name = "cifar-10-batches-py/data_batch_1/x", .content = "a folder of that name"},
      {.name = "cifar-10-batches-py/test", .content = "CIFAR-100's, but this is CIFAR-10"},
      {.name = "pipe", .type = '6'},
      {.name = "device", .type = '3'},
      {.name = "link", .type = '2', .link = "/etc/passwd"},
      {.name = "hard", .type = '1', .link = "/etc/passwd"},
      {.name = std::string(100, 'x'), .content = "long"},
      {.name = "caf\xe9\n", .content = "not UTF-8"},
  };
  members.insert(members.begin() + 3, others.begin(), others.end());
  expect_cifar10(read(archive_bytes(members)), false);
}

// Files with CIFAR-100's names but other contents precede CIFAR-10's files.
TEST(CifarArchive, StrayFilesOfCifar100sNamesArePassedOver) {
  const CifarBatch batch = make_batch(CifarDataset::cifar10, kRows, 0);
  const std::vector<TarEntry> strays = {
      {.name = "cifar-10-batches-py/test", .content = "#!/bin/sh"},
      {.name = "test"},
      {.name = "train", .type = '2', .link = "data_batch_1"},
      {.name = "cifar-10-batches-py/test", .content = pickle_bytes(batch)},
      {.name = "train.bin", .content = binary_bytes(batch)},
  };
  for (const TarEntry& stray : strays) {
    SCOPED_TRACE(stray.name + ": " + stray.content.substr(0, 10));
    for (const bool binary : {false, true}) {
      auto members = binary ? binary_members(kRows) : python_members(kRows);
      members.insert(members.begin(), stray);
      expect_cifar10(read(archive_bytes(members)), binary);
    }
  }
}

// --- rejected archives ----------------------------------------------------------------------

TEST(CifarArchive, NamesThatLeadElsewhereAreNotKnown) {
  auto members = python_members(kRows);
  members.back() = members[1];
  members[1].name = "../data_batch_4";
  members.back().name = "/data_batch_4";
  const Error error = error_of(archive_bytes(members));
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.what(), HasSubstr("missing in the archive: data_batch_4 ("));
}

TEST(CifarArchive, MissingBatchesAreNamed) {
  auto members = python_members(kRows);
  std::erase_if(members, [](const TarEntry& member) {
    return member.name.ends_with("_2") || member.name.ends_with("test_batch");
  });
  const Error error = error_of(archive_bytes(members));
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.what(), HasSubstr("missing in the archive: data_batch_2, test_batch"));
  EXPECT_THAT(error_of(archive_bytes({{.name = "x", .content = "y"}})).what(),
              HasSubstr("no CIFAR batches"));
}

TEST(CifarArchive, ABatchThatIsNoFileIsRefused) {
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    auto members = python_members(kRows);
    members[1] = {.name = members[1].name, .type = type, .link = "test_batch"};
    const Error error = error_of(archive_bytes(members));
    EXPECT_EQ(error.kind(), ErrorKind::corrupted) << type;
    EXPECT_EQ(error.path(), "a.tar.gz:" + members[1].name);
    EXPECT_THAT(error.what(), HasSubstr("not a regular file"));
  }
}

TEST(CifarArchive, ABatchTwiceIsRefused) {
  auto members = python_members(kRows);
  members.push_back(members[1]);
  EXPECT_THAT(error_of(archive_bytes(members)).what(),
              HasSubstr("a.tar.gz:cifar-10-batches-py/data_batch_4: the same batch twice"));
  auto binary = members;
  binary.back().name += ".bin";
  EXPECT_THAT(error_of(archive_bytes(binary)).what(), HasSubstr("the same batch twice"));
}

TEST(CifarArchive, BatchesThatDontBelongTogetherAreRefused) {
  auto members = python_members(kRows);
  members[4].name = "other/" + members[4].name;
  EXPECT_THAT(error_of(archive_bytes(members)).what(), HasSubstr("batches in two folders"));
  members[1].name = "a\x1b[2J\n/data_batch_4";  // the message is one harmless line
  EXPECT_THAT(error_of(archive_bytes(members)).what(), HasSubstr("the others in 'a\\x1b[2J\\x0a'"));
  members = python_members(kRows);
  members[4].content = binary_bytes(make_batch(CifarDataset::cifar10, kRows, 0));
  EXPECT_THAT(error_of(archive_bytes(members)).what(), HasSubstr("pickles and plain records"));
}

TEST(CifarArchive, ErrorsInAPickleNameTheMemberAndTheOffset) {
  auto members = python_members(kRows);
  std::string& pickle = members[3].content;
  const size_t at = pickle.find("cnumpy\ndtype\n");
  pickle.replace(at, 13, "cos\nsystem\n");
  const Error error = error_of(archive_bytes(members));
  EXPECT_EQ(error.path(), "a.tar.gz:cifar-10-batches-py/test_batch");
  EXPECT_EQ(error.offset(), at);
}

TEST(CifarArchive, PlainRecordsAreChecked) {
  const auto refused = [](std::string content) {
    auto members = binary_members(kRows);
    members[2].content = std::move(content);
    const Error error = error_of(archive_bytes(members));
    EXPECT_EQ(error.path(), "a.tar.gz:cifar-10-batches-bin/data_batch_2.bin");
    return error;
  };
  const std::string good = binary_bytes(make_batch(CifarDataset::cifar10, kRows, 1));
  EXPECT_THAT(refused(good.substr(0, good.size() - 1)).what(),
              HasSubstr("not a multiple of the record size"));
  EXPECT_THAT(refused(good + "x").what(), HasSubstr("not a multiple of the record size of 3073"));
  EXPECT_THAT(refused("").what(), HasSubstr("an empty batch"));
  std::string label = good;
  label[2 * 3073] = 10;
  const Error error = refused(label);
  EXPECT_EQ(error.offset(), 2 * 3073u);
  EXPECT_THAT(error.what(), HasSubstr("label 10 is not in 0..9"));
  // Records of CIFAR-100 in an archive of CIFAR-10.
  EXPECT_THAT(refused(binary_bytes(make_batch(CifarDataset::cifar100, kRows, 0))).what(),
              HasSubstr("not a multiple of the record size"));
}

// Damaged CIFAR-100 batches must not be skipped like files that are not part of CIFAR-10.
TEST(CifarArchive, DamagedBatchesOfCifar100AreRefused) {
  for (const bool binary : {false, true}) {
    for (const size_t damaged : {0, 1}) {
      auto members = binary ? cifar100_binary_members(10) : cifar100_python_members(10);
      std::vector<TarEntry*> batches;
      for (TarEntry& member : members) {
        if (member.content.size() > 3072) batches.push_back(&member);
      }
      ASSERT_EQ(batches.size(), 2u);
      batches[damaged]->content.pop_back();
      const std::string path = "a.tar.gz:" + batches[damaged]->name;
      EXPECT_EQ(error_of(archive_bytes(members)).path(), path);
      batches[1 - damaged]->name = "other";
      EXPECT_EQ(error_of(archive_bytes(members)).path(), path);
    }
  }
}

TEST(CifarArchive, ASizeThatLiesIsNoticed) {
  const auto members_with_size = [](int64_t lie) {
    auto members = python_members(kRows);
    members.resize(2);
    members.back().size = lie;
    return archive_bytes(members);
  };
  // Sizes larger than the archive, larger than any file, and smaller than the pickle.
  EXPECT_EQ(error_of(members_with_size(1'000'000)).kind(), ErrorKind::truncated);
  EXPECT_EQ(error_of(members_with_size(077777777777)).kind(), ErrorKind::truncated);
  EXPECT_EQ(error_of(members_with_size(100)).kind(), ErrorKind::truncated);
}

TEST(CifarArchive, ADecompressionBombIsStopped) {
  // A tar member that isn't needed, with 600 MB of zeros in 60 gzip members of 10 MB each.
  const std::string zeros(10'000'000, '\0');
  const std::string header = tar_bytes(TarEntry{.name = "zeros", .size = 600'000'000});
  std::string bomb = gzip_bytes(header);
  const std::string piece = gzip_bytes(zeros);
  for (int i = 0; i < 60; ++i) bomb += piece;
  EXPECT_LT(bomb.size(), 5'000'000u);
  const Error error = error_of(std::move(bomb));
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_THAT(error.what(), HasSubstr("the archive expands to more than"));
}

TEST(CifarArchive, AHeaderWithoutEndIsStopped) {
  // A member may be preceded by any number of pax headers.
  const std::string comment = "1000000 comment=" + std::string(1'000'000 - 17, 'x') + "\n";
  const std::string pax = tar_bytes(TarEntry{.name = "pax", .content = comment, .type = 'x'});
  std::string tar;
  for (int i = 0; i < 20; ++i) tar += pax;
  const Error error = error_of(gzip_bytes(tar));
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_THAT(error.what(), HasSubstr("a member's header of more than 4194304 bytes"));
}

TEST(CifarArchive, AMillionTinyMembersAreStopped) {
  const std::string member = tar_bytes(TarEntry{.name = "tiny", .content = "x"});
  std::string tar;
  for (int i = 0; i < 10'000; ++i) tar += member;
  const std::string part = gzip_bytes(tar);
  std::string archive;
  for (int i = 0; i < 100; ++i) archive += part;
  const Error error = error_of(std::move(archive));
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_THAT(error.what(), HasSubstr("more than 1000 members"));
}

TEST(CifarArchive, OtherFormatsAreCalledByTheirNames) {
  const std::vector<std::pair<std::string, std::string>> starts = {
      {"fd377a585a000004", "an xz file"},  {"425a683931415926", "a bzip2 file"},
      {"28b52ffd04580100", "a zstd file"}, {"504b030414000000", "a zip file"},
      {"377abcaf271c0004", "a 7z file"},   {"526172211a070100", "a rar file"},
  };
  for (const auto& [start, name] : starts) {
    const Error error = error_of(from_hex(start) + std::string(1000, 'x'));
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << name;
    EXPECT_EQ(error.reason(), name + ", not a .tar.gz or .tar");
    EXPECT_THAT(error.hint(), HasSubstr("cifar.tar.gz"));
  }
  // A tar archive is accepted even if its first member's name starts with the same bytes as one of
  // these formats.
  auto members = python_members(kRows);
  members.insert(members.begin(), {.name = "BZhang/notes", .content = "mine"});
  expect_cifar10(read(tar_bytes(members)), false);
}

TEST(CifarArchive, WhatIsNoArchiveIsRefused) {
  EXPECT_EQ(error_of("<!DOCTYPE html><html>404 not found").kind(), ErrorKind::corrupted);
  EXPECT_EQ(error_of("").kind(), ErrorKind::corrupted);
  EXPECT_EQ(error_of(gzip_bytes("hello")).kind(), ErrorKind::corrupted);
  EXPECT_EQ(error_of(gzip_bytes("")).kind(), ErrorKind::corrupted);
}

// --- damage ---------------------------------------------------------------------------------

TEST(CifarArchive, CutAnywhereIsAnError) {
  const std::string whole = archive_bytes(python_members(1));
  for (size_t size = 0; size < whole.size(); size += 1 + size / 7) error_of(whole.substr(0, size));
  // Only the trailer is truncated: all batches were delivered before.
  for (size_t cut = 1; cut <= 8; ++cut) {
    EXPECT_EQ(error_of(whole.substr(0, whole.size() - cut)).kind(), ErrorKind::truncated) << cut;
  }
  // Only the zeros that end an archive are missing, as after a cut between two members.
  std::string members;
  for (const TarEntry& entry : python_members(1)) members += tar_bytes(entry);
  const Error error = error_of(gzip_bytes(members));
  EXPECT_EQ(error.kind(), ErrorKind::truncated);
  EXPECT_EQ(error.offset(), members.size());
}

TEST(CifarArchive, AFlippedBitNeverGivesOtherImages) {
  const std::string whole = archive_bytes(python_members(1));
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); at += 1 + at / 50) {
    SCOPED_TRACE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    try {
      expect_cifar10(read(damaged), false, 1);  // for example, another match with the same bytes
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST(CifarArchive, GzipsChecksumIsChecked) {
  std::string archive = archive_bytes(python_members(1));
  archive[archive.size() - 8] ^= 1;
  EXPECT_EQ(error_of(archive).kind(), ErrorKind::corrupted);
}

TEST(CifarArchive, GarbageAfterTheEndIsAnError) {
  EXPECT_EQ(error_of(archive_bytes(python_members(1)) + "garbage").kind(), ErrorKind::corrupted);
}

}  // namespace
}  // namespace recordpipe
