// All operators beside their naive twins: the contract test calls the plan of each alone, and
// random chains combine them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/pad_crop_flip.h"
#include "recordpipe/pipeline/choose_from_datasets.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/sample_from_datasets.h"
#include "recordpipe/pipeline/zip.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/pipeline/tested_operator.h"
#include "tests/pipeline/value.h"

namespace recordpipe {

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

inline Value images_value(const ImageBatch& batch) {
  std::vector<Value> images;
  for (size_t i = 0; i < batch.size(); ++i) {
    images.push_back(image_value(batch.labels()[i], batch.uint8s().subspan(4 * i, 4)));
  }
  return list_value(std::move(images));
}

inline Value padded_value(const PaddedBatch<Value>& batch) {
  std::vector<Value> rows;
  for (size_t i = 0; i < batch.rows(); ++i) {
    const auto values = batch.row(i);
    rows.push_back(list_value({values.begin(), values.end()}));
  }
  return list_value(std::move(rows));
}

inline const Value kPadding = number_value(-1);

inline Value naively_padded(std::vector<std::vector<Value>> rows) {
  size_t longest = 0;
  for (const auto& values : rows) longest = std::max(longest, values.size());
  std::vector<Value> lists;
  for (auto& values : rows) {
    values.resize(longest, kPadding);
    lists.push_back(list_value(std::move(values)));
  }
  return list_value(std::move(lists));
}

inline std::vector<TestedOperator> tested_operators() {
  using A = const Arguments&;
  constexpr auto kKept = RandomAccess::kept;
  const auto listed = [](std::vector<Value> values) { return list_value(std::move(values)); };
  const auto items = [](Value v) { return v.is_list ? std::move(v.items) : std::vector{v}; };
  const auto size = [](const Value& v) {
    return v.is_list ? v.items.size() : static_cast<size_t>(digest(v) % 12);
  };
  const auto numbered = [](const std::pair<int64_t, Value>& x) {
    return list_value({number_value(x.first), x.second});
  };
  const auto paired = [](const std::tuple<Value, Value>& x) {
    return list_value({std::get<0>(x), std::get<1>(x)});
  };
  // A state that can't be copied as bytes is recomputed.
  const auto sum = [](uint32_t state, const Value& v) {
    const uint32_t next = (state * 31 + digest(v)) % 1'000'003;
    return std::pair(next, shifted(v, next));
  };
  const auto text = [](const std::string& state, const Value& v) {
    const std::string next = std::to_string(digest(v)) + state.substr(0, 8);
    return std::pair(next, shifted(v, static_cast<int64_t>(next.size())));
  };
  const auto opened = [](const auto& source, const Value& v, A a) {
    const auto add = [x = digest(v) % 1000](Value i) { return shifted(std::move(i), x); };
    return source.take(digest(v) % 4).shuffle(2, a.seed).map(add);
  };
  const auto choices = [](A a) {
    Random random(a.seed, 0, 0);
    std::vector<int64_t> out(random.below(200));
    for (int64_t& choice : out) choice = random.below(50) == 0 ? 2 : random.below(2);
    return out;
  };
  const ImageCollator images{
      .format = {.height = 2, .width = 2, .channels = 1, .dtype = DType::uint8}};
  const auto buckets = [](A a) {
    return LengthBuckets{{a.n % 3 + 1, a.n % 5 + 7, 30}, {a.n % 7 + 1, 3, 2, 1}, a.flag};
  };
  return {
      same(
          "map",
          [](const auto& in, A a) {
            return in.map([n = a.n](Value v) { return shifted(std::move(v), n); });
          },
          kKept),
      same(
          "map_with_random",
          [](const auto& in, A a) {
            return in.map_with_random(
                a.seed, [](Value v, Random& r) { return shifted(std::move(v), r.below(1 << 20)); });
          },
          kKept),
      same(
          "map_with_errors",
          [](const auto& in, A a) {
            return in.map([n = a.n](Value v) {
              if (digest(v) % (n * 3) != 1) return v;
              throw Error(
                  {.kind = ErrorKind::corrupted, .reason = "bad " + std::to_string(digest(v))});
            });
          },
          kKept),
      same("filter",
           [](const auto& in, A a) {
             return in.filter([n = a.n](const Value& v) { return digest(v) % (n % 7 + 2) != 0; });
           }),
      same("flat_map",
           [](const auto& in, A a) {
             return in.flat_map([n = a.n](const Value& v) {
               return v.is_list ? v.items : std::vector<Value>(digest(v) % (n % 4 + 1), v);
             });
           }),
      tested(
          "unbatch",
          [=](const auto& in, A a) {
            return in.batch(a.n % 11 + 1, a.drop(), ValueCollator{}).map(items).unbatch();
          },
          [](const auto& in, A a) { return in.batch(a.n % 11 + 1, a.flag).unbatch(); }),
      tested(
          "interleave",
          [=](const auto& in, A a) {
            return in.interleave(
                [=](const Value& v) {
                  return opened(from_vector(number_values(3)), v, a)
                      .batch(a.n % 2 + 1, a.drop(), ValueCollator{});
                },
                a.n % 5 + 1, a.n % 3 + 1);
          },
          [=](const auto& in, A a) {
            return in.interleave(
                [=](const Value& v) {
                  return opened(naive::from_vector(number_values(3)), v, a)
                      .batch(a.n % 2 + 1, a.flag)
                      .map(listed);
                },
                a.n % 5 + 1, a.n % 3 + 1);
          }),
      same("scan", [=](const auto& in, A a) { return in.scan(uint32_t{a.n}, sum); }),
      same("scan_recomputed", [=](const auto& in, A) { return in.scan(std::string("s"), text); }),
      same("ignore_errors", [](const auto& in, A) { return in.ignore_errors(); }),
      same(
          "enumerate", [=](const auto& in, A a) { return in.enumerate(a.n).map(numbered); }, kKept),
      same("shuffle", [](const auto& in, A a) { return in.shuffle(a.n, a.seed); }),
      same("shuffle_many",
           [](const auto& in, A a) { return in.repeat(a.n % 30).shuffle(300, a.seed); }),
      same(
          "global_shuffle", [](const auto& in, A a) { return in.global_shuffle(a.seed); },
          RandomAccess::required),
      same("repeat", [](const auto& in, A a) { return in.shuffle(3, a.seed).repeat(a.n % 4); }),
      same(
          "take", [](const auto& in, A a) { return in.take(a.flag ? a.n * 2 : a.n / 3); }, kKept),
      same(
          "skip", [](const auto& in, A a) { return in.skip(a.flag ? a.n / 4 : a.n / 30); }, kKept),
      tested(
          "shard",
          [](const auto& in, A a) { return in.shard(a.n % 4 + 1, a.n % (a.n % 4 + 1), a.drop()); },
          [](const auto& in, A a) { return in.shard(a.n % 4 + 1, a.n % (a.n % 4 + 1), a.flag); },
          kKept),
      tested(
          "batch",
          [](const auto& in, A a) { return in.batch(a.n % 11 + 1, a.drop(), ValueCollator{}); },
          [=](const auto& in, A a) { return in.batch(a.n % 11 + 1, a.flag).map(listed); }, kKept),
      tested(
          "padded_batch",
          [=](const auto& in, A a) {
            return in.map(items).padded_batch(a.n % 5 + 1, kPadding, a.drop()).map(padded_value);
          },
          [=](const auto& in, A a) {
            return in.map(items).batch(a.n % 5 + 1, a.flag).map(naively_padded);
          },
          kKept),
      tested(
          "batch_of_images",
          [=](const auto& in, A a) {
            return in.map(image_row).batch(a.n % 7 + 1, a.drop(), images).map(images_value);
          },
          [=](const auto& in, A a) {
            const auto image = [](const Value& value) {
              const ImageRow row = image_row(value);
              return image_value(row.label, row.pixels);
            };
            return in.map(image).batch(a.n % 7 + 1, a.flag).map(listed);
          },
          kKept),
      tested(
          "bucket_by_sequence_length",
          [=](const auto& in, A a) {
            return in.bucket_by_sequence_length(size, buckets(a), ValueCollator{});
          },
          [=](const auto& in, A a) {
            const LengthBuckets b = buckets(a);
            return in.bucket_by_sequence_length(size, b.boundaries, b.batch_sizes, a.flag)
                .map(listed);
          }),
      tested(
          "pack_sequences",
          [=](const auto& in, A a) {
            return in.pack_sequences(size, {a.n % 40 + 7}, ValueCollator{},
                                     {.open_rows = a.n % 4 + 1,
                                      .too_long = a.flag ? TooLong::truncate : TooLong::error});
          },
          [=](const auto& in, A a) {
            return in.pack_sequences(size, a.n % 40 + 7, a.n % 4 + 1, a.flag).map(listed);
          }),
      tested(
          "window",
          [=](const auto& in, A a) {
            return in.window(a.n % 7 + 1, a.n % 4 + 1, a.drop()).map(listed);
          },
          [=](const auto& in, A a) {
            return in.window(a.n % 7 + 1, a.n % 4 + 1, a.flag).map(listed);
          }),
      tested(
          "cache", [](const auto& in, A a) { return a.n % 8 == 0 ? in.cache(a.path) : in.cache(); },
          [](const auto& in, A) { return in.cache(); }),
      tested(
          "prefetch", [](const auto& in, A a) { return in.prefetch(a.n % 9 + 1); },
          [](const auto& in, A) { return in; }),
      combining(
          "concatenate", [](const auto& a, const auto& b, A) { return a.concatenate(b); },
          [](const auto& a, const auto& b, A) { return a.concatenate(b); }, kKept),
      combining(
          "zip", [=](const auto& a, const auto& b, A) { return zip(a, b).map(paired); },
          [=](const auto& a, const auto& b, A) { return a.zip(b).map(paired); }, kKept),
      combining(
          "sample_from_datasets",
          [](const auto& a, const auto& b, A x) {
            return sample_from_datasets<Value>({a, b}, {3, 1}, x.seed, x.stop());
          },
          [](const auto& a, const auto& b, A x) {
            return a.sample(b, {uint64_t{3} << 60, uint64_t{1} << 60}, x.seed, x.flag);
          }),
      combining(
          "choose_from_datasets",
          [=](const auto& a, const auto& b, A x) {
            return choose_from_datasets<Value>({a, b}, from_vector(choices(x)).shuffle(3, x.seed),
                                               x.stop());
          },
          [=](const auto& a, const auto& b, A x) {
            return a.choose(b, naive::from_vector(choices(x)).shuffle(3, x.seed), x.flag);
          }),
  };
}

}  // namespace recordpipe
