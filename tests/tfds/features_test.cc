// Tests features.json: the tree, its leaves, both spellings, and what is refused.
#include "recordpipe/tfds/features.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/mutator.h"
#include "tests/support/temporary_directory.h"
#include "tests/tfds/made_set.h"

namespace recordpipe::tfds {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kTree =
    dict({"image/id", text(), "image", image(R"(["-1", "-1", "3"])"), "matrix",
          tensor("float64", R"(["2", "-1"])", R"("encoding": "zlib", "optional": true)"), "steps",
          sequence(dict({"obs", dict({"wrist", image("[4, 5, 1]", "uint16")}), "tags",
                         sequence(tensor("int32"), 3)}),
                   -1, "Dataset")});

TEST(Features, ATree) {
  const Feature tree = parse_features(kTree);
  EXPECT_EQ(tree.children.size(), 4u);
  const Feature& matrix = *tree.find("matrix");
  EXPECT_EQ(matrix.feature_class, FeatureClass::tensor);
  EXPECT_EQ(matrix.dtype, TensorType::float64);
  EXPECT_THAT(matrix.shape, ElementsAre(2, kUnknown));
  EXPECT_EQ(matrix.encoding, Encoding::zlib);
  EXPECT_TRUE(matrix.is_optional);
  EXPECT_EQ(tree.find("image/id")->feature_class, FeatureClass::text);
  EXPECT_EQ(tree.find("steps/obs/wrist")->dtype, TensorType::uint16);
  EXPECT_EQ(tree.find("steps/tags")->length, 3);
  EXPECT_EQ(tree.find("steps/none"), nullptr);
  EXPECT_EQ(tree.find("image/idx"), nullptr);
}

TEST(Features, Leaves) {
  const Feature tree = parse_features(kTree);
  std::vector<std::string> keys;
  for (const Leaf& leaf : leaves(tree)) keys.push_back(leaf.key);
  EXPECT_THAT(keys, ElementsAre("image", "image/id", "matrix", "steps/obs/wrist", "steps/tags"));
  const Leaf tags = leaves(tree).back();
  EXPECT_THAT(tags.path, ElementsAre("steps", "tags"));
  EXPECT_THAT(tags.lengths, ElementsAre(kUnknown, 3));
  EXPECT_TRUE(tags.in_dataset);
  EXPECT_FALSE(tags.is_encoded());
  EXPECT_THAT(leaves(tree).front().lengths, IsEmpty());
}

TEST(Features, TheLegacySpelling) {
  const std::string module = "tensorflow_datasets.core.features.";
  const Feature tree =
      parse_features(R"({"type": ")" + module + R"(features_dict.FeaturesDict", "content": {
        "type": {"type": ")" +
                     module + R"(text_feature.Text", "content": {}},
        "content": {"type": ")" +
                     module + R"(feature.Tensor",
                    "content": {"shape": [null, 2], "dtype": "bool"}},
        "label": {"type": ")" +
                     module + R"(class_label_feature.ClassLabel",
                  "content": {"num_classes": 7}},
        "video": {"type": ")" +
                     module + R"(video_feature.Video",
                  "content": {"shape": [null, 4, 5, 3], "encoding_format": "png",
                              "ffmpeg_extra_args": []}},
        "list": {"type": ")" +
                     module + R"(sequence_feature.Sequence", "content": {"length": null,
                 "feature": {"type": ")" +
                     module + R"(feature.Tensor",
                             "content": {"shape": [], "dtype": "int8"}}}},
        "proto": {"type": ")" +
                     module + R"(tensor_feature.Tensor",
                  "proto_cls": "tensorflow_datasets.TensorFeature",
                  "content": "{\"shape\": {\"dimensions\": [\"3\"]}, \"dtype\": \"int16\"}"}}})");
  EXPECT_EQ(tree.find("type")->feature_class, FeatureClass::text);
  EXPECT_THAT(tree.find("content")->shape, ElementsAre(kUnknown, 2));
  EXPECT_EQ(tree.find("label")->num_classes, 7);
  EXPECT_EQ(tree.find("video")->length, kUnknown);
  EXPECT_THAT(tree.find("video")->child().shape, ElementsAre(4, 5, 3));
  EXPECT_EQ(tree.find("list")->child().dtype, TensorType::int8);
  EXPECT_THAT(tree.find("proto")->shape, ElementsAre(3));
}

TEST(Features, AFeatureMayHaveAnyName) {
  const Feature tree = parse_features(
      dict({"type", text(), "pythonClassName", text(), "features", text(), "", text()}));
  EXPECT_EQ(tree.children.size(), 4u);
}

TEST(Features, NamesOfLabels) {
  const TemporaryDirectory folder;
  const std::string label =
      R"({"pythonClassName": "tensorflow_datasets.core.features.c.ClassLabel",)"
      R"( "classLabel": {"numClasses": "2"}})";
  write_set(folder.path(), dict({"a/b", dict({"label", sequence(label)}), "plain", label}), {});
  write_file(folder / "a.b-label.labels.txt", "cat\n\n dog \n");
  const Feature tree = read_features(folder.path());
  EXPECT_THAT(tree.find("a/b/label")->child().names, ElementsAre("cat", "dog"));
  EXPECT_THAT(tree.find("plain")->names, IsEmpty());
  write_file(folder / "plain.labels.txt", "one\n");
  const Error error = error_of([&] { read_features(folder.path()); });
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_THAT(error.reason(), HasSubstr("1 names of labels, where features.json has 2 classes"));
  EXPECT_THAT(error.path(), HasSubstr("plain.labels.txt"));
}

TEST(Features, RefusedByTheirPath) {
  const auto refused = [](const std::string& feature) {
    const Error error = error_of([&] {
      parse_features(dict({"fine", text(), "outer", sequence(dict({"bad", feature}))}));
    });
    EXPECT_THAT(error.reason(), HasSubstr("outer/bad"));
    return error;
  };
  EXPECT_EQ(refused(tensor("qint8")).kind(), ErrorKind::unsupported);
  EXPECT_EQ(refused(image("[-1, 4, 4, 3]")).kind(), ErrorKind::unsupported);
  EXPECT_EQ(refused(image("[4, 4, 3]", "int32")).kind(), ErrorKind::unsupported);
  EXPECT_EQ(refused(tensor("int64", "[-2]")).kind(), ErrorKind::corrupted);
  EXPECT_EQ(refused(tensor("int64", "[-1, -1]")).kind(), ErrorKind::corrupted);
  EXPECT_EQ(refused(tensor("int64", R"(["x"])")).kind(), ErrorKind::corrupted);
  EXPECT_EQ(refused(tensor("int64", "[]", R"("encoding": "gzip")")).kind(), ErrorKind::unsupported);
  EXPECT_EQ(refused(R"({"pythonClassName": "my.Feature", "tensor": {}})").kind(),
            ErrorKind::unsupported);
  EXPECT_EQ(refused("{}").kind(), ErrorKind::corrupted);
  EXPECT_EQ(refused("7").kind(), ErrorKind::corrupted);
}

TEST(Features, DamagedFilesAreErrors) {
  Mutator mutator(5);
  int errors = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string damaged = mutator.mutate(kTree, R"({"dimensions": ["-1"]})");
    try {
      leaves(parse_features(damaged));
    } catch (const Error& error) {
      EXPECT_EQ(error.path(), "features.json");
      ++errors;
    }
  }
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace recordpipe::tfds
