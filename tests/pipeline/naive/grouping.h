// The naive twins of operators that make one element of several.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/pipeline/naive/elements.h"

namespace recordpipe::naive {

template <class T>
class GroupingOperators {
 public:
  Pipeline<std::vector<T>> batch(size_t batch_size, bool drop_remainder = false) const {
    return grouped(batch_size, batch_size, drop_remainder, true);
  }

  Pipeline<std::vector<T>> window(size_t size, size_t shift, bool drop_remainder = false) const {
    return grouped(size, shift, drop_remainder, false);
  }

  // length: T -> size_t
  template <class F>
  Pipeline<std::vector<T>> bucket_by_sequence_length(F length, std::vector<size_t> boundaries,
                                                     std::vector<size_t> batch_sizes,
                                                     bool drop_remainder) const {
    return self(this).template derived<std::vector<T>>([=](Elements<T> in, const At& at) {
      Elements<std::vector<T>> out{.error = in.error};
      std::vector<Elements<T>> buckets(batch_sizes.size());
      const auto yield = [&](Elements<T>& from) {
        out.items.push_back(together({at.ids, out.items.size()}, from, 0, from.items.size()));
        keep_end(out.items.back(), from, 0, from.items.size());
        from.items.clear();
      };
      for (const Item<T>& item : in.items) {
        if (!item.error.empty()) {
          Elements<T> alone{{item}};
          yield(alone);
          continue;
        }
        size_t bucket = 0;
        while (bucket < boundaries.size() && length(item.value) >= boundaries[bucket]) ++bucket;
        buckets[bucket].items.push_back(item);
        if (buckets[bucket].items.size() == batch_sizes[bucket]) yield(buckets[bucket]);
      }
      for (Elements<T>& bucket : buckets) {
        if (!bucket.items.empty() && !drop_remainder && in.error.empty()) yield(bucket);
      }
      return out;
    });
  }

  // Yields the sequences of each row. size: T -> size_t
  template <class F>
  Pipeline<std::vector<T>> pack_sequences(F size, size_t length, size_t open_rows,
                                          bool truncate) const {
    return self(this).template derived<std::vector<T>>([=](Elements<T> in, const At& at) {
      struct Row {
        Elements<T> sequences;
        size_t used = 0;
      };
      Elements<std::vector<T>> out{.error = in.error};
      std::vector<Row> rows;
      const auto yield = [&](const Elements<T>& row) {
        out.items.push_back(together({at.ids, out.items.size()}, row, 0, row.items.size()));
        keep_end(out.items.back(), row, 0, row.items.size());
      };
      for (Item<T>& item : in.items) {
        const size_t values = item.error.empty() ? size(item.value) : 0;
        if (values > length && !truncate) {
          item.error = "pack_sequences: a sequence of " + std::to_string(values) +
                       " values, where at most " + std::to_string(length) + " fit";
        }
        if (!item.error.empty()) {
          yield({{item}});
          continue;
        }
        const size_t taken = std::min(values, length);
        size_t place = 0;
        while (place < rows.size() && rows[place].used + taken > length) ++place;
        if (place == rows.size()) {
          if (rows.size() == open_rows) {
            yield(rows.front().sequences);
            rows.erase(rows.begin());
          }
          rows.emplace_back();
          place = rows.size() - 1;
        }
        rows[place].sequences.items.push_back(item);
        rows[place].used += taken;
        if (rows[place].used == length) {
          yield(rows[place].sequences);
          rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(place));
        }
      }
      for (const Row& row : rows) {
        if (in.error.empty()) yield(row.sequences);
      }
      return out;
    });
  }

 private:
  // Groups of `size` elements; `keeps_ends`: that stand for a lost source like one of theirs.
  Pipeline<std::vector<T>> grouped(size_t size, size_t shift, bool drop_remainder,
                                   bool keeps_ends) const {
    return self(this).template derived<std::vector<T>>([=](Elements<T> in, const At& at) {
      Elements<std::vector<T>> out{.error = in.error};
      for (size_t first = 0; first < in.items.size(); first += shift) {
        const size_t end = std::min(in.items.size(), first + size);
        if (end < first + size) {
          bool is_lost = false;
          for (size_t i = first; i < end; ++i) {
            is_lost = is_lost || (keeps_ends && must_be_yielded(in.items[i], at));
          }
          if (!in.error.empty() || (drop_remainder && !is_lost)) break;
        }
        out.items.push_back(together({at.ids, out.items.size()}, in, first, end));
        if (keeps_ends) keep_end(out.items.back(), in, first, end);
      }
      return out;
    });
  }

  static void keep_end(Item<std::vector<T>>& out, const Elements<T>& in, size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      if (ends_source(in.items[i].id)) out.id.index = kEndOfSource;
    }
  }

  // Combines the elements in [first, end) into one, with the first of their errors, if any.
  static Item<std::vector<T>> together(ElementId id, const Elements<T>& in, size_t first,
                                       size_t end) {
    Item<std::vector<T>> out{id};
    for (size_t i = first; i < end; ++i) {
      if (out.error.empty()) out.error = in.items[i].error;
      out.value.push_back(in.items[i].value);
    }
    return out;
  }
};

}  // namespace recordpipe::naive
