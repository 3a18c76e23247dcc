//! The inputs and outputs of a model.

use crate::api::Api;
use ort_sys::{
    ONNXTensorElementDataType as Element, OrtAllocator, OrtSession, OrtStatusPtr, OrtTypeInfo,
};
use std::ffi::{c_char, CStr, CString};

/// An input or output.
pub struct Tensor {
    name: CString,
    /// ONNX's number of the element type; 0 for what is not a tensor.
    pub element_type: i32,
    /// A dimension that the file leaves open is -1.
    pub dims: Vec<i64>,
}

impl Tensor {
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// The element type, where a dense tensor has `size` bytes.
    pub fn holds(&self, size: usize) -> Result<Element, String> {
        let (element, bytes) = match self.element_type {
            1 => (Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4),
            2 => (Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, 1),
            3 => (Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, 1),
            4 => (Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, 2),
            5 => (Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, 2),
            6 => (Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 4),
            7 => (Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 8),
            other => return Err(format!("{:?} has element type {other}", self.name)),
        };
        let expected = self.dims.iter().try_fold(bytes, |bytes: usize, dim| {
            bytes.checked_mul(usize::try_from(*dim).ok()?)
        });
        if expected == Some(size) {
            Ok(element)
        } else {
            Err(format!(
                "{:?} {:?} does not fit {size} bytes",
                self.name, self.dims
            ))
        }
    }
}

type CountOf = unsafe extern "system" fn(*const OrtSession, *mut usize) -> OrtStatusPtr;
type NameOf = unsafe extern "system" fn(
    *const OrtSession,
    usize,
    *mut OrtAllocator,
    *mut *mut c_char,
) -> OrtStatusPtr;
type TypeOf =
    unsafe extern "system" fn(*const OrtSession, usize, *mut *mut OrtTypeInfo) -> OrtStatusPtr;

/// # Safety
/// `session` is open and belongs to `api`.
pub unsafe fn inputs_of(api: Api, session: *const OrtSession) -> Result<Vec<Tensor>, String> {
    let functions = (
        api.SessionGetInputCount,
        api.SessionGetInputName,
        api.SessionGetInputTypeInfo,
    );
    list(api, session, functions)
}

/// # Safety
/// `session` is open and belongs to `api`.
pub unsafe fn outputs_of(api: Api, session: *const OrtSession) -> Result<Vec<Tensor>, String> {
    let functions = (
        api.SessionGetOutputCount,
        api.SessionGetOutputName,
        api.SessionGetOutputTypeInfo,
    );
    list(api, session, functions)
}

unsafe fn list(
    api: Api,
    session: *const OrtSession,
    (count_of, name_of, type_of): (CountOf, NameOf, TypeOf),
) -> Result<Vec<Tensor>, String> {
    let mut count = 0;
    api.check(count_of(session, &mut count))?;
    (0..count)
        .map(|index| {
            let name = name(api, |allocator, name| {
                name_of(session, index, allocator, name)
            })?;
            let info = api.make(api.ReleaseTypeInfo, |info| type_of(session, index, info))?;
            let (element_type, dims) = type_and_dims(api, info.get())?;
            Ok(Tensor {
                name,
                element_type,
                dims,
            })
        })
        .collect()
}

unsafe fn name(
    api: Api,
    read: impl FnOnce(*mut OrtAllocator, *mut *mut c_char) -> OrtStatusPtr,
) -> Result<CString, String> {
    let mut allocator = std::ptr::null_mut();
    api.check((api.GetAllocatorWithDefaultOptions)(&mut allocator))?;
    let mut name = std::ptr::null_mut();
    api.check(read(allocator, &mut name))?;
    let copy = CString::from(CStr::from_ptr(name));
    api.check((api.AllocatorFree)(allocator, name.cast()))?;
    Ok(copy)
}

/// Element type 0 and no dimensions for what is not a tensor.
unsafe fn type_and_dims(api: Api, info: *const OrtTypeInfo) -> Result<(i32, Vec<i64>), String> {
    let mut tensor = std::ptr::null();
    api.check((api.CastTypeInfoToTensorInfo)(info, &mut tensor))?;
    if tensor.is_null() {
        return Ok((0, Vec::new()));
    }
    // A C enum is an i32. Written into ort_sys's Rust enum, a type that it does not know would be
    // undefined behaviour.
    let mut element_type = 0i32;
    let written = std::ptr::from_mut(&mut element_type).cast();
    api.check((api.GetTensorElementType)(tensor, written))?;
    let mut rank = 0;
    api.check((api.GetDimensionsCount)(tensor, &mut rank))?;
    let mut dims = vec![0; rank];
    api.check((api.GetDimensions)(tensor, dims.as_mut_ptr(), rank))?;
    Ok((element_type, dims))
}
