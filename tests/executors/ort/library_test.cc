#include "executors/ort/library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "executors/ort/ort_test.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using OpenedOrt = testing::OrtTest;
using testing::TestFolder;

/// LATHE_ORT_DIR with another value, or with none, for the length of a test.
class Variable {
 public:
  explicit Variable(const char* value) {
    if (const char* before = std::getenv("LATHE_ORT_DIR")) before_ = before;
    set(value);
  }
  ~Variable() { set(before_.has_value() ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  static void set(const char* value) {
    if (value == nullptr) {
      ::unsetenv("LATHE_ORT_DIR");
    } else {
      ::setenv("LATHE_ORT_DIR", value, /*replace=*/1);
    }
  }
  std::optional<std::string> before_;
};

TEST(FindOrtFolder, TakesTheNearestAboveTheProgram) {
  const Variable none(nullptr);
  const TestFolder tree;
  fs::create_directories(tree / "third_party/onnxruntime");
  fs::create_directories(tree / "build/release");
  EXPECT_EQ(find_ort_folder(tree / "build/release/lathe"), tree / "third_party/onnxruntime");
  fs::create_directories(tree / "build/third_party/onnxruntime");
  EXPECT_EQ(find_ort_folder(tree / "build/release/lathe"), tree / "build/third_party/onnxruntime");
}

TEST(FindOrtFolder, PrefersTheVariable) {
  const TestFolder tree;
  fs::create_directories(tree / "third_party/onnxruntime");
  const Variable named("/opt/ort");
  EXPECT_EQ(find_ort_folder(tree / "lathe"), "/opt/ort");
}

TEST(FindOrtFolder, SaysHowToGetOne) {
  const TestFolder tree;
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    const Variable variable(value);
    expect_error([&] { find_ort_folder(tree / "lathe"); },
                 {"ONNX Runtime is not here", "scripts/get-ort", "LATHE_ORT_DIR"});
    expect_error([&] { find_ort_folder(""); }, {"ONNX Runtime is not here"});
  }
}

TEST(OrtLibrary, NamesTheFileThatIsMissing) {
  const TestFolder folder;
  expect_error([&] { OrtLibrary library(folder.path()); },
               {"onnxruntime/capi/libonnxruntime.so", "missing", "scripts/get-ort"});
  // A folder's name is shown without what would drive a terminal.
  expect_error([&] { OrtLibrary library(folder / "\x1b[2J\n"); }, {" [2J "});
}

TEST(OrtLibrary, RefusesWhatIsNoLibrary) {
  const TestFolder folder;
  fs::create_directories(folder / "onnxruntime/capi");
  folder.write("onnxruntime/capi/libonnxruntime.so.1.32.0", "not a library");
  expect_error([&] { OrtLibrary library(folder.path()); }, {"libonnxruntime.so.1.32.0"});
}

TEST(OrtLibrary, RefusesAnotherVersion) {
  const TestFolder folder;
  fs::create_directories(folder / "onnxruntime/capi");
  fs::create_symlink(OTHER_VERSION, folder / "onnxruntime/capi/libonnxruntime.so.1.31.0");
  expect_error([&] { OrtLibrary library(folder.path()); },
               {"another version", "expected 1.32", "found 1.31.0", "scripts/get-ort"});
}

TEST_F(OpenedOrt, IsOpenedOnce) {
  const OrtLibrary& library = OrtLibrary::open();
  EXPECT_EQ(&library, &OrtLibrary::open());
  EXPECT_EQ(library.version(), "1.32.0");
}

TEST_F(OpenedOrt, KnowsTheProviderOfTheHtp) {
  const HtpProvider& htp = OrtLibrary::open().htp();
  EXPECT_EQ(htp.version, "2.7.0");
  EXPECT_EQ(htp.sdk, "2.51.0");
  EXPECT_TRUE(fs::exists(htp.backend));
}

/// ONNX Runtime alone, with room for a provider.
struct WithoutProvider {
  WithoutProvider() {
    const fs::path here = std::getenv("LATHE_ORT_DIR");
    fs::create_directory_symlink(fs::absolute(here / "onnxruntime"), folder / "onnxruntime");
    fs::create_directories(folder / "onnxruntime_qnn");
  }
  TestFolder folder;
};

TEST_F(OpenedOrt, NamesTheFileOfTheProviderThatIsMissing) {
  const WithoutProvider ort;
  const OrtLibrary library(ort.folder.path());
  expect_error([&] { library.htp(); }, {"onnxruntime_qnn", "missing", "scripts/get-ort"});
}

TEST_F(OpenedOrt, RefusesAnotherVersionOfTheProvider) {
  const WithoutProvider ort;
  for (const char* name : {"libonnxruntime_providers_qnn.so", "libQnnHtp.so"}) {
    ort.folder.write(std::string("onnxruntime_qnn/") + name, "");
  }
  const std::string versions = "onnxruntime_qnn/build_and_package_info.py";
  const OrtLibrary library(ort.folder.path());
  ort.folder.write(versions, "__version__ = '2.6.0'\nqnn_version = '2.50.0'\n");
  expect_error([&] { library.htp(); }, {"expected 2.7.0", "found 2.6.0"});
  ort.folder.write(versions, "__version__ = '2.7.0\n");
  expect_error([&] { library.htp(); }, {"does not say a version"});
  ort.folder.write(versions, "__version__ = '2.7.0'\nqnn_version = '2.51.0'\n");
  expect_error([&] { library.htp(); }, {"libQnnHtp.so"});
}

}  // namespace
}  // namespace lathe
