#include "dataset/tfds/feature_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe::tfds {
namespace {

constexpr size_t kMaxFeatureDepth = 64;
constexpr size_t kMaxFeatures = 100'000;
constexpr size_t kMaxRank = TensorView::kMaxRank;

// The name in the file, and the member of the current spelling that has the properties.
struct Class {
  const char* name;
  FeatureClass feature_class;
  const char* member;
};
constexpr auto kClasses = std::to_array<Class>({
    {"FeaturesDict", FeatureClass::dict, "featuresDict"},
    {"Translation", FeatureClass::dict, "translation"},
    {"TranslationVariableLanguages", FeatureClass::sequence, "translation"},
    {"Sequence", FeatureClass::sequence, "sequence"},
    {"Dataset", FeatureClass::dataset, "sequence"},
    {"Video", FeatureClass::video, "video"},
    {"Tensor", FeatureClass::tensor, "tensor"},
    {"Scalar", FeatureClass::scalar, "tensor"},
    {"Text", FeatureClass::text, "text"},
    {"ClassLabel", FeatureClass::class_label, "classLabel"},
    {"BBoxFeature", FeatureClass::bounding_box, "boundingBox"},
    {"Audio", FeatureClass::audio, "audio"},
    {"Image", FeatureClass::image, "image"},
    {"LabeledImage", FeatureClass::labeled_image, "image"},
});

// "tensorflow_datasets.core.features.text_feature.Text".
const Class& class_of(const JsonObject& object, const std::string& name) {
  const bool is_known = name.starts_with("tensorflow_datasets.");
  const std::string last = name.substr(name.find_last_of('.') + 1);
  for (const Class& each : kClasses) {
    if (is_known && last == each.name) return each;
  }
  object.fail("the feature class \"" + printable(name) + "\" is not supported",
              ErrorKind::unsupported, "the classes of tfds.features are");
}

std::optional<TensorType> dtype_of(const JsonObject& object, const std::string& name) {
  constexpr TensorType kTypes[] = {
      TensorType::float32, TensorType::float64, TensorType::int32,      TensorType::uint8,
      TensorType::int16,   TensorType::int8,    TensorType::complex64,  TensorType::int64,
      TensorType::boolean, TensorType::uint16,  TensorType::complex128, TensorType::float16,
      TensorType::uint32,  TensorType::uint64,  TensorType::bfloat16,
  };
  for (const TensorType type : kTypes) {
    if (name == to_string(type)) return type;
  }
  if (name == "string" || name == "object" || name == "str") return std::nullopt;
  object.fail("the dtype \"" + printable(name) + "\" is not supported", ErrorKind::unsupported);
}

// {"dimensions": ["7", "-1"]}, or [7, null].
std::vector<int64_t> shape_of(const JsonObject& object) {
  const Json* shape = object.find("shape");
  if (!shape) return {};
  std::vector<int64_t> dimensions;
  if (shape->is_object()) {
    dimensions = object.object(*shape, "shape").integers("dimensions");
  } else if (shape->is_array()) {
    for (const Json& item : *shape) {
      dimensions.push_back(item.is_null() ? kUnknown : object.integer_of(item, "shape"));
    }
  } else {
    object.fail("\"shape\" is not a list");
  }
  if (dimensions.size() > kMaxRank) {
    object.fail("a shape of more than " + std::to_string(kMaxRank) + " dimensions",
                ErrorKind::limit_exceeded);
  }
  for (const int64_t dimension : dimensions) {
    if (dimension < kUnknown)
      object.fail("a shape with the dimension " + std::to_string(dimension));
  }
  return dimensions;
}

Encoding encoding_of(const JsonObject& object) {
  std::string name = object.text("encoding");  // of Audio, the name of the enum: "NONE"
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (name.empty() || name == "none") return Encoding::none;
  if (name == "bytes") return Encoding::bytes;
  if (name == "zlib") return Encoding::zlib;
  object.fail("the encoding \"" + printable(name) + "\" is not supported", ErrorKind::unsupported);
}

// An image's shape, without the frames of a video.
std::vector<int64_t> image_shape(const JsonObject& object, std::vector<int64_t> shape,
                                 int64_t channels) {
  if (shape.empty()) return {kUnknown, kUnknown, channels};
  if (shape.size() == 4) {
    object.fail("GIF images (of rank 4) are not supported", ErrorKind::unsupported);
  }
  const bool is_image = shape.size() == 3 && (shape[2] == 1 || shape[2] == 3 || shape[2] == 4);
  if (!is_image) {
    object.fail(
        "images of this shape are not supported: their shape is [height, width, channels], "
        "with 1, 3 or 4 channels",
        ErrorKind::unsupported);
  }
  return shape;
}

void image(Feature& feature, const JsonObject& object, std::vector<int64_t> shape) {
  const std::string dtype = object.text("dtype");
  const bool has_labels = feature.feature_class == FeatureClass::labeled_image;
  feature.shape = image_shape(object, std::move(shape), has_labels ? 1 : 3);
  feature.dtype = dtype.empty() ? TensorType::uint8 : dtype_of(object, dtype);
  feature.encoding_format = object.text("encodingFormat");
  const bool is_float = feature.dtype == TensorType::float32;
  if (feature.dtype != TensorType::uint8 && feature.dtype != TensorType::uint16 && !is_float) {
    object.fail("images of the dtype \"" + printable(dtype) + "\" are not supported",
                ErrorKind::unsupported);
  }
  if (is_float && feature.shape[2] != 1) {
    object.fail("images of float32 with several channels are not supported",
                ErrorKind::unsupported);
  }
  if (const Json* label = object.find("label"); label && has_labels) {
    feature.num_classes = object.object(*label, "label").integer("numClasses");
  } else if (const Json* labels = object.find("labels"); labels && labels->is_number_integer()) {
    feature.num_classes = object.integer("labels");
  }
}

// Whether it is a feature, not a dict of features: a feature's name may be "type".
bool is_node(const Json& object) {
  for (const char* name : {"type", "pythonClassName"}) {
    const auto member = object.find(name);
    if (member != object.end() && member->is_string()) return true;
  }
  return false;
}

Feature text_feature() { return {.feature_class = FeatureClass::text}; }

void check_leaf(const Feature& feature, const JsonObject& object) {
  const bool is_complex =
      feature.dtype == TensorType::complex64 || feature.dtype == TensorType::complex128;
  if (is_complex && feature.encoding == Encoding::none) {
    object.fail("complex numbers without an encoding can't be in an Example");
  }
  if (!feature.dtype && feature.encoding != Encoding::none) {
    object.fail("byte strings have no encoding");
  }
  if (!feature.is_image() && feature.encoding == Encoding::none &&
      std::ranges::count(feature.shape, kUnknown) > 1) {
    object.fail("a tensor with several unknown dimensions needs the encoding bytes or zlib");
  }
}

}  // namespace

