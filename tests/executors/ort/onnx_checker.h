#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace lathe::testing {

/// Where scripts/get-onnx-checker puts Python's package onnx.
inline std::filesystem::path onnx_checker() {
  return std::filesystem::path(LATHE_TEST_DATA) / ".." / ".." / "third_party" / "python";
}

/// Tests that need that package.
class OnnxCheckerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(onnx_checker())) {
      GTEST_SKIP() << "Python's onnx is not here: run scripts/get-onnx-checker";
    }
  }
};

/// Expects onnx.checker to accept the files, with its inference of types and shapes.
inline void expect_valid_onnx(const std::vector<std::filesystem::path>& files) {
  std::string command = "PYTHONPATH='" + onnx_checker().string() +
                        "' python3 -c 'import onnx, sys\n"
                        "for file in sys.argv[1:]:\n"
                        "  print(file)\n"
                        "  onnx.checker.check_model(file, full_check=True)'";
  for (const std::filesystem::path& file : files) command += " '" + file.string() + "'";
  command += " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  std::array<char, 4096> piece{};
  while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) said += piece.data();
  EXPECT_EQ(::pclose(pipe), 0) << said;
}

}  // namespace lathe::testing
