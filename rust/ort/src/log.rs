//! What ONNX Runtime logs, kept per session: it says there what its errors leave out, such as which
//! operators a provider has rejected.

use crate::api::text;
use ort_sys::OrtLoggingLevel;
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines beyond this many bytes a session are dropped.
const LIMIT: usize = 1 << 20;

/// By log id of a session: its lines, each with a newline. What others log is dropped.
#[derive(Default)]
pub struct Log(Mutex<HashMap<String, String>>);

impl Log {
    /// From now on, keeps what `id` logs.
    pub fn open(&self, id: &str) {
        self.lock().insert(id.to_owned(), String::new());
    }

    /// The lines of `id` since the last call.
    pub fn take(&self, id: &str) -> String {
        self.lock()
            .get_mut(id)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    pub fn close(&self, id: &str) {
        self.lock().remove(id);
    }

    fn add(&self, id: &str, message: &str) {
        if let Some(lines) = self.lock().get_mut(id) {
            if lines.len() + message.len() < LIMIT {
                lines.push_str(message);
                lines.push('\n');
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The callback that an environment is created with, from any thread.
///
/// # Safety
/// `log` is a `Log`, the others are null or end with a zero byte.
pub unsafe extern "system" fn collect(
    log: *mut c_void,
    _severity: OrtLoggingLevel,
    _category: *const c_char,
    id: *const c_char,
    _location: *const c_char,
    message: *const c_char,
) {
    // A panic must not unwind into ONNX Runtime; a line that is lost does no harm.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        (*log.cast::<Log>()).add(&text(id), &text(message));
    }));
}
