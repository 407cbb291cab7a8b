#include "python/native/values/random_generator.h"

#include <cstdint>

#include "python/native/module.h"

namespace recordpipe::python {
namespace {

// bitgen_t of numpy/random/bitgen.h, a part of NumPy's stable interface.
struct BitGenerator {
  void* state;
  uint64_t (*next_uint64)(void* state);
  uint32_t (*next_uint32)(void* state);
  double (*next_double)(void* state);
  uint64_t (*next_raw)(void* state);
};

Random& random_of(void* state) { return *static_cast<Random*>(state); }

// What numpy.random.Generator requires of a bit generator: the attributes capsule and lock.
class PhiloxBitGenerator {
 public:
  explicit PhiloxBitGenerator(const Random& random) : random_(random) {
    interface_ = {
        &random_, [](void* state) { return random_of(state).next64(); },
        [](void* state) { return random_of(state)(); },
        [](void* state) { return static_cast<double>(random_of(state).next64() >> 11) * 0x1p-53; },
        [](void* state) { return random_of(state).next64(); }};
  }
  PhiloxBitGenerator(const PhiloxBitGenerator&) = delete;
  PhiloxBitGenerator& operator=(const PhiloxBitGenerator&) = delete;

  BitGenerator* interface() { return &interface_; }

 private:
  Random random_;
  BitGenerator interface_;
};

}  // namespace

nb::object numpy_generator(const Random& random) {
  // The Generator keeps a reference to the bit generator.
  nb::object bits = nb::cast(new PhiloxBitGenerator(random), nb::rv_policy::take_ownership);
  return nb::module_::import_("numpy.random").attr("Generator")(bits);
}

void define_random(nb::module_& module) {
  nb::class_<PhiloxBitGenerator>(module, "PhiloxBitGenerator")
      .def_prop_ro(
          "capsule",
          [](PhiloxBitGenerator& self) { return nb::capsule(self.interface(), "BitGenerator"); })
      .def_prop_ro("lock", [](PhiloxBitGenerator&) {
        return nb::module_::import_("threading").attr("Lock")();
      });
}

}  // namespace recordpipe::python
