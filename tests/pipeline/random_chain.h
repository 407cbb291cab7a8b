// Makes random pipelines of operators, and their twins.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/pad_crop_flip.h"
#include "recordpipe/pipeline/choose_from_datasets.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/sample_from_datasets.h"
#include "recordpipe/pipeline/zip.h"
#include "tests/pipeline/naive.h"
#include "tests/pipeline/value.h"

namespace recordpipe {

inline Error bad_element(const Value& value) {
  return Error({.kind = ErrorKind::corrupted, .reason = "bad " + std::to_string(digest(value))});
}

inline std::vector<Value> number_values(uint32_t count) {
  std::vector<Value> out;
  for (uint32_t i = 0; i < count; ++i) out.push_back(number_value(i));
  return out;
}

// Computes an image of 2 x 2 pixels and its label from the value.
inline ImageRow image_row(const Value& value) {
  const uint32_t pixels = digest(value);
  auto bytes = std::make_shared<std::byte[]>(sizeof(pixels));
  std::memcpy(bytes.get(), &pixels, sizeof(pixels));
  return {.pixels = {reinterpret_cast<const uint8_t*>(bytes.get()), sizeof(pixels)},
          .label = static_cast<int32_t>(pixels % 10),
          .owner = std::move(bytes)};
}

inline Value image_value(int32_t label, std::span<const uint8_t> pixels) {
  Value image = list_value({number_value(label)});
  for (const uint8_t pixel : pixels) image.items.push_back(number_value(pixel));
  return image;
}

// The length of a list, or one that is computed from a number.
inline size_t sequence_size(const Value& value) {
  return value.is_list ? value.items.size() : digest(value) % 12;
}

// The same operators applied to a pipeline and to its twin.
class Chain {
 public:
  // Draws a source and up to `most` operators. Cache files are written to `directory`.
  static Chain draw(Random& random, uint32_t most, const std::string& directory, int depth = 0) {
    Chain chain(random, depth == 0 ? 300 : 120, directory);
    for (uint32_t length = random.below(most + 1); length > 0; --length) chain.grow(random, depth);
    return chain;
  }

  const Dataset<Value>& dataset() const { return dataset_; }
  const naive::Pipeline<Value>& twin() const { return twin_; }

 private:
  Chain(Random& random, uint32_t most, const std::string& directory)
      : directory_(directory),
        dataset_(from_vector(std::vector<Value>{})),
        twin_(naive::from_vector<Value>({})) {
    const uint32_t size = random.below(most);
    numbers_ = elements_ = size;
    dataset_ = from_vector(number_values(size));
    // One source in ten ends with an error.
    const std::string error = random.below(10) == 0 ? "the source failed" : "";
    twin_ = naive::from_vector(number_values(size), error);
    if (error.empty() && random.below(4) > 0) return;
    has_random_access_ = false;
    dataset_ = from_generator([size, error] {
      return [=, next = uint32_t{0}]() mutable -> std::optional<Value> {
        if (next < size) return number_value(next++);
        if (error.empty()) return std::nullopt;
        throw std::runtime_error(error);
      };
    });
  }

  // Applies an operator whose call is the same for the dataset and the twin.
  template <class F>
  void apply(F operate) {
    dataset_ = operate(dataset_);
    twin_ = operate(twin_);
  }

  // Returns false if the pipeline would become too long for a test.
  bool expand(uint64_t by) {
    if (numbers_ * by > 3000) return false;
    numbers_ *= by;
    elements_ *= by;
    return true;
  }

