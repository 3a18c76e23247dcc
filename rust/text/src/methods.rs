//! Methods of Python's str and list that templates use and `minijinja-contrib` does not have.

use minijinja::value::{from_args, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat;

/// Called by minijinja for a method that it does not know.
pub fn call(
    state: &mut State,
    value: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            if let Some(result) = of_string(text, method, arguments)? {
                return Ok(result);
            }
        }
        ValueKind::Seq if method == "index" => return index_of(value, arguments),
        _ => {}
    }
    pycompat::unknown_method_callback(state, value, method, arguments)
}

fn of_string(text: &str, method: &str, arguments: &[Value]) -> Result<Option<Value>, Error> {
    let one = || -> Result<&str, Error> {
        let (argument,): (&str,) = from_args(arguments)?;
        Ok(argument)
    };
    Ok(Some(match method {
        "removeprefix" => {
            let prefix = one()?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let suffix = one()?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "partition" => parts(text, separator(one()?)?, text.find(one()?), [text, "", ""]),
        "rpartition" => parts(text, separator(one()?)?, text.rfind(one()?), ["", "", text]),
        "rsplit" => rsplit(text, arguments)?,
        "index" => position(text, text.find(one()?))?,
        "rindex" => position(text, text.rfind(one()?))?,
        _ => return Ok(None),
    }))
}

fn separator(text: &str) -> Result<&str, Error> {
    if text.is_empty() {
        return Err(Error::new(ErrorKind::InvalidOperation, "empty separator"));
    }
    Ok(text)
}

fn parts(text: &str, separator: &str, at: Option<usize>, missing: [&str; 3]) -> Value {
    let parts = match at {
        Some(at) => [&text[..at], separator, &text[at + separator.len()..]],
        None => missing,
    };
    Value::from_iter(parts)
}

fn rsplit(text: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (by, most): (Option<&str>, Option<i64>) = from_args(arguments)?;
    let most = most.and_then(|most| usize::try_from(most).ok());
    let mut parts: Vec<&str> = match (by, most) {
        (Some(by), Some(most)) => text
            .rsplitn(most.saturating_add(1), separator(by)?)
            .collect(),
        (Some(by), None) => text.rsplit(separator(by)?).collect(),
        (None, _) => words_from_the_end(text, most.unwrap_or(usize::MAX)),
    };
    parts.reverse();
    Ok(Value::from_iter(parts))
}

/// The last `most` words of `text`, last one first, then all that stands before them.
fn words_from_the_end(text: &str, most: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_end();
    while !rest.is_empty() && words.len() < most {
        let start = rest.rfind(char::is_whitespace).map_or(0, |at| {
            at + rest[at..].chars().next().map_or(1, char::len_utf8)
        });
        words.push(&rest[start..]);
        rest = rest[..start].trim_end();
    }
    if !rest.is_empty() {
        words.push(rest);
    }
    words
}

fn position(text: &str, at: Option<usize>) -> Result<Value, Error> {
    match at {
        Some(at) => Ok(Value::from(text[..at].chars().count())),
        None => Err(Error::new(
            ErrorKind::InvalidOperation,
            "substring not found",
        )),
    }
}

fn index_of(list: &Value, arguments: &[Value]) -> Result<Value, Error> {
    let (wanted,): (&Value,) = from_args(arguments)?;
    for (index, item) in list.try_iter()?.checked().enumerate() {
        if item? == *wanted {
            return Ok(Value::from(index));
        }
    }
    Err(Error::new(
        ErrorKind::InvalidOperation,
        "the value is not in the list",
    ))
}
