//! An opened ONNX Runtime and its environment.

use crate::api::{text, Api};
use crate::log::{collect, Log};
use libloading::Library;
use ort_sys::{
    ortchar, OrtApiBase, OrtEnv, OrtEpDevice, OrtHardwareDevice, OrtHardwareDeviceType,
    OrtLoggingLevel,
};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The API version whose functions `ort_sys` declares: ONNX Runtime 1.22 and later have it.
const API_VERSION: u32 = ort_sys::ORT_API_VERSION;

pub struct Runtime {
    pub api: Api,
    pub log: &'static Log,
    version: String,
    env: *mut OrtEnv,
    sessions: AtomicU64,
}

// Sound: an environment may be used from any thread, says ONNX Runtime's C API; the rest is Sync.
unsafe impl Send for Runtime {}
unsafe impl Sync for Runtime {}

/// Every runtime that was opened, by its path.
static OPENED: Mutex<BTreeMap<String, &'static Runtime>> = Mutex::new(BTreeMap::new());

impl Runtime {
    /// The library at `path`, whose version must begin with `wanted`: opened by the first call, and
    /// open to the end of the process, with its environment. Its threads and those of provider
    /// libraries may outlive the last session.
    pub fn open(path: &str, wanted: &str) -> Result<&'static Runtime, String> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = opened.get(path) {
            return Ok(runtime);
        }
        let runtime = Self::load(path, wanted)?;
        opened.insert(path.to_owned(), runtime);
        Ok(runtime)
    }

    fn load(path: &str, wanted: &str) -> Result<&'static Runtime, String> {
        let library = open_for_ever(path)?;
        // Sound: this is the C signature of the one symbol that ONNX Runtime is found by.
        let base = unsafe {
            let get = library
                .get::<unsafe extern "system" fn() -> *const OrtApiBase>(b"OrtGetApiBase\0")
                .map_err(|error| error.to_string())?;
            get().as_ref().ok_or("OrtGetApiBase gives nothing")?
        };
        // Sound: every version's OrtApiBase has this function.
        let version = unsafe { text((base.GetVersionString)()) };
        if version
            .strip_prefix(wanted)
            .is_none_or(|rest| !rest.starts_with('.'))
        {
            return Err(format!(
                "another version of ONNX Runtime: expected {wanted}, found {version}"
            ));
        }
        // Sound: and this one. The table that it gives holds all functions up to the version that
        // was asked for, and lives as long as the library.
        let api = unsafe { (base.GetApi)(API_VERSION).as_ref().map(Api) };
        let api = api.ok_or(format!("ONNX Runtime {version} has no API {API_VERSION}"))?;

        let log: &'static Log = Box::leak(Box::default());
        let mut env = std::ptr::null_mut();
        // Sound: `collect` fits the log that it is handed, which lives for ever.
        unsafe {
            api.check((api.CreateEnvWithCustomLogger)(
                collect,
                std::ptr::from_ref(log).cast_mut().cast(),
                OrtLoggingLevel::ORT_LOGGING_LEVEL_ERROR,
                c"lathe".as_ptr(),
                &mut env,
            ))?;
            api.check((api.DisableTelemetryEvents)(env))?;
        }
        Ok(Box::leak(Box::new(Runtime {
            api,
            log,
            version,
            env,
            sessions: AtomicU64::new(0),
        })))
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn env(&self) -> *mut OrtEnv {
        self.env
    }

    /// A log id that no other session has.
    pub fn new_log_id(&self) -> String {
        format!("lathe-{}", self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes the devices of an execution provider known that lives in a library of its own.
    pub fn register_provider(&self, name: &str, path: &str) -> Result<(), String> {
        let (name, path) = (c_string(name)?, os_path(path)?);
        // Sound: both strings end with zero and outlive the call.
        unsafe {
            self.api.check((self.api.RegisterExecutionProviderLibrary)(
                self.env,
                name.as_ptr(),
                path.as_ptr(),
            ))
        }
    }

    /// The device that a registered provider runs on: its NPU if it has one, else its first. (The
    /// simulator presents itself as a CPU.)
    pub fn device_of(&self, provider: &str) -> Result<*const OrtEpDevice, String> {
        let (mut devices, mut count) = (std::ptr::null(), 0);
        // Sound: the environment owns the array and all that hangs on it until its end.
        let of_provider: Vec<_> = unsafe {
            let status = (self.api.GetEpDevices)(self.env, &mut devices, &mut count);
            self.api.check(status)?;
            (0..count)
                .map(|index| *devices.add(index))
                .filter(|device| text((self.api.EpDevice_EpName)(*device)) == provider)
                .collect()
        };
        let npu = of_provider.iter().find(|device| self.is_npu(**device));
        npu.or(of_provider.first())
            .copied()
            .ok_or(format!("no device for {provider}"))
    }

    fn is_npu(&self, device: *const OrtEpDevice) -> bool {
        const NPU: i32 = 2;
        // Sound: a C enum is an i32. Read as ort_sys's Rust enum, a kind that it does not know would
        // be undefined behaviour.
        unsafe {
            type KindOf<Kind> = unsafe extern "system" fn(*const OrtHardwareDevice) -> Kind;
            let kind_of: KindOf<OrtHardwareDeviceType> = self.api.HardwareDevice_Type;
            let kind_of =
                std::mem::transmute::<KindOf<OrtHardwareDeviceType>, KindOf<i32>>(kind_of);
            kind_of((self.api.EpDevice_Device)(device)) == NPU
        }
    }
}

/// Opens the library at `path` to the end of the process: whoever opens it again gets the same one.
pub fn open_for_ever(path: &str) -> Result<ManuallyDrop<Library>, String> {
    // Sound as far as the file is what it claims to be: opening runs its initializers.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    Ok(ManuallyDrop::new(library))
}

pub fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("a zero byte in {text:?}"))
}

/// A path as the platform's ONNX Runtime takes it, ending with zero.
pub fn os_path(path: &str) -> Result<Vec<ortchar>, String> {
    let path = c_string(path)?;
    #[cfg(windows)]
    let units = path
        .to_str()
        .map_err(|error| error.to_string())?
        .encode_utf16()
        .chain([0]);
    #[cfg(not(windows))]
    let units = path.as_bytes_with_nul().iter().map(|byte| *byte as ortchar);
    Ok(units.collect())
}
