//! The text room's Rust half: Hugging Face's `tokenizers` and `minijinja` behind a small C ABI.
//! `src/text/ffi.h` is the C side of every `extern "C"` function here; the two change together.

mod bpe_file;
mod clock;
mod compact_bpe;
#[cfg(test)]
mod compact_bpe_test;
mod components;
mod generation;
mod ids;
mod json;
mod methods;
mod template;
mod template_abi;
mod text_list;
mod text_model;
mod tokenizer;
mod tokenizer_abi;
mod vocabulary;
