// Type-erased interfaces to the functions that users pass to operators. These functions are the
// only code of a pipeline that is compiled in the user's program. Most calls process a whole chunk,
// which amortises the cost of a virtual call.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/collator.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "recordpipe/pipeline/internal/element_type_name.h"
#include "recordpipe/pipeline/internal/ticket.h"
#include "recordpipe/record/record.h"

namespace recordpipe::internal {

// Functions and collators may report their parameters, which become part of the plan.
template <class F>
concept HasParameters = requires(const F& function) {
  { function.parameters() } -> std::same_as<std::vector<Parameter>>;
};

template <class F>
std::vector<Parameter> parameters_of(const F& function) {
  if constexpr (HasParameters<F>) {
    return function.parameters();
  } else {
    return {};
  }
}

// Sorts `failures`, whose first `known` elements and whose others are sorted.
void merge_failures(Failures& failures, size_t known);

// Calls visit(i) for each i < `count` that is not in `failures`, and adds the exceptions of visit()
// to `failures`, in order.
template <class Visit>
void for_each_good(size_t count, Failures& failures, const Visit& visit) {
  const size_t known = failures.size();
  size_t next_known = 0;
  for (size_t i = 0; i < count; ++i) {
    if (next_known < known && failures[next_known].at == i) {
      ++next_known;
      continue;
    }
    try {
      visit(i);
    } catch (...) {
      failures.push_back({i, std::current_exception()});
    }
  }
  if (known > 0 && failures.size() > known) merge_failures(failures, known);
}

// The function of map.
class MapFunction {
 public:
  virtual ~MapFunction() = default;
  // Computes outputs from the inputs that are not in `failures`; adds its own failures.
  virtual void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
                     Failures& failures) const = 0;
  virtual std::vector<Parameter> parameters() const = 0;
};

template <class T, class U, class F>
class Map final : public MapFunction {
 public:
  explicit Map(F function) : function_(std::move(function)) {}
  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    for_each_good(tickets.size(), failures, [&](size_t i) {
      static_cast<U*>(outputs)[i] = std::invoke(function_, std::move(static_cast<T*>(inputs)[i]));
    });
  }
  std::vector<Parameter> parameters() const override { return parameters_of(function_); }

 private:
  F function_;
};

// The function of map_with_random; `key` is derived from the seed and the operator's position in
// the plan.
template <class T, class U, class F>
class MapWithRandom final : public MapFunction {
 public:
  MapWithRandom(F function, uint64_t key) : function_(std::move(function)), key_(key) {}
  void apply(std::span<const Ticket> tickets, void* inputs, void* outputs,
             Failures& failures) const override {
    for_each_good(tickets.size(), failures, [&](size_t i) {
      Random random(key_, tickets[i].id.epoch, tickets[i].id.index);
      static_cast<U*>(outputs)[i] =
          std::invoke(function_, std::move(static_cast<T*>(inputs)[i]), random);
    });
  }
  std::vector<Parameter> parameters() const override { return parameters_of(function_); }

 private:
  F function_;
  uint64_t key_;
};

// The predicate of filter.
class Predicate {
 public:
  virtual ~Predicate() = default;
  // Sets one byte per element: whether the element is kept. Skips the elements in `failures`, and
  // adds the elements for which the predicate throws.
  virtual void test(size_t count, const void* values, uint8_t* kept, Failures& failures) const = 0;
  virtual std::vector<Parameter> parameters() const = 0;
};

template <class T, class P>
class Filter final : public Predicate {
 public:
  explicit Filter(P predicate) : predicate_(std::move(predicate)) {}
  void test(size_t count, const void* values, uint8_t* kept, Failures& failures) const override {
    for_each_good(count, failures, [&](size_t i) {
      kept[i] = std::invoke(predicate_, static_cast<const T*>(values)[i]) ? 1 : 0;
    });
  }
  std::vector<Parameter> parameters() const override { return parameters_of(predicate_); }

 private:
  P predicate_;
};

// Measures elements for operators that group them by their sizes.
class MeasureFunction {
 public:
  virtual ~MeasureFunction() = default;
  virtual size_t sizes_per_element() const = 0;
  // Writes the sizes of the elements that are not in `failures`, and adds the elements for which
  // the function throws.
  virtual void measure(size_t count, const void* values, uint64_t* sizes,
                       Failures& failures) const = 0;
  virtual std::vector<Parameter> parameters() const = 0;
};

