//! What every C ABI of these crates shares: borrowed and owned buffers, and the guard that turns an
//! error or a panic into a message. `src/support/rust_bridge.h` is the C side; the two change
//! together.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

/// Borrowed bytes. `data` may be null only where `size` is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    data: *const u8,
    size: usize,
}

impl Text {
    /// # Safety
    /// `data` points to `size` readable bytes for as long as the result is used.
    pub unsafe fn as_str<'a>(self, name: &str) -> Result<&'a str, String> {
        if self.size == 0 {
            return Ok("");
        }
        let bytes = std::slice::from_raw_parts(self.data, self.size);
        std::str::from_utf8(bytes)
            .map_err(|error| format!("{name} is not valid UTF-8 at byte {}", error.valid_up_to()))
    }
}

/// Bytes that belong to the receiver until `lathe_text_free`.
#[repr(C)]
pub struct OwnedText {
    data: *mut u8,
    size: usize,
}

impl OwnedText {
    pub fn new(text: String) -> Self {
        let bytes = text.into_bytes().into_boxed_slice();
        let size = bytes.len();
        OwnedText {
            data: Box::into_raw(bytes).cast(),
            size,
        }
    }
}

/// # Safety
/// `text` comes from this library and was not freed before.
#[no_mangle]
pub unsafe extern "C" fn lathe_text_free(text: OwnedText) {
    drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
        text.data, text.size,
    )));
}

/// Runs `work` and writes its value to `value`, or its error to `error`; true on success. Exactly
/// one of the two is written. A panic is an error too: none crosses the border.
///
/// # Safety
/// `value` and `error` are writable.
pub unsafe fn guard<T>(
    value: *mut T,
    error: *mut OwnedText,
    work: impl FnOnce() -> Result<T, String>,
) -> bool {
    silence_panics();
    let outcome =
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(message_of(panic)));
    match outcome {
        Ok(result) => {
            value.write(result);
            true
        }
        Err(message) => {
            error.write(OwnedText::new(message));
            false
        }
    }
}

/// A caught panic is reported as an error, so the default hook would only add noise on stderr.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

pub fn message_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    format!("internal failure: {text}")
}
