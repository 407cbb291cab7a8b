#include "recordpipe/tfds/batch.h"

#include <algorithm>

#include "dataset/base/names_in_words.h"
#include "dataset/tfds/image_arrays.h"
#include "dataset/tfds/plain_columns.h"
#include "dataset/tfds/sequence_images.h"
#include "recordpipe/base/error.h"

namespace recordpipe::tfds {
namespace {

// The options with which the decoder leaves the images of `specs` to their columns.
ExampleOptions without(ExampleOptions options, const std::vector<ImageSpec>& specs) {
  for (const ImageSpec& spec : specs) {
    const auto at = std::ranges::find(options.except, spec.feature);
    if (options.decode_images && at == options.except.end()) {
      options.except.push_back(spec.feature);
    } else if (!options.decode_images && at != options.except.end()) {
      options.except.erase(at);
    }
  }
  return options;
}

Leaf image_leaf(const Feature& features, const std::string& path) {
  std::vector<std::string> known;
  for (Leaf& leaf : leaves(features)) {
    if (!leaf.feature->is_image()) continue;
    known.push_back(leaf.key);
    if (leaf.key != path) continue;
    if (leaf.feature->dtype != TensorType::float32) return std::move(leaf);
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "\"" + printable(path) +
                           "\" is an image of floats: image operators can't change it"});
  }
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "there is no image \"" + printable(path) + "\"",
               .hint = there_are(std::move(known), path)});
}

// Moves a column's images to the value at `path`.
void move_images(ImageColumn& column, std::span<const std::string> path, Dict& columns) {
  Dict* dict = &columns;
  for (const std::string& name : path.first(path.size() - 1)) dict = &dict->at(name).dict();
  DictValue& value = dict->at(path.back());
  if (!column.images.empty()) {
    DictValue::List& list = value.become<DictValue::List>();
    value.stacking = Stacking::list;
    list.resize(column.images.size());
    for (size_t i = 0; i < list.size(); ++i) {
      Array& array = list[i].become<Array>();
      array.type = type_of(column.images[i].format.dtype);
      array.shape = shape_of(column.images[i].format);
      array.bytes.swap(column.images[i].values);
    }
    return;
  }
  Array& array = value.become<Array>();
  value.stacking = Stacking::dense;
  array.type = type_of(column.batch.format().dtype);
  array.shape = shape_of(column.batch.format());
  array.shape.insert(array.shape.begin(), column.batch.size());
  column.batch.exchange_bytes(array.bytes);
  if (column.sizes.empty()) return;
  std::vector<int64_t> sizes;
  for (const ImageSize& size : column.sizes) {
    sizes.push_back(static_cast<int64_t>(size.height));
    sizes.push_back(static_cast<int64_t>(size.width));
  }
  dict->set(path.back() + "/size", make_array<int64_t>({column.sizes.size(), 2}, sizes));
}

// The feature inside of sequences, whose names are those of the Dict.
const Feature& inside(const Feature& feature) {
  const Feature* inner = &feature;
  while (!inner->is_leaf() && inner->feature_class != FeatureClass::dict) inner = &inner->child();
  return *inner;
}

// Puts plain columns and the others together, in the order of the features.
class Merge {
 public:
  Merge(const PlainColumns& plain, const ExampleBatch& batch) : plain_(plain), batch_(batch) {}

  // `next_leaf`: counts the leaves. `rest`: null if all leaves are plain. The memory of `out` is
  // used again.
  void columns(const Feature& features, size_t& next_leaf, Dict* rest, Dict& out) const {
    size_t position = 0;
    size_t of_rest = 0;
    for (const auto& [name, feature] : features.children) {
      const Feature& inner = inside(feature);
      DictValue& value = out.place(position++, name);
      if (inner.feature_class == FeatureClass::dict) {
        Dict* const inner_rest = rest ? &rest->entries()[of_rest++].value.dict() : nullptr;
        columns(inner, next_leaf, inner_rest, value.become<Dict>());
      } else if (plain_.are_plain()[next_leaf++]) {
        plain_.write(batch_, next_leaf - 1, value);
      } else {
        DictValue& other = rest->entries()[of_rest++].value;
        const bool is_optional = other.is_optional;
        std::swap(value, other);
        if (is_optional) {
          std::swap(out.place(position++, name + "_mask"), rest->entries()[of_rest++].value);
        }
      }
    }
    out.truncate(position);
  }

 private:
  const PlainColumns& plain_;
  const ExampleBatch& batch_;
};

}  // namespace

ExamplesCollator::ExamplesCollator(const Feature& features, const ExampleOptions& options,
                                   const std::vector<ImageSpec>& images)
    : options_(options),
      decoder_(features, without(options, images)),
      plain_(std::make_shared<const PlainColumns>(decoder_.leaves())),
      rest_(features, without(options, images), plain_->are_plain()),
      images_(images.begin(), images.end()) {
  for (const ImageSpec& spec : images) {
    const Leaf leaf = image_leaf(features, spec.feature);
    image_paths_.push_back(leaf.path);
    sequences_.push_back(leaf.lengths.empty()
                             ? nullptr
                             : std::make_shared<const SequenceImages>(leaf, spec, options));
  }
}

