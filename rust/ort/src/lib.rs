//! ONNX Runtime behind a small C ABI. The library is opened at run time, by its path: nothing is
//! linked, and what does not use it never needs it. `src/executors/ort/ffi.h` is the C side of
//! every `extern "C"` function here; the two change together.

mod api;
mod log;
mod options;
mod ort_abi;
mod runtime;
mod session;
mod tensor;
