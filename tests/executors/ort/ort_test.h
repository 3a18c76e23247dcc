#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "graph/io_contract.h"
#include "support/ort_test.h"

namespace lathe::testing {

inline std::filesystem::path ort_model(const std::string& name) {
  return std::filesystem::path(LATHE_TEST_DATA) / "ort" / name;
}

/// The contract of tests/data/ort: x -> y, k, each [1, 8, 1, columns].
inline IoContract columns_contract(int64_t columns) {
  const Shape shape = {1, 8, 1, columns};
  IoContract io;
  io.tokens_per_call = columns;
  io.inputs = {{.name = "x", .dtype = DType::u16, .shape = shape, .encoding = {}}};
  io.outputs = {{.name = "y", .dtype = DType::u16, .shape = shape, .encoding = {}},
                {.name = "k", .dtype = DType::u8, .shape = shape, .encoding = {}}};
  return io;
}

/// Input codes, and what onnxruntime (1.32.0) of Python makes of them with tests/data/ort.
struct GoldenColumns {
  std::vector<uint16_t> x;
  std::vector<uint16_t> y;
  std::vector<uint8_t> k;
};

inline GoldenColumns golden_decode() {
  return {{28672, 29649, 30626, 31603, 32580, 33557, 34534, 35511},
          {53927, 36902, 23928, 19146, 21144, 30755, 47531, 50431},
          {112, 116, 120, 123, 127, 131, 135, 139}};
}

}  // namespace lathe::testing