Feature FeatureParser::node(const JsonObject& object, size_t depth) {
  if (depth > kMaxFeatureDepth) {
    object.fail("features that nest more than " + std::to_string(kMaxFeatureDepth) + " levels deep",
                ErrorKind::limit_exceeded);
  }
  if (++features_ > kMaxFeatures) {
    object.fail("more than " + std::to_string(kMaxFeatures) + " features",
                ErrorKind::limit_exceeded);
  }
  if (object.find("type")) return legacy(object, depth);
  const std::string name = object.text("pythonClassName");
  if (name.empty()) object.fail("a feature without \"pythonClassName\" and \"type\"");
  const Class& of = class_of(object, name);
  const Json* member = object.find(of.member);
  if (!member) {
    const Json* json = object.find("jsonFeature");
    if (!json) object.fail("a " + std::string(of.name) + " without \"" + of.member + "\"");
    const Json inner = parse_json(JsonObject(*json, path_, object.place()).text("json"), path_);
    return contents(JsonObject(inner, path_, object.place()), name, depth);
  }
  Feature feature = contents(JsonObject(*member, path_, object.place()), name, depth);
  feature.description = object.text("description");
  return feature;
}

Feature FeatureParser::legacy(const JsonObject& object, size_t depth) {
  const Json* content = object.find("content");
  const std::string name = object.text("type");
  if (!content) return contents(JsonObject(Json::object(), path_, object.place()), name, depth);
  if (!content->is_string())
    return contents(JsonObject(*content, path_, object.place()), name, depth);
  const Json inner = parse_json(content->get_ref<const std::string&>(), path_);
  return contents(JsonObject(inner, path_, object.place()), name, depth);
}

