//! One static library for all of Lathe's Rust: two would each bring Rust's own runtime, and clash.

pub use lathe_ort;
pub use lathe_text;
