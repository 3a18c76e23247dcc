//! ONNX Runtime's function table, with statuses as errors and objects that release themselves.

use ort_sys::{OrtApi, OrtStatusPtr};
use std::ffi::{c_char, CStr};
use std::ops::Deref;

/// The table of an opened library. Such a library is never closed, so the table lives for ever.
#[derive(Clone, Copy)]
pub struct Api(pub &'static OrtApi);

impl Deref for Api {
    type Target = OrtApi;

    fn deref(&self) -> &OrtApi {
        self.0
    }
}

impl Api {
    /// The text of a status, which is released.
    ///
    /// # Safety
    /// `status` comes from this table and was not released.
    pub unsafe fn check(&self, status: OrtStatusPtr) -> Result<(), String> {
        if status.0.is_null() {
            return Ok(());
        }
        let message = text((self.GetErrorMessage)(status.0));
        (self.ReleaseStatus)(status.0);
        Err(message)
    }

    /// The object that `create` writes through its argument.
    ///
    /// # Safety
    /// `create` calls this table, and `release` is the table's function for what it creates.
    pub unsafe fn make<T>(
        &self,
        release: unsafe extern "system" fn(*mut T),
        create: impl FnOnce(*mut *mut T) -> OrtStatusPtr,
    ) -> Result<Owned<T>, String> {
        let mut pointer = std::ptr::null_mut();
        self.check(create(&mut pointer))?;
        Ok(Owned { pointer, release })
    }
}

/// An object of ONNX Runtime, released when dropped.
pub struct Owned<T> {
    pointer: *mut T,
    release: unsafe extern "system" fn(*mut T),
}

impl<T> Owned<T> {
    pub fn get(&self) -> *mut T {
        self.pointer
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // Sound: `Api::make` paired the pointer with its release function, and nobody else has it.
        unsafe { (self.release)(self.pointer) }
    }
}

/// A copy of a C string; what is not UTF-8 is replaced.
///
/// # Safety
/// `pointer` is null or ends with a zero byte.
pub unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    CStr::from_ptr(pointer).to_string_lossy().into_owned()
}
