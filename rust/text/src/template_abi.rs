//! C ABI of chat templates.

use crate::clock::Moment;
use crate::template;
use lathe_abi::{guard, message_of, OwnedText, Text};

/// Stack of the thread that a template runs on. Pages are only taken when touched. What a template
/// can nest must fit: expressions are parsed and values are dropped by recursion, and only the
/// template's size and its fuel bound their depth.
const STACK: usize = 256 << 20;

/// # Safety
/// The text is readable, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_template_check(
    source: Text,
    unused: *mut OwnedText,
    error: *mut OwnedText,
) -> bool {
    guard(unused, error, || {
        let source = source.as_str("the template")?;
        on_own_stack(|| template::check(source))?;
        Ok(OwnedText::new(String::new()))
    })
}

/// `now` is a time such as 2024-07-04T09:05:07; empty: the machine's local time.
///
/// # Safety
/// The texts are readable, the outputs are writable.
#[no_mangle]
pub unsafe extern "C" fn lathe_template_render(
    source: Text,
    context_json: Text,
    now: Text,
    rendered: *mut OwnedText,
    error: *mut OwnedText,
) -> bool {
    guard(rendered, error, || {
        let source = source.as_str("the template")?;
        let context_json = context_json.as_str("the context")?;
        let now = match now.as_str("the time")? {
            "" => Moment::now()?,
            fixed => Moment::parse(fixed)?,
        };
        on_own_stack(|| template::render(source, context_json, now)).map(OwnedText::new)
    })
}

fn on_own_stack<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|error| format!("cannot start a thread: {error}"))?
            .join()
            .unwrap_or_else(|panic| Err(message_of(panic)))
    })
}
