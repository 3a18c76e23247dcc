//! Token ids that are handed over the C ABI.

/// Ids that belong to the receiver until `lathe_text_free_ids`.
#[repr(C)]
pub struct OwnedIds {
    data: *mut u32,
    size: usize,
}

impl OwnedIds {
    pub fn new(ids: Vec<u32>) -> Self {
        let ids = ids.into_boxed_slice();
        let size = ids.len();
        OwnedIds {
            data: Box::into_raw(ids).cast(),
            size,
        }
    }
}

/// # Safety
/// `ids` comes from this library and was not freed before.
#[no_mangle]
pub unsafe extern "C" fn lathe_text_free_ids(ids: OwnedIds) {
    drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(
        ids.data, ids.size,
    )));
}