ImageSpec ExamplesCollator::image(const std::string& feature) const {
  const Feature& image = *image_leaf(decoder_.features(), feature).feature;
  return {.feature = feature,
          .source = DecodeOptions{.channels = static_cast<int>(image.shape[2]),
                                  .bits = image.dtype == TensorType::uint16 ? 16 : 8,
                                  .max_pixels = options_.max_pixels,
                                  .dct = options_.dct}};
}

ExamplesCollator ExamplesCollator::with_image(const ImageSpec& image) const {
  std::vector<ImageSpec> specs;
  bool is_new = true;
  for (const ImageColumnCollator& other : images_) {
    const bool is_same = other.spec().feature == image.feature;
    specs.push_back(is_same ? image : other.spec());
    is_new = is_new && !is_same;
  }
  if (is_new) specs.push_back(image);
  return ExamplesCollator(decoder_.features(), options_, specs);
}

void ExamplesCollator::reset(ExamplesBatch& batch, size_t rows) const {
  batch.images.resize(images_.size());
  for (size_t i = 0; i < images_.size(); ++i) {
    if (sequences_[i]) continue;
    DictValue* const last = batch.columns.find(images_[i].spec().feature);
    Array* const array = last ? last->get_if<Array>() : nullptr;
    if (array) batch.images[i].batch.exchange_bytes(array->bytes);  // used again
    images_[i].reset(batch.images[i], rows);
  }
  if (plain_->collator()) plain_->collator()->reset(batch.plain, rows);
  if (!rest_.is_empty()) DictCollator().reset(batch.dicts, rows);
}

void ExamplesCollator::set(ExamplesBatch& batch, size_t row, const Record& record,
                           const Record& next) const {
  set_plain(batch, row, record, next);
  if (rest_.is_empty()) return;
  DrawnRecord drawn{.record = record};
  drawn.others.resize(images_.size(), drawn.first);
  set_dict(batch, row, drawn);
}

void ExamplesCollator::set(ExamplesBatch& batch, size_t row, const DrawnRecord& drawn) const {
  set_plain(batch, row, drawn.record, {});
  set_dict(batch, row, drawn);
}

void ExamplesCollator::set_plain(ExamplesBatch& batch, size_t row, const Record& record,
                                 const Record& next) const {
  if (!plain_->collator()) return;
  try {
    plain_->collator()->set(batch.plain, row, record, next);
  } catch (const Error&) {
    decoder_(record);  // says it in the words of features.json
    throw;
  }
}

void ExamplesCollator::set_dict(ExamplesBatch& batch, size_t row, const DrawnRecord& drawn) const {
  Dict dict = rest_(drawn.record);
  const ImageOrigin origin{drawn.record.path, drawn.record.offset};
  size_t random = 0;
  for (size_t i = 0; i < images_.size(); ++i) {
    const ImageSpec& spec = images_[i].spec();
    DictValue& value = dict.at(spec.feature);
    const Random numbers = spec.is_random() ? drawn.random(random++) : Random(0, 0, 0);
    if (sequences_[i]) {
      sequences_[i]->set(value, images_[i], numbers, origin);
      continue;
    }
    images_[i].set(batch.images[i], row, value.bytes()[0], numbers, origin);
    value = Array{TensorType::uint8, {0}, {}};  // finish() replaces the column
  }
  DictCollator().set(batch.dicts, row, std::move(dict));
}

void ExamplesCollator::finish(ExamplesBatch& batch) const {
  if (plain_->collator()) plain_->collator()->finish(batch.plain);
  size_t leaf = 0;
  Dict* const rest = rest_.is_empty() ? nullptr : &batch.dicts.columns;
  if (rest) DictCollator().finish(batch.dicts);
  Merge(*plain_, batch.plain).columns(decoder_.features(), leaf, rest, batch.columns);
  for (size_t i = 0; i < images_.size(); ++i) {
    if (sequences_[i]) continue;
    images_[i].finish(batch.images[i]);
    move_images(batch.images[i], image_paths_[i], batch.columns);
  }
}

Record ExamplesCollator::checked(Record record) const {
  Dict dict = decoder_(record);
  const ImageOrigin origin{record.path, record.offset};
  for (size_t i = 0; i < images_.size(); ++i) {
    DictValue& value = dict.at(images_[i].spec().feature);
    if (sequences_[i]) {
      sequences_[i]->check(value, images_[i], origin);
    } else {
      images_[i].check(value.bytes()[0], origin);
    }
  }
  return record;
}

std::vector<Parameter> ExamplesCollator::parameters() const {
  std::vector<Parameter> all = decoder_.parameters();
  for (const ImageColumnCollator& image : images_) all.push_back(image.spec().parameter());
  return all;
}

}  // namespace recordpipe::tfds
