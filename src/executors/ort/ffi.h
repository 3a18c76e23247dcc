#pragma once

#include <cstddef>
#include <cstdint>

#include "support/rust_bridge.h"

// The C ABI of rust/ort: the C++ side of every `extern "C"` function there; the two change
// together. A function that returns bool writes its result on true and `error` on false.

extern "C" {

/// An opened ONNX Runtime. It stays open to the end of the process.
struct LatheOrt;
struct LatheOrtSession;

/// Borrowed.
struct LatheOrtEntry {
  LatheText key;
  LatheText value;
};

/// Borrowed.
struct LatheOrtOptions {
  const LatheOrtEntry* config;  ///< session configuration entries
  size_t config_count;
  LatheText provider;  ///< a registered execution provider; empty: the CPU
  const LatheOrtEntry* provider_options;
  size_t provider_option_count;
  int32_t threads;       ///< of the CPU provider; 0: one a core
  int32_t optimization;  ///< of the graph, 0: none, 1: basic, 2: extended, 3: all
  int32_t log_severity;  ///< least that is logged, 0: verbose, 1: info, 2: warning, 3: error
};

/// An input or output, borrowed from its session.
struct LatheOrtTensor {
  LatheText name;
  const int64_t* dims;  ///< -1: open
  size_t rank;
  int32_t element_type;  ///< TensorProto.DataType; 0: not a tensor
};

/// Opens a library whose version begins with `version`.
bool lathe_ort_open(LatheText library, LatheText version, const LatheOrt** ort,
                    LatheOwnedText* error);
/// Opens any library, to the end of the process.
bool lathe_ort_keep_open(LatheText library, bool* opened, LatheOwnedText* error);
bool lathe_ort_version(const LatheOrt* ort, LatheOwnedText* version, LatheOwnedText* error);
bool lathe_ort_register_provider(const LatheOrt* ort, LatheText name, LatheText library,
                                 bool* registered, LatheOwnedText* error);

/// The first line of an error is ONNX Runtime's; the lines after it were logged on the way.
bool lathe_ort_session_open(const LatheOrt* ort, LatheText model, const LatheOrtOptions* options,
                            LatheOrtSession** session, LatheOwnedText* error);
void lathe_ort_session_close(LatheOrtSession* session);
size_t lathe_ort_session_input_count(const LatheOrtSession* session);
size_t lathe_ort_session_output_count(const LatheOrtSession* session);
LatheOrtTensor lathe_ort_session_input(const LatheOrtSession* session, size_t index);
LatheOrtTensor lathe_ort_session_output(const LatheOrtSession* session, size_t index);
/// `data` must stay valid until the tensor is bound anew or the session closed.
bool lathe_ort_session_bind_input(const LatheOrtSession* session, size_t index, void* data,
                                  size_t size, bool* bound, LatheOwnedText* error);
bool lathe_ort_session_bind_output(const LatheOrtSession* session, size_t index, void* data,
                                   size_t size, bool* bound, LatheOwnedText* error);
/// Errors as those of lathe_ort_session_open.
bool lathe_ort_session_run(const LatheOrtSession* session, bool* ran, LatheOwnedText* error);

}  // extern "C"