  void grow(Random& random, int depth) {
    const uint64_t seed = random();
    const uint32_t n = random.below(90) + 1;
    const bool flag = random.below(2) == 0;
    const auto drop = flag ? DropRemainder::yes : DropRemainder::no;
    // Only operators that keep random access set this flag again.
    const bool had_random_access = std::exchange(has_random_access_, false);
    const auto listed = [](std::vector<Value> values) { return list_value(std::move(values)); };
    switch (random.below(30)) {
      case 0:
        apply([=](const auto& in) {
          return in.map([n](Value v) { return shifted(std::move(v), n); });
        });
        has_random_access_ = had_random_access;
        break;
      case 1: {
        const auto f = [](Value v, Random& r) { return shifted(std::move(v), r.below(1 << 20)); };
        apply([=](const auto& in) { return in.map_with_random(seed, f); });
        has_random_access_ = had_random_access;
        break;
      }
      case 2: {
        const auto keep = [n](const Value& v) { return digest(v) % (n % 7 + 2) != 0; };
        apply([=](const auto& in) { return in.filter(keep); });
        break;
      }
      case 3:
        apply([=](const auto& in) { return in.shuffle(n, seed); });
        break;
      case 4:
        if (expand(n % 4)) apply([=](const auto& in) { return in.repeat(n % 4); });
        break;
      case 5:
        apply([=](const auto& in) { return in.take(n * 2); });
        has_random_access_ = had_random_access;
        break;
      case 6:
        apply([=](const auto& in) { return in.skip(flag ? n / 4 : n / 30); });
        has_random_access_ = had_random_access;
        break;
      case 7:
        dataset_ = dataset_.prefetch(n % 9 + 1);
        break;
      case 8: {
        if (!expand(3)) break;
        const auto f = [n](const Value& v) {
          return v.is_list ? v.items : std::vector<Value>(digest(v) % (n % 4 + 1), v);
        };
        apply([=](const auto& in) { return in.flat_map(f); });
        elements_ = numbers_;
        break;
      }
      case 9:
      case 10:
        dataset_ = dataset_.batch(n % 11 + 1, drop, ValueCollator{});
        twin_ = twin_.batch(n % 11 + 1, flag).map(listed);
        break;
      case 11: {
        const auto size = n % 11 + 1;
        const auto items = [](Value v) { return std::move(v.items); };
        dataset_ = dataset_.batch(size, drop, ValueCollator{}).map(items).unbatch();
        twin_ = twin_.batch(size, flag).unbatch();
        break;
      }
      case 12:
      case 13: {
        const auto check = [n](Value v) {
          if (digest(v) % (n * 3) == 1) throw bad_element(v);
          return v;
        };
        apply([=](const auto& in) { return in.map(check); });
        has_random_access_ = had_random_access;
        break;
      }
      case 14:
        apply([=](const auto& in) { return in.ignore_errors(); });
        break;
      case 15: {
        if (!expand(3)) break;
        const size_t cycle_length = n % 5 + 1, block_length = n % 3 + 1, size = n % 2 + 1;
        const auto open = [=](const auto& source, const Value& v) {
          const auto add = [x = digest(v) % 1000](Value i) { return shifted(std::move(i), x); };
          return source.take(digest(v) % 4).shuffle(2, seed).map(add);
        };
        dataset_ = dataset_.interleave(
            [=](const Value& v) {
              return open(from_vector(number_values(3)), v).batch(size, drop, ValueCollator{});
            },
            cycle_length, block_length);
        twin_ = twin_.interleave(
            [=](const Value& v) {
              return open(naive::from_vector(number_values(3)), v).batch(size, flag).map(listed);
            },
            cycle_length, block_length);
        elements_ = numbers_;
        break;
      }
      case 16: {
        const size_t size = n % 7 + 1, shift = n % 4 + 1;
        if (!expand(size / shift + 1)) break;
        dataset_ = dataset_.window(size, shift, drop).map(listed);
        twin_ = twin_.window(size, shift, flag).map(listed);
        break;
      }
      case 17: {
        const auto f = [](uint32_t state, const Value& v) {
          const uint32_t next = (state * 31 + digest(v)) % 1'000'003;
          return std::pair(next, shifted(v, next));
        };
        // The state of `g` can't be copied as bytes, so it is recomputed.
        const auto g = [](const std::string& state, const Value& v) {
          const std::string next = std::to_string(digest(v)) + state.substr(0, 8);
          return std::pair(next, shifted(v, static_cast<int64_t>(next.size())));
        };
        if (flag) {
          apply([=](const auto& in) { return in.scan(uint32_t{n}, f); });
        } else {
          apply([=](const auto& in) { return in.scan(std::string("s"), g); });
        }
        break;
      }
      case 18:
        dataset_ = n % 8 == 0 ? dataset_.cache(directory_ + "/" + std::to_string(random.next64()))
                              : dataset_.cache();
        twin_ = twin_.cache();
        break;
      case 19:
        if (!had_random_access) break;
        apply([=](const auto& in) { return in.global_shuffle(seed); });
        break;
      case 20: {
        const auto f = [](const std::pair<int64_t, Value>& x) {
          return list_value({number_value(x.first), x.second});
        };
        apply([=](const auto& in) { return in.enumerate(n).map(f); });
        numbers_ += elements_;
        has_random_access_ = had_random_access;
        break;
      }
      case 21: {
        Chain other = draw_other(random, depth);
        dataset_ = dataset_.concatenate(other.dataset_), twin_ = twin_.concatenate(other.twin_);
        has_random_access_ = had_random_access && other.has_random_access_;
        break;
      }
      case 22: {
        Chain other = draw_other(random, depth);
        const auto f = [](const std::tuple<Value, Value>& x) {
          return list_value({std::get<0>(x), std::get<1>(x)});
        };
        dataset_ = zip(dataset_, other.dataset_).map(f), twin_ = twin_.zip(other.twin_).map(f);
        has_random_access_ = had_random_access && other.has_random_access_;
        break;
      }
      case 23: {
        Chain other = draw_other(random, depth);
        dataset_ =
            sample_from_datasets<Value>({dataset_, other.dataset_}, {3, 1}, seed,
                                        flag ? StopOnEmptyDataset::yes : StopOnEmptyDataset::no);
        twin_ = twin_.sample(other.twin_, {uint64_t{3} << 60, uint64_t{1} << 60}, seed, flag);
        break;
      }
      case 24: {
        const size_t shards = n % 3 + 1, index = n % shards;
        dataset_ = dataset_.shard(shards, index, drop);
        twin_ = twin_.shard(shards, index, flag);
        has_random_access_ = had_random_access;
        break;
      }
      case 25:
        pad(n % 5 + 1, flag);
        break;
      case 26:
        make_images(n % 7 + 1, flag);
        break;
      case 27: {
        if (!expand(2)) break;
        const LengthBuckets buckets{{n % 3 + 1, n % 5 + 7, 30}, {n % 7 + 1, 3, 2, 1}, flag};
        dataset_ = dataset_.bucket_by_sequence_length(sequence_size, buckets, ValueCollator{});
        twin_ = twin_
                    .bucket_by_sequence_length(sequence_size, buckets.boundaries,
                                               buckets.batch_sizes, flag)
                    .map(listed);
        break;
      }
      case 28: {
        if (!expand(2)) break;
        const size_t length = n % 40 + 10;
        const PackOptions options{.open_rows = n % 4 + 1,
                                  .too_long = flag ? TooLong::truncate : TooLong::error};
        dataset_ = dataset_.pack_sequences(sequence_size, {length}, ValueCollator{}, options);
        twin_ = twin_.pack_sequences(sequence_size, length, options.open_rows, flag).map(listed);
        break;
      }
      case 29: {
        Chain other = draw_other(random, depth);
        std::vector<int64_t> choices(random.below(200));
        for (int64_t& choice : choices) choice = random.below(50) == 0 ? 2 : random.below(2);
        dataset_ = choose_from_datasets<Value>(
            {dataset_, other.dataset_}, from_vector(choices).shuffle(3, seed),
            flag ? StopOnEmptyDataset::yes : StopOnEmptyDataset::no);
        twin_ = twin_.choose(other.twin_, naive::from_vector(choices).shuffle(3, seed), flag);
        break;
      }
    }
    // Adds delays, so that threads and look-ahead interleave differently in each run.
    if (random.below(12) == 0) {
      dataset_ = dataset_.map([](Value v) {
        if (digest(v) % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(30));
        return v;
      });
    }
  }

