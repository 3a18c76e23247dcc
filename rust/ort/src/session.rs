//! One model, ready to run on memory that its caller owns.

use crate::api::Owned;
use crate::options::Options;
use crate::runtime::{os_path, Runtime};
use crate::tensor::{self, Tensor};
use ort_sys::{
    OrtAllocatorType, OrtIoBinding, OrtMemType, OrtMemoryInfo, OrtSession, OrtStatusPtr, OrtValue,
};
use std::ffi::{c_char, c_void};

pub struct Session {
    model: Model,
    log: SessionLog,
}

/// Fields are dropped from top to bottom: the binding before the session that it belongs to.
struct Model {
    binding: Owned<OrtIoBinding>,
    session: Owned<OrtSession>,
    memory: Owned<OrtMemoryInfo>,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
}

impl Model {
    fn load(
        runtime: &Runtime,
        path: &str,
        options: &Options,
        log_id: &str,
    ) -> Result<Model, String> {
        let api = runtime.api;
        let options = options.make(runtime, log_id)?;
        let path = os_path(path)?;
        // Sound: every object comes from `api` and is paired with its release function; strings end
        // with zero and outlive the calls.
        unsafe {
            let session = api.make(api.ReleaseSession, |session| {
                (api.CreateSession)(runtime.env(), path.as_ptr(), options.get(), session)
            })?;
            let memory = api.make(api.ReleaseMemoryInfo, |memory| {
                (api.CreateCpuMemoryInfo)(
                    OrtAllocatorType::OrtDeviceAllocator,
                    OrtMemType::OrtMemTypeDefault,
                    memory,
                )
            })?;
            let inputs = tensor::inputs_of(api, session.get())?;
            let outputs = tensor::outputs_of(api, session.get())?;
            let binding = api.make(api.ReleaseIoBinding, |binding| {
                (api.CreateIoBinding)(session.get(), binding)
            })?;
            Ok(Model {
                binding,
                session,
                memory,
                inputs,
                outputs,
            })
        }
    }
}

impl Session {
    /// An error is followed by what was logged on the way, line by line.
    pub fn open(
        runtime: &'static Runtime,
        path: &str,
        options: &Options,
    ) -> Result<Session, String> {
        let log = SessionLog::open(runtime);
        let model = Model::load(runtime, path, options, &log.id);
        let model = model.map_err(|error| log.append_to(error))?;
        Ok(Session { model, log })
    }

    pub fn inputs(&self) -> &[Tensor] {
        &self.model.inputs
    }

    pub fn outputs(&self) -> &[Tensor] {
        &self.model.outputs
    }

    /// Binds `data` to an input, until it is bound anew.
    ///
    /// # Safety
    /// `data` points to `size` bytes that stay valid for every run until then.
    pub unsafe fn bind_input(
        &self,
        index: usize,
        data: *mut c_void,
        size: usize,
    ) -> Result<(), String> {
        let tensor = self.model.inputs.get(index).ok_or("no such input")?;
        self.bind(tensor, data, size, self.log.runtime.api.BindInput)
    }

    /// As `bind_input`; `data` must be writable.
    ///
    /// # Safety
    /// As `bind_input`.
    pub unsafe fn bind_output(
        &self,
        index: usize,
        data: *mut c_void,
        size: usize,
    ) -> Result<(), String> {
        let tensor = self.model.outputs.get(index).ok_or("no such output")?;
        self.bind(tensor, data, size, self.log.runtime.api.BindOutput)
    }

    unsafe fn bind(
        &self,
        tensor: &Tensor,
        data: *mut c_void,
        size: usize,
        bind: unsafe extern "system" fn(
            *mut OrtIoBinding,
            *const c_char,
            *const OrtValue,
        ) -> OrtStatusPtr,
    ) -> Result<(), String> {
        let element_type = tensor.holds(size)?;
        let api = self.log.runtime.api;
        let value = api.make(api.ReleaseValue, |value| {
            (api.CreateTensorWithDataAsOrtValue)(
                self.model.memory.get(),
                data,
                size,
                tensor.dims.as_ptr(),
                tensor.dims.len(),
                element_type,
                value,
            )
        })?;
        // The binding takes a reference of its own to the value.
        api.check(bind(
            self.model.binding.get(),
            tensor.name().as_ptr(),
            value.get(),
        ))
    }

    /// Runs once, on the bound memory. An error is followed by what was logged, line by line.
    pub fn run(&self) -> Result<(), String> {
        let api = self.log.runtime.api;
        // Sound: session and binding belong together; who bound memory keeps it valid.
        unsafe {
            let status = (api.RunWithBinding)(
                self.model.session.get(),
                std::ptr::null(),
                self.model.binding.get(),
            );
            api.check(status)
        }
        .map_err(|error| self.log.append_to(error))
    }
}

/// A session's part of the log, for as long as the session lives.
struct SessionLog {
    runtime: &'static Runtime,
    id: String,
}

impl SessionLog {
    fn open(runtime: &'static Runtime) -> Self {
        let id = runtime.new_log_id();
        runtime.log.open(&id);
        SessionLog { runtime, id }
    }

    fn append_to(&self, error: String) -> String {
        format!(
            "{}\n{}",
            error.replace('\n', " "),
            self.runtime.log.take(&self.id)
        )
    }
}

impl Drop for SessionLog {
    fn drop(&mut self) {
        self.runtime.log.close(&self.id);
    }
}
