//! C ABI of ONNX Runtime and its sessions.

use crate::options::{Entry, Options};
use crate::runtime::{open_for_ever, Runtime};
use crate::session::Session;
use crate::tensor::Tensor;
use lathe_abi::{guard, OwnedText, Text};
use std::ffi::c_void;

/// A key and a value, both borrowed.
#[repr(C)]
pub struct AbiEntry {
    key: Text,
    value: Text,
}

/// `Options`, borrowed.
#[repr(C)]
pub struct AbiOptions {
    config: *const AbiEntry,
    config_count: usize,
    provider: Text,
    provider_options: *const AbiEntry,
    provider_option_count: usize,
    threads: i32,
    optimization: i32,
    log_severity: i32,
}

/// A `Tensor`, borrowed from its session.
#[repr(C)]
pub struct AbiTensor {
    name: *const u8,
    name_size: usize,
    dims: *const i64,
    rank: usize,
    element_type: i32,
}

/// # Safety
/// The texts are readable, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_open(
    library: Text,
    version: Text,
    runtime: *mut *const Runtime,
    error: *mut OwnedText,
) -> bool {
    guard(runtime, error, || {
        let library = library.as_str("the path")?;
        Ok(std::ptr::from_ref(Runtime::open(
            library,
            version.as_str("the version")?,
        )?))
    })
}

/// # Safety
/// The text is readable, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_keep_open(
    library: Text,
    opened: *mut bool,
    error: *mut OwnedText,
) -> bool {
    guard(opened, error, || {
        open_for_ever(library.as_str("the path")?)?;
        Ok(true)
    })
}

/// # Safety
/// `runtime` comes from `lathe_ort_open`, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_version(
    runtime: *const Runtime,
    version: *mut OwnedText,
    error: *mut OwnedText,
) -> bool {
    guard(version, error, || {
        Ok(OwnedText::new((*runtime).version().to_owned()))
    })
}

/// # Safety
/// `runtime` comes from `lathe_ort_open`, the texts are readable, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_register_provider(
    runtime: *const Runtime,
    name: Text,
    library: Text,
    registered: *mut bool,
    error: *mut OwnedText,
) -> bool {
    guard(registered, error, || {
        (*runtime).register_provider(name.as_str("the name")?, library.as_str("the path")?)?;
        Ok(true)
    })
}

/// # Safety
/// `runtime` comes from `lathe_ort_open`, text and options are readable, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_session_open(
    runtime: *const Runtime,
    model: Text,
    options: *const AbiOptions,
    session: *mut *mut Session,
    error: *mut OwnedText,
) -> bool {
    guard(session, error, || {
        let options = &*options;
        let options = Options {
            config: entries(options.config, options.config_count)?,
            provider: options.provider.as_str("the provider")?,
            provider_options: entries(options.provider_options, options.provider_option_count)?,
            threads: options.threads,
            optimization: options.optimization,
            log_severity: options.log_severity,
        };
        // A runtime lives for ever.
        let runtime: &'static Runtime = &*runtime;
        let opened = Session::open(runtime, model.as_str("the path")?, &options)?;
        Ok(Box::into_raw(Box::new(opened)))
    })
}

/// # Safety
/// `session` comes from `lathe_ort_session_open` and was not closed before.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_session_close(session: *mut Session) {
    drop(Box::from_raw(session));
}

/// # Safety
/// `session` is open.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_session_input_count(session: *const Session) -> usize {
    (*session).inputs().len()
}

/// # Safety
/// `session` is open.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_session_output_count(session: *const Session) -> usize {
    (*session).outputs().len()
}

/// # Safety
/// `session` is open, and has an input `index`.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_session_input(
    session: *const Session,
    index: usize,
) -> AbiTensor {
    let session = &*session;
    describe(session.inputs().get_unchecked(index))
}

/// # Safety
/// `session` is open, and has an output `index`.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_session_output(
    session: *const Session,
    index: usize,
) -> AbiTensor {
    let session = &*session;
    describe(session.outputs().get_unchecked(index))
}

/// # Safety
/// `session` is open; `data` points to `size` bytes that stay valid until the input is bound anew
/// or the session closed; the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_session_bind_input(
    session: *const Session,
    index: usize,
    data: *mut c_void,
    size: usize,
    bound: *mut bool,
    error: *mut OwnedText,
) -> bool {
    guard(bound, error, || {
        (*session).bind_input(index, data, size)?;
        Ok(true)
    })
}

/// # Safety
/// As `lathe_ort_session_bind_input`, and `data` is writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_session_bind_output(
    session: *const Session,
    index: usize,
    data: *mut c_void,
    size: usize,
    bound: *mut bool,
    error: *mut OwnedText,
) -> bool {
    guard(bound, error, || {
        (*session).bind_output(index, data, size)?;
        Ok(true)
    })
}

/// # Safety
/// `session` is open and not running, the bound memory is valid, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_ort_session_run(
    session: *const Session,
    ran: *mut bool,
    error: *mut OwnedText,
) -> bool {
    guard(ran, error, || {
        (*session).run()?;
        Ok(true)
    })
}

unsafe fn entries<'a>(data: *const AbiEntry, count: usize) -> Result<Vec<Entry<'a>>, String> {
    (0..count)
        .map(|index| {
            let entry = &*data.add(index);
            Ok((entry.key.as_str("a key")?, entry.value.as_str("a value")?))
        })
        .collect()
}

fn describe(tensor: &Tensor) -> AbiTensor {
    let name = tensor.name().to_bytes();
    AbiTensor {
        name: name.as_ptr(),
        name_size: name.len(),
        dims: tensor.dims.as_ptr(),
        rank: tensor.dims.len(),
        element_type: tensor.element_type,
    }
}
