// A library that says of itself that it is ONNX Runtime 1.31.0.

namespace {

struct ApiBase {
  const void* (*get_api)(unsigned version);
  const char* (*get_version)();
};

constexpr ApiBase kBase = {[](unsigned) -> const void* { return nullptr; },
                           []() -> const char* { return "1.31.0"; }};

}  // namespace

extern "C" const ApiBase* OrtGetApiBase() { return &kBase; }
