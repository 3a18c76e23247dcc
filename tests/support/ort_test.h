#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace lathe::testing {

/// Where scripts/get-ort puts ONNX Runtime, wherever the build folder is.
inline std::filesystem::path fetched_ort() {
  return std::filesystem::path(LATHE_TEST_DATA) / ".." / ".." / "third_party" / "onnxruntime";
}

/// Tests that need ONNX Runtime: the one that LATHE_ORT_DIR names, or else the fetched one.
/// Programs that a test starts find it too.
class OrtTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("LATHE_ORT_DIR", fetched_ort().c_str(), /*replace=*/0);
    if (!std::filesystem::exists(std::getenv("LATHE_ORT_DIR"))) {
      GTEST_SKIP() << "ONNX Runtime is not here: run scripts/get-ort";
    }
  }
};

}  // namespace lathe::testing
