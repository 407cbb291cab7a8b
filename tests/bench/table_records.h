// Makes the records of table_bench: tables of a recommender, and sequences.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace recordpipe {

// How the records of a table are encoded.
enum class TableEncoding {
  packed,       // as nearly all writers do
  unpacked,     // a tag before each number
  random_order  // packed; the features in another order in each record
};

inline constexpr size_t kTableFloats = 13;
inline constexpr size_t kTableCategories = 26;
inline constexpr size_t kSequenceSteps = 50;
inline constexpr size_t kSequenceAction = 7;  // floats a step

// "dense_00" to "dense_12" (a float each), "category_00" to "category_25" (an int64 below 2^20
// each), "history" (1 to 9 of them) and "label" (0 or 1): Examples of about 700 bytes, as
// tests/bench/peers/table.py makes them.
std::vector<std::string> make_table(size_t rows, TableEncoding encoding);
// 1,000 features of an int64 each: "feature_000" to "feature_999".
std::vector<std::string> make_wide_table(size_t rows);
// SequenceExamples of 50 steps: "action" (7 floats), "reward" (a float) and "token" (an int64);
// with the context "id" (an int64).
std::vector<std::string> make_sequences(size_t rows);

}  // namespace recordpipe
