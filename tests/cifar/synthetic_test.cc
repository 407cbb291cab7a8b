// Tests the synthetic data set: the same images on every machine, in an ordinary archive.
#include "recordpipe/cifar/synthetic.h"

#include <stop_token>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/cifar/synthetic_image.h"
#include "dataset/cifar/tar.h"
#include "recordpipe/base/error.h"
#include "recordpipe/cifar/archive.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/io/sha256.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;

std::string digest_of_images(uint64_t seed, size_t count) {
  Sha256 hash;
  std::vector<std::byte> image(1 + kCifarImageSize);
  for (size_t i = 0; i < count; ++i) {
    const std::span<std::byte, kCifarImageSize> pixels(image.data() + 1, kCifarImageSize);
    image[0] = static_cast<std::byte>(draw_synthetic_image(seed, i, pixels));
    hash.update(image);
  }
  return hash.hex();
}

TEST(SyntheticImage, IsAFunctionOfSeedAndIndex) {
  // Every machine, compiler and version must draw exactly these bytes.
  EXPECT_EQ(digest_of_images(1, 100),
            "21463fa4c1f1f2229331bbcbbb6d3f3601754d71013f9f51f8bbf0a97cb09716");
  EXPECT_NE(digest_of_images(2, 100), digest_of_images(1, 100));
}

TEST(SyntheticImage, EveryClassComesAboutAsOften) {
  std::vector<int> count(kCifar10Classes);
  std::vector<std::byte> image(kCifarImageSize);
  for (size_t i = 0; i < 2000; ++i) {
    ++count[draw_synthetic_image(1, i, std::span<std::byte, kCifarImageSize>(image))];
  }
  for (const int n : count) EXPECT_NEAR(n, 200, 60);
}

TEST(SyntheticImage, NoChannelTellsTheClass) {
  // The mean colour of each class differs from the mean of all images only by chance; the standard
  // deviation of a class's mean is about 74 / sqrt(400).
  std::vector<double> sum(kCifar10Classes), count(kCifar10Classes);
  std::vector<std::byte> image(kCifarImageSize);
  for (size_t i = 0; i < 4000; ++i) {
    const auto label = draw_synthetic_image(1, i, std::span<std::byte, kCifarImageSize>(image));
    for (size_t k = 0; k < 1024; ++k) sum[label] += std::to_integer<int>(image[k]) / 1024.0;
    ++count[label];
  }
  for (size_t c = 0; c < sum.size(); ++c) EXPECT_NEAR(sum[c] / count[c], 127, 15) << c;
}

class SyntheticArchive : public testing::Test {
 protected:
  FileSystem& files = posix_file_system();
  TemporaryDirectory directory;
  const std::string path = directory / "synthetic.tar.gz";
};

TEST_F(SyntheticArchive, IsReadAsAPublishedOne) {
  write_synthetic_cifar(files, path, {.seed = 3, .images_per_batch = 7});
  std::vector<size_t> places;
  const auto kind = read_cifar_archive(
      files.open_source(path), [&](const CifarArchiveKind&, size_t place, CifarBatch batch) {
        places.push_back(place);
        ASSERT_EQ(batch.rows(), 7u);
        std::vector<std::byte> image(kCifarImageSize);
        for (size_t row = 0; row < 7; ++row) {
          const auto label = draw_synthetic_image(3, 7 * place + row,
                                                  std::span<std::byte, kCifarImageSize>(image));
          EXPECT_EQ(batch.labels[row], label);
          EXPECT_TRUE(std::ranges::equal(batch.image(row), image));
        }
      });
  EXPECT_EQ(kind.dataset, CifarDataset::cifar10);
  EXPECT_FALSE(kind.binary);
  EXPECT_THAT(places, ElementsAre(3, 5, 2, 1, 4, 0));
}

TEST_F(SyntheticArchive, HasThePublishedMembersInThePublishedOrder) {
  write_synthetic_cifar(files, path, {.images_per_batch = 1});
  ReadAhead inflated(inflate(files.open_source(path), Compression::gzip));
  TarReader tar(inflated);
  std::vector<std::string> names;
  while (const auto member = tar.next()) names.push_back(member->path);
  const std::string folder = "cifar-10-batches-py/";
  EXPECT_THAT(names, ElementsAre(folder, folder + "data_batch_4", folder + "readme.html",
                                 folder + "test_batch", folder + "data_batch_3",
                                 folder + "batches.meta", folder + "data_batch_2",
                                 folder + "data_batch_5", folder + "data_batch_1"));
}

TEST_F(SyntheticArchive, TheSameSeedGivesTheSameBytes) {
  const auto bytes = [&](uint64_t seed) {
    write_synthetic_cifar(files, path, {.seed = seed, .images_per_batch = 5});
    return read_file(path);
  };
  const std::string first = bytes(1);
  EXPECT_EQ(bytes(1), first);
  EXPECT_NE(bytes(2), first);
}

TEST_F(SyntheticArchive, StopsWhenAsked) {
  std::stop_source stop;
  SyntheticCifarOptions options{.images_per_batch = 10'000, .stop = stop.get_token()};
  options.progress = [&](const Progress&) { stop.request_stop(); };
  try {
    write_synthetic_cifar(files, path, options);
    FAIL() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::cancelled);
  }
  EXPECT_THAT(files.list(directory.path()), testing::IsEmpty());
}

}  // namespace
}  // namespace recordpipe
