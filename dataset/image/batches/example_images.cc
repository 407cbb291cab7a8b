#include "recordpipe/image/batches/example_images.h"

#include <optional>
#include <utility>
#include <variant>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// Returns the schema in which the images' features are views.
ExampleSchema with_views(ExampleSchema schema, const std::vector<ImageSpec>& images) {
  for (const ImageSpec& image : images) {
    const auto [at, is_new] = schema.try_emplace(image.feature, FixedLen{FeatureKind::bytes});
    auto* const fixed = std::get_if<FixedLen>(&at->second);
    if (!fixed || fixed->kind != FeatureKind::bytes || fixed->is_view) {
      throw Error({.kind = ErrorKind::invalid_argument,
                   .reason = "'" + printable(image.feature) + "' is " +
                             (fixed && fixed->is_view ? "an image already"
                                                      : "not a feature of bytes (FixedLen)")});
    }
    fixed->is_view = true;
  }
  return schema;
}

}  // namespace

ExampleImagesCollator::ExampleImagesCollator(const ExampleSchema& schema,
                                             const std::vector<ImageSpec>& images,
                                             std::shared_ptr<UnlistedFeatures> unlisted,
                                             OtherMessages others)
    : features_(with_views(schema, images), std::move(unlisted), others),
      images_(images.begin(), images.end()) {}

void ExampleImagesCollator::reset(ExampleImagesBatch& batch, size_t rows) const {
  features_.reset(batch.example, rows);
  batch.images.resize(images_.size());
  for (size_t i = 0; i < images_.size(); ++i) images_[i].reset(batch.images[i], rows);
}

void ExampleImagesCollator::set_images(ExampleImagesBatch& batch, size_t row,
                                       const DrawnRecord& drawn,
                                       std::span<const std::byte> next) const {
  const ImageOrigin origin{drawn.record.path, drawn.record.offset};
  size_t random = 0;
  for (size_t i = 0; i < images_.size(); ++i) {
    const ImageSpec& spec = images_[i].spec();
    const auto bytes = batch.example.view(row, spec.feature);
    // The next record's image is near its start, if it is most of the record.
    const bool foresee = images_.size() == 1 && !next.empty() && next.size() >= bytes.size();
    images_[i].set(batch.images[i], row, bytes,
                   spec.is_random() ? drawn.random(random++) : Random(0, 0, 0), origin,
                   foresee ? reinterpret_cast<const uint8_t*>(next.data()) : nullptr);
  }
}

DrawnRecord ExampleImagesCollator::undrawn(Record record) const {
  DrawnRecord drawn{.record = std::move(record)};
  drawn.others.resize(images_.size(), drawn.first);
  return drawn;
}

void ExampleImagesCollator::set(ExampleImagesBatch& batch, size_t row, Record record) const {
  if (images_.empty()) return features_.set(batch.example, row, std::move(record));
  set(batch, row, undrawn(std::move(record)));
}

void ExampleImagesCollator::set(ExampleImagesBatch& batch, size_t row, Record record,
                                const Record& next) const {
  if (images_.empty()) return features_.set(batch.example, row, std::move(record), next);
  set(batch, row, undrawn(std::move(record)), {.record = next});
}

void ExampleImagesCollator::set(ExampleImagesBatch& batch, size_t row, DrawnRecord drawn) const {
  set(batch, row, std::move(drawn), {});
}

void ExampleImagesCollator::set(ExampleImagesBatch& batch, size_t row, DrawnRecord drawn,
                                const DrawnRecord& next) const {
  features_.set(batch.example, row, drawn.record);  // the images need the record, too
  set_images(batch, row, drawn, next.record.data);
}

Record ExampleImagesCollator::checked(Record record) const {
  thread_local ExampleBatch row;
  features_.reset(row, 1);
  features_.set(row, 0, record);
  for (const ImageColumnCollator& image : images_) {
    image.check(row.view(0, image.spec().feature), {record.path, record.offset});
  }
  features_.finish(row);
  return record;
}

void ExampleImagesCollator::finish(ExampleImagesBatch& batch) const {
  for (size_t i = 0; i < images_.size(); ++i) images_[i].finish(batch.images[i]);
  features_.finish(batch.example);
}

std::vector<Parameter> ExampleImagesCollator::parameters() const {
  std::vector<Parameter> all = features_.parameters();
  for (const ImageColumnCollator& image : images_) all.push_back(image.spec().parameter());
  return all;
}

Dataset<DrawnRecord> draw_images(const Dataset<Record>& records,
                                 const ExampleImagesCollator& collator) {
  return draw_images(records, collator.images());
}

Dataset<DrawnRecord> draw_images(const Dataset<Record>& records,
                                 std::span<const ImageColumnCollator> images) {
  std::optional<Dataset<DrawnRecord>> drawn;
  for (const ImageColumnCollator& image : images) {
    if (!image.spec().is_random()) continue;
    if (drawn) {
      drawn =
          drawn->map_with_random(image.spec().seed, [](DrawnRecord record, const Random& random) {
            record.others.push_back(random);
            return record;
          });
    } else {
      drawn = records.map_with_random(image.spec().seed, [](Record record, const Random& random) {
        return DrawnRecord{.record = std::move(record), .first = random};
      });
    }
  }
  if (drawn) return *std::move(drawn);
  return records.map([](Record record) { return DrawnRecord{.record = std::move(record)}; });
}

}  // namespace recordpipe
