//! The text room's Rust half: Hugging Face's `tokenizers` and `minijinja` behind a small C ABI.
//! `src/text/ffi.h` is the C side of every `extern "C"` function here; the two change together.

mod bpe_file;
mod clock;
mod generation;
mod ids;
mod json;
mod methods;
mod template;
mod template_abi;
mod tokenizer;
mod tokenizer_abi;