  // Applies padded_batch; each batch becomes a list of rows padded to the longest one.
  void pad(size_t batch_size, bool drop_remainder) {
    if (!expand(batch_size)) return;
    const auto row = [](Value v) { return v.is_list ? std::move(v.items) : std::vector<Value>{v}; };
    const Value padding = number_value(-1);
    dataset_ = dataset_.map(row)
                   .padded_batch(batch_size, padding,
                                 drop_remainder ? DropRemainder::yes : DropRemainder::no)
                   .map([](const PaddedBatch<Value>& batch) {
                     std::vector<Value> rows;
                     for (size_t i = 0; i < batch.rows(); ++i) {
                       const auto values = batch.row(i);
                       rows.push_back(list_value({values.begin(), values.end()}));
                     }
                     return list_value(std::move(rows));
                   });
    twin_ = twin_.map(row).batch(batch_size, drop_remainder).map([=](auto rows) {
      size_t longest = 0;
      for (const auto& values : rows) longest = std::max(longest, values.size());
      std::vector<Value> lists;
      for (auto& values : rows) {
        values.resize(longest, padding);
        lists.push_back(list_value(values));
      }
      return list_value(std::move(lists));
    });
  }

  // Makes batches of images; each batch becomes a list.
  void make_images(size_t batch_size, bool drop_remainder) {
    if (!expand(5)) return;
    const ImageCollator collator{
        .format = {.height = 2, .width = 2, .channels = 1, .dtype = DType::uint8}};
    dataset_ =
        dataset_.map(image_row)
            .batch(batch_size, drop_remainder ? DropRemainder::yes : DropRemainder::no, collator)
            .map([](const ImageBatch& batch) {
              std::vector<Value> images;
              for (size_t i = 0; i < batch.size(); ++i) {
                images.push_back(image_value(batch.labels()[i], batch.uint8s().subspan(4 * i, 4)));
              }
              return list_value(std::move(images));
            });
    const auto image = [](const Value& value) {
      const ImageRow row = image_row(value);
      return image_value(row.label, row.pixels);
    };
    twin_ = twin_.map(image).batch(batch_size, drop_remainder).map(list_value);
  }

  // Draws a chain to combine with this one, and adds its elements to the maximum.
  Chain draw_other(Random& random, int depth) {
    Chain other = draw(random, depth < 2 ? 3 : 0, directory_, depth + 1);
    numbers_ += other.numbers_;
    elements_ += other.elements_;
    return other;
  }

  std::string directory_;
  Dataset<Value> dataset_;
  naive::Pipeline<Value> twin_;
  bool has_random_access_ = true;
  uint64_t elements_ = 0;  // the maximum
  uint64_t numbers_ = 0;   // the maximum, in all elements
};

}  // namespace recordpipe
