//! What a session is opened with.

use crate::api::Owned;
use crate::runtime::{c_string, Runtime};
use ort_sys::{GraphOptimizationLevel, OrtSessionOptions};

/// Key and value.
pub type Entry<'a> = (&'a str, &'a str);

pub struct Options<'a> {
    pub config: Vec<Entry<'a>>,
    /// A registered execution provider; empty for the CPU.
    pub provider: &'a str,
    pub provider_options: Vec<Entry<'a>>,
    pub threads: i32,
    /// 0: none, 1: basic, 2: extended, 3: all.
    pub optimization: i32,
    /// Least severity that is logged: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal.
    pub log_severity: i32,
}

impl Options<'_> {
    /// The options as an object of ONNX Runtime.
    pub fn make(
        &self,
        runtime: &Runtime,
        log_id: &str,
    ) -> Result<Owned<OrtSessionOptions>, String> {
        let api = runtime.api;
        let level = match self.optimization {
            0 => GraphOptimizationLevel::ORT_DISABLE_ALL,
            1 => GraphOptimizationLevel::ORT_ENABLE_BASIC,
            2 => GraphOptimizationLevel::ORT_ENABLE_EXTENDED,
            _ => GraphOptimizationLevel::ORT_ENABLE_ALL,
        };
        let log_id = c_string(log_id)?;
        // Sound: the options come from `api`; strings and arrays outlive the calls, which copy them.
        unsafe {
            let made = api.make(api.ReleaseSessionOptions, |made| {
                (api.CreateSessionOptions)(made)
            })?;
            let to = made.get();
            api.check((api.SetIntraOpNumThreads)(to, self.threads))?;
            api.check((api.SetSessionGraphOptimizationLevel)(to, level))?;
            api.check((api.SetSessionLogId)(to, log_id.as_ptr()))?;
            api.check((api.SetSessionLogSeverityLevel)(to, self.log_severity))?;
            for (key, value) in &self.config {
                let (key, value) = (c_string(key)?, c_string(value)?);
                api.check((api.AddSessionConfigEntry)(
                    to,
                    key.as_ptr(),
                    value.as_ptr(),
                ))?;
            }
            if !self.provider.is_empty() {
                let device = runtime.device_of(self.provider)?;
                let entries = self.provider_options.iter();
                let (keys, values): (Vec<_>, Vec<_>) = entries
                    .map(|(key, value)| Ok((c_string(key)?, c_string(value)?)))
                    .collect::<Result<Vec<_>, String>>()?
                    .into_iter()
                    .unzip();
                let keys: Vec<_> = keys.iter().map(|key| key.as_ptr()).collect();
                let values: Vec<_> = values.iter().map(|value| value.as_ptr()).collect();
                api.check((api.SessionOptionsAppendExecutionProvider_V2)(
                    to,
                    runtime.env(),
                    &device,
                    1,
                    keys.as_ptr(),
                    values.as_ptr(),
                    keys.len(),
                ))?;
            }
            Ok(made)
        }
    }
}