// Throw Error{invalid_argument}.
[[noreturn]] void fail_negative_size();
[[noreturn]] void fail_number_of_sizes(size_t sizes, size_t wanted);

// `function` returns a size, or a range of `sizes_per_element` sizes.
template <class T, class F>
class Measure final : public MeasureFunction {
 public:
  Measure(F function, size_t sizes_per_element)
      : function_(std::move(function)), sizes_per_element_(sizes_per_element) {}
  size_t sizes_per_element() const override { return sizes_per_element_; }
  void measure(size_t count, const void* values, uint64_t* sizes,
               Failures& failures) const override {
    for_each_good(count, failures, [&](size_t i) {
      const auto result = std::invoke(function_, static_cast<const T*>(values)[i]);
      uint64_t* const out = sizes + i * sizes_per_element_;
      if constexpr (std::integral<std::decay_t<decltype(result)>>) {
        out[0] = whole(result);
      } else {
        const auto given = static_cast<size_t>(std::distance(result.begin(), result.end()));
        if (given != sizes_per_element_) fail_number_of_sizes(given, sizes_per_element_);
        std::ranges::transform(result, out, [](auto size) { return whole(size); });
      }
    });
  }
  std::vector<Parameter> parameters() const override { return parameters_of(function_); }

 private:
  static uint64_t whole(std::integral auto size) {
    if constexpr (std::is_signed_v<decltype(size)>) {
      if (size < 0) fail_negative_size();
    }
    return static_cast<uint64_t>(size);
  }

  F function_;
  size_t sizes_per_element_;
};

// The collator of batch.
class BatchFunction {
 public:
  virtual ~BatchFunction() = default;
  virtual void reset(void* batch, size_t rows) const = 0;
  // Writes the elements to rows [first_row, first_row + count).
  virtual void set(void* batch, size_t first_row, void* elements, size_t count) const = 0;
  virtual bool has_finish() const = 0;
  virtual void finish(void* batch) const = 0;
  virtual std::string name() const = 0;
  virtual std::vector<Parameter> parameters() const = 0;
};

template <Element T, CollatorOf<T> C>
class Collate final : public BatchFunction {
 public:
  using Batch = typename C::Batch;

  explicit Collate(C collator) : collator_(std::move(collator)) {}
  void reset(void* batch, size_t rows) const override {
    collator_.reset(*static_cast<Batch*>(batch), rows);
  }
  void set(void* batch, size_t first_row, void* elements, size_t count) const override {
    T* const values = static_cast<T*>(elements);
    Batch& to = *static_cast<Batch*>(batch);
    size_t i = 0;
    if constexpr (ForesightedCollator<C, T>) {
      for (; i + 1 < count; ++i)
        collator_.set(to, first_row + i, std::move(values[i]), values[i + 1]);
    }
    for (; i < count; ++i) collator_.set(to, first_row + i, std::move(values[i]));
  }
  bool has_finish() const override { return FinishingCollator<C>; }
  void finish(void* batch) const override {
    if constexpr (FinishingCollator<C>) collator_.finish(*static_cast<Batch*>(batch));
  }
  std::string name() const override {
    if constexpr (NamedCollator<C>) return collator_.name();
    return "batch";
  }
  std::vector<Parameter> parameters() const override { return parameters_of(collator_); }

 private:
  C collator_;
};

// The running state of scan: the current State and the function that updates it.
class ScanState {
 public:
  virtual ~ScanState() = default;
  // Computes outputs sequentially from the inputs that are not in `failures`; adds its own
  // failures, which leave the state unchanged.
  virtual void apply(size_t count, void* inputs, void* outputs, Failures& failures) = 0;
  // Size of a trivially copyable state in 64-bit words; save() and restore() copy the state. 0 for
  // all other states, which are recomputed from the input after a restore.
  virtual size_t words() const = 0;
  virtual void save(uint64_t* words) const = 0;
  virtual void restore(const uint64_t* words) = 0;
};
class ScanFunction {
 public:
  virtual ~ScanFunction() = default;
  virtual std::unique_ptr<ScanState> start() const = 0;
  virtual std::vector<Parameter> parameters() const = 0;
};

template <class T, class U, std::copyable State, class F>
class Scan final : public ScanFunction {
 public:
  static_assert(!std::is_pointer_v<State>, "another process can't follow a saved pointer");