Feature FeatureParser::contents(const JsonObject& object, const std::string& class_name,
                                size_t depth) {
  const Class& of = class_of(object, class_name);
  Feature feature{.feature_class = of.feature_class};
  if (object.find("useEncoder")) {
    object.fail("text with an encoder is not supported", ErrorKind::unsupported);
  }
  switch (of.feature_class) {
    case FeatureClass::dict:
    case FeatureClass::sequence:
    case FeatureClass::dataset:
      children(feature, object, depth);
      return feature;
    case FeatureClass::video: {
      Feature frame{.feature_class = FeatureClass::image};
      std::vector<int64_t> shape = shape_of(object);
      if (!shape.empty()) {
        if (shape.size() != 4) object.fail("a video whose shape has not four dimensions");
        feature.length = shape.front();
        shape.erase(shape.begin());
      }
      image(frame, object, std::move(shape));
      feature.children.emplace_back("", std::move(frame));
      return feature;
    }
    case FeatureClass::image:
    case FeatureClass::labeled_image:
      image(feature, object, shape_of(object));
      return feature;
    case FeatureClass::text:
      return feature;
    case FeatureClass::class_label:
      feature.dtype = TensorType::int64;
      feature.num_classes = object.integer("numClasses");
      return feature;
    case FeatureClass::bounding_box:
      feature.dtype = TensorType::float32;
      feature.shape = {4};
      feature.bbox_format = object.text("bboxFormat");
      return feature;
    case FeatureClass::tensor:
    case FeatureClass::scalar:
    case FeatureClass::audio:
      break;
  }
  const std::string dtype = object.text("dtype");
  feature.dtype = dtype.empty() && of.feature_class == FeatureClass::audio
                      ? TensorType::int64
                      : dtype_of(object, dtype);
  // A Scalar's encoding is not restored by TFDS either.
  if (of.feature_class != FeatureClass::scalar) {
    feature.shape = shape_of(object);
    feature.encoding = encoding_of(object);
  }
  feature.is_optional = object.flag("optional");
  if (of.feature_class == FeatureClass::audio) {
    if (object.flag("lazyDecode")) {
      object.fail("audio with lazy_decode, which is stored as a file, is not supported",
                  ErrorKind::unsupported);
    }
    feature.sample_rate = object.integer("sampleRate");
    if (!object.find("shape")) feature.shape = {kUnknown};
  }
  check_leaf(feature, object);
  return feature;
}

void FeatureParser::children(Feature& feature, const JsonObject& object, size_t depth) {
  const auto child_of = [&](const Json& json, const std::string& name) {
    const std::string place = object.place().empty() || name.empty() ? object.place() + name
                                                                     : object.place() + "/" + name;
    return node(JsonObject(json, path_, place), depth + 1);
  };
  if (object.find("languages") || object.find("variableLanguagesPerExample")) {  // Translation
    if (feature.feature_class == FeatureClass::dict) {
      std::vector<std::string> languages = object.texts("languages");
      std::ranges::sort(languages);
      for (std::string& language : languages) {
        feature.children.emplace_back(std::move(language), text_feature());
      }
      return;
    }
    Feature pair;
    pair.children.emplace_back("language", text_feature());
    pair.children.emplace_back("translation", text_feature());
    feature.children.emplace_back("", std::move(pair));
    return;
  }
  if (feature.feature_class == FeatureClass::dict) {
    // {"features": {NAME: ...}}; the oldest files have the names at once.
    const Json* named = object.find("features");
    const bool is_wrapped = named && named->is_object() && !is_node(*named);
    const JsonObject members(is_wrapped ? *named : object.json(), path_, object.place());
    for (const auto& [name, json] : members.json().items()) {
      feature.children.emplace_back(name, child_of(json, name));
    }
    return;
  }
  const Json* inner = object.find("feature");
  if (!inner) object.fail("a sequence without \"feature\"");
  feature.length = object.integer("length", kUnknown);
  if (feature.length < kUnknown) object.fail("a sequence of a negative length");
  feature.children.emplace_back("", child_of(*inner, ""));
}

}  // namespace recordpipe::tfds
