//! C ABI of the tokenizer.

use crate::ids::OwnedIds;
use crate::tokenizer::TextTokenizer;
use lathe_abi::{guard, OwnedText, Text};

/// # Safety
/// The text is readable, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_tokenizer_open(
    tokenizer_json: Text,
    tokenizer: *mut *mut TextTokenizer,
    error: *mut OwnedText,
) -> bool {
    guard(tokenizer, error, || {
        let opened = TextTokenizer::open(tokenizer_json.as_str("the file")?)?;
        Ok(Box::into_raw(Box::new(opened)))
    })
}

/// # Safety
/// `tokenizer` comes from `lathe_tokenizer_open` and was not closed before.
#[no_mangle]
pub unsafe extern "C" fn lathe_tokenizer_close(tokenizer: *mut TextTokenizer) {
    drop(Box::from_raw(tokenizer));
}

/// # Safety
/// The tokenizer is open, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_tokenizer_describe(
    tokenizer: *const TextTokenizer,
    json: *mut OwnedText,
    error: *mut OwnedText,
) -> bool {
    guard(json, error, || Ok(OwnedText::new((*tokenizer).describe()?)))
}

/// # Safety
/// The tokenizer is open, the text is readable, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_tokenizer_encode(
    tokenizer: *const TextTokenizer,
    text: Text,
    add_special: bool,
    mark: u32,
    ids: *mut OwnedIds,
    error: *mut OwnedText,
) -> bool {
    guard(ids, error, || {
        let text = text.as_str("text")?;
        let encoded = match char::from_u32(mark) {
            Some(mark) if mark != '\0' => (*tokenizer).encode_marked(text, add_special, mark)?,
            _ => (*tokenizer).encode(text, add_special)?,
        };
        Ok(OwnedIds::new(encoded))
    })
}

/// # Safety
/// The tokenizer is open, `ids` points to `count` ids, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_tokenizer_decode(
    tokenizer: *const TextTokenizer,
    ids: *const u32,
    count: usize,
    skip_special: bool,
    text: *mut OwnedText,
    error: *mut OwnedText,
) -> bool {
    guard(text, error, || {
        let ids = if count == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(ids, count)
        };
        Ok(OwnedText::new((*tokenizer).decode(ids, skip_special)?))
    })
}

/// The id of a token, or -1.
///
/// # Safety
/// The tokenizer is open, the text is readable.
#[no_mangle]
pub unsafe extern "C" fn lathe_tokenizer_id_of(
    tokenizer: *const TextTokenizer,
    token: Text,
) -> i64 {
    token
        .as_str("token")
        .ok()
        .and_then(|token| (*tokenizer).id_of(token))
        .map_or(-1, i64::from)
}

/// The kind of an id: see `TokenKind`.
///
/// # Safety
/// The tokenizer is open.
#[no_mangle]
pub unsafe extern "C" fn lathe_tokenizer_kind_of(tokenizer: *const TextTokenizer, id: u32) -> u8 {
    (*tokenizer).kind_of(id) as u8
}