  Scan(State initial, F function) : initial_(std::move(initial)), function_(std::move(function)) {}
  std::unique_ptr<ScanState> start() const override { return std::make_unique<Running>(*this); }
  std::vector<Parameter> parameters() const override { return parameters_of(function_); }

 private:
  class Running final : public ScanState {
   public:
    explicit Running(const Scan& scan) : function_(scan.function_), state_(scan.initial_) {}
    void apply(size_t count, void* inputs, void* outputs, Failures& failures) override {
      for_each_good(count, failures, [&](size_t i) {
        std::pair<State, U> result =
            std::invoke(function_, std::as_const(state_), std::move(static_cast<T*>(inputs)[i]));
        static_cast<U*>(outputs)[i] = std::move(result.second);
        state_ = std::move(result.first);  // last: an earlier exception leaves the state unchanged
      });
    }
    size_t words() const override {
      if constexpr (!std::is_trivially_copyable_v<State>) return 0;
      return (sizeof(State) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    }
    void save(uint64_t* words) const override {
      if constexpr (std::is_trivially_copyable_v<State>) std::memcpy(words, &state_, sizeof(State));
    }
    void restore(const uint64_t* words) override {
      if constexpr (std::is_trivially_copyable_v<State>) std::memcpy(&state_, words, sizeof(State));
    }

   private:
    const F& function_;
    State state_;
  };

  State initial_;
  F function_;
};

// The generator of from_generator.
class ElementGenerator {
 public:
  virtual ~ElementGenerator() = default;
  // Returns false at the end.
  virtual bool next(void* element) = 0;
};
class GeneratorFunction {
 public:
  virtual ~GeneratorFunction() = default;
  virtual std::unique_ptr<ElementGenerator> start() const = 0;
  virtual std::vector<Parameter> parameters() const = 0;
};

template <class T, class F>
class Generate final : public GeneratorFunction {
 public:
  explicit Generate(F factory) : factory_(std::move(factory)) {}
  std::unique_ptr<ElementGenerator> start() const override {
    return std::make_unique<Running>(std::invoke(factory_));
  }
  std::vector<Parameter> parameters() const override { return parameters_of(factory_); }

 private:
  using Generator = std::decay_t<std::invoke_result_t<const F&>>;
  class Running final : public ElementGenerator {
   public:
    explicit Running(Generator generator) : generator_(std::move(generator)) {}
    bool next(void* element) override {
      std::optional<T> value = std::invoke(generator_);
      if (value) *static_cast<T*>(element) = std::move(*value);
      return value.has_value();
    }

   private:
    Generator generator_;
  };

  F factory_;
};

// In-memory sources: elements by index.
class IndexedValues {
 public:
  virtual ~IndexedValues() = default;
  virtual uint64_t size() const = 0;
  virtual void get(std::span<const Ticket> tickets, void* out, Failures& failures) const = 0;
};

// `Values` must have size() and operator[](size_t), both safe for concurrent calls.
template <Element T, class Values>
class Indexed final : public IndexedValues {
 public:
  explicit Indexed(Values values) : values_(std::move(values)) {}
  uint64_t size() const override { return values_.size(); }
  void get(std::span<const Ticket> tickets, void* out, Failures& failures) const override {
    for_each_good(tickets.size(), failures,
                  [&](size_t i) { static_cast<T*>(out)[i] = values_[tickets[i].ref]; });
  }

 private:
  Values values_;
};

// The codec of cache(path).
class ElementCodec {
 public:
  virtual ~ElementCodec() = default;
  // The element type and its encoding: "int32 as 4 bytes".
  virtual std::string name() const = 0;
  virtual void encode(const void* value, std::string& out) const = 0;
  virtual void decode(const Record& stored, void* out) const = 0;
};

template <Element T, class C>
class Codec final : public ElementCodec {
 public:
  explicit Codec(C codec) : codec_(std::move(codec)) {}
  std::string name() const override {
    return element_type_name<T>() + " as " + std::string(codec_.name());
  }
  void encode(const void* value, std::string& out) const override {
    codec_.encode(*static_cast<const T*>(value), out);
  }
  void decode(const Record& stored, void* out) const override {
    *static_cast<T*>(out) = codec_.decode(stored);
  }

 private:
  C codec_;
};

}  // namespace recordpipe::internal
