//! Chat templates, rendered by minijinja set up as transformers sets up Jinja.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind};

use crate::clock::Moment;
use crate::generation::as_with_blocks;
use crate::{json, methods};

/// Work that one rendering may do: an instruction, or 64 bytes written, each cost one. A long
/// conversation with tools takes less than a hundredth of it.
const FUEL: u64 = 4_000_000;

/// Templates of models have up to some tens of kilobytes. The size bounds how deep one can nest.
const LONGEST_SOURCE: usize = 256 << 10;

/// Compiles the template and throws the result away.
pub fn check(source: &str) -> Result<(), String> {
    if source.len() > LONGEST_SOURCE {
        return Err(format!(
            "expected at most {LONGEST_SOURCE} bytes, found {}",
            source.len()
        ));
    }
    environment()
        .template_from_str(&as_with_blocks(source))
        .map(drop)
        .map_err(|error| say(&error))
}

/// Renders with the variables of a JSON object; `now` stands for the local time.
pub fn render(source: &str, context_json: &str, now: Moment) -> Result<String, String> {
    let context: serde_json::Value =
        serde_json::from_str(context_json).map_err(|error| format!("context: {error}"))?;
    if !context.is_object() {
        return Err("context: expected a JSON object".to_string());
    }
    let mut environment = environment();
    environment.add_function("strftime_now", move |format: &str| now.format(format));
    let source = as_with_blocks(source);
    environment
        .template_from_str(&source)
        .and_then(|template| template.render(to_value(context)))
        .map_err(|error| say(&error))
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(syntax());
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(false);
    environment.set_unknown_method_callback(methods::call);
    environment.add_filter("tojson", json::tojson);
    environment.add_test("sequence", is_sequence);
    environment.add_test("iterable", is_iterable);
    environment.add_function(
        "raise_exception",
        |message: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        },
    );
    environment
}

/// Jinja calls everything a sequence that has a length and can be indexed: texts and mappings too.
fn is_sequence(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::String | ValueKind::Seq | ValueKind::Map
    )
}

/// None is not iterable; an undefined value is, as an empty one.
fn is_iterable(value: &Value) -> bool {
    is_sequence(value) || matches!(value.kind(), ValueKind::Iterable | ValueKind::Undefined)
}

fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .unwrap_or_default()
}

/// "line 12: message", on one line.
fn say(error: &Error) -> String {
    let message = match error.detail() {
        _ if error.kind() == ErrorKind::OutOfFuel => {
            format!("rendering takes more than {FUEL} steps; does a loop never end?")
        }
        Some(detail) if error.kind() == ErrorKind::InvalidOperation => detail.to_string(),
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    match error.line() {
        Some(line) => format!("line {line}: {message}"),
        None => message,
    }
}

fn to_value(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::from(()),
        serde_json::Value::Bool(flag) => Value::from(flag),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::from(number),
            (None, Some(number)) => Value::from(number),
            (None, None) => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::from(text),
        serde_json::Value::Array(items) => items.into_iter().map(to_value).collect(),
        serde_json::Value::Object(fields) => Value::from_pairs(
            fields
                .into_iter()
                .map(|(name, field)| (name, to_value(field))),
        ),
    }
}
