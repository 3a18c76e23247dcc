//! The `tojson` filter as transformers defines it: Python's
//! `json.dumps(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

/// Deeper values are refused, as Python refuses them with a RecursionError.
const DEEPEST: usize = 200;

/// The filter. `ensure_ascii` may also be given without its name, as the first in transformers'
/// signature.
pub fn tojson(
    state: &mut State,
    value: &Value,
    ensure_ascii: Option<&Value>,
    options: Kwargs,
) -> Result<Value, Error> {
    let ascii = match ensure_ascii {
        Some(first) => first.is_true(),
        None => options
            .get::<Option<bool>>("ensure_ascii")?
            .unwrap_or(false),
    };
    let indent = indent_of(options.get::<Option<Value>>("indent")?)?;
    let (item, key) = match options.get::<Option<Value>>("separators")? {
        Some(pair) if !pair.is_none() => (separator_of(&pair, 0)?, separator_of(&pair, 1)?),
        _ if indent.is_some() => (",".to_string(), ": ".to_string()),
        _ => (", ".to_string(), ": ".to_string()),
    };
    let sort_keys = options.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    options.assert_all_used()?;
    let mut writer = Writer {
        out: String::new(),
        paid: 0,
        state,
        ascii,
        indent,
        item,
        key,
        sort_keys,
    };
    writer.value(value, 0)?;
    Ok(Value::from(writer.out))
}

fn indent_of(indent: Option<Value>) -> Result<Option<String>, Error> {
    const WIDEST: i64 = 64;
    match indent {
        None => Ok(None),
        Some(value) if value.is_none() || value.is_undefined() => Ok(None),
        Some(value) => match (value.as_str(), value.as_i64()) {
            (Some(text), _) => Ok(Some(text.to_string())),
            (None, Some(width)) => Ok(Some(" ".repeat(width.clamp(0, WIDEST) as usize))),
            _ => Err(invalid("tojson: indent must be a number or a string")),
        },
    }
}

fn separator_of(pair: &Value, index: usize) -> Result<String, Error> {
    pair.get_item_by_index(index)?
        .as_str()
        .map(str::to_string)
        .ok_or_else(|| invalid("tojson: separators must be two strings"))
}

/// The code points that are no characters for good (Unicode Standard, 23.7). No text holds one but
/// where a conversation's control tokens are marked with it, and the mark must stay what it is.
fn is_noncharacter(character: char) -> bool {
    matches!(character, '\u{fdd0}'..='\u{fdef}') || character as u32 & 0xfffe == 0xfffe
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

struct Writer<'a, 'template, 'env> {
    out: String,
    paid: usize, // bytes of `out` that fuel was taken for
    state: &'a State<'template, 'env>,
    ascii: bool,
    indent: Option<String>,
    item: String,
    key: String,
    sort_keys: bool,
}

impl Writer<'_, '_, '_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > DEEPEST {
            return Err(invalid("tojson: the value is nested too deeply"));
        }
        self.pay()?;
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self
                .out
                .push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.number(value),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.sequence(value, depth)?,
            ValueKind::Map => self.mapping(value, depth)?,
            kind => return Err(invalid(format!("tojson: {kind} is not JSON serializable"))),
        }
        Ok(())
    }

    /// Takes fuel for what was written, so that a template cannot write without end.
    fn pay(&mut self) -> Result<(), Error> {
        const BYTES_PER_FUEL: usize = 16;
        let units = (self.out.len() - self.paid) / BYTES_PER_FUEL + 1;
        self.paid = self.out.len();
        self.state.consume_fuel(units as u64)
    }

    fn sequence(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        self.out.push('[');
        let mut empty = true;
        for item in value.try_iter()?.checked() {
            self.before_item(empty, depth + 1);
            empty = false;
            self.value(&item?, depth + 1)?;
        }
        self.close(']', empty, depth);
        Ok(())
    }

    fn mapping(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let mut names = Vec::new();
        for name in value.try_iter()?.checked() {
            names.push(name?);
        }
        if self.sort_keys {
            names.sort();
        }
        self.out.push('{');
        for (index, name) in names.iter().enumerate() {
            self.before_item(index == 0, depth + 1);
            self.name(name)?;
            self.out.push_str(&self.key.clone());
            self.value(&value.get_item(name)?, depth + 1)?;
        }
        self.close('}', names.is_empty(), depth);
        Ok(())
    }

    fn name(&mut self, name: &Value) -> Result<(), Error> {
        match name.kind() {
            ValueKind::String => self.string(name.as_str().unwrap_or_default()),
            ValueKind::Number | ValueKind::Bool | ValueKind::None => {
                self.out.push('"');
                self.value(name, 0)?;
                self.out.push('"');
            }
            kind => return Err(invalid(format!("tojson: keys must not be {kind}"))),
        }
        Ok(())
    }

    fn before_item(&mut self, first: bool, depth: usize) {
        if !first {
            self.out.push_str(&self.item.clone());
        }
        self.new_line(depth);
    }

    fn close(&mut self, bracket: char, empty: bool, depth: usize) {
        if !empty {
            self.new_line(depth);
        }
        self.out.push(bracket);
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = &self.indent {
            self.out.push('\n');
            self.out.push_str(&indent.repeat(depth));
        }
    }

    fn number(&mut self, value: &Value) {
        if value.is_integer() {
            self.out.push_str(&value.to_string());
        } else {
            let number = f64::try_from(value.clone()).unwrap_or(f64::NAN);
            self.out.push_str(&python_float(number));
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                control if control < ' ' => self.escape(control),
                other if self.ascii && other >= '\u{7f}' && !is_noncharacter(other) => {
                    self.escape(other)
                }
                other => self.out.push(other),
            }
        }
        self.out.push('"');
    }

    /// `\u00e9`; a surrogate pair beyond the basic plane.
    fn escape(&mut self, character: char) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            self.out.push_str(&format!("\\u{unit:04x}"));
        }
    }
}

/// Python's `repr` of a float: the shortest digits that read back the same, with an exponent from
/// 1e16 on and below 1e-4.
fn python_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_string();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_string();
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let text = number.to_string();
    if text.contains('.') {
        text
    } else {
        text + ".0"
    }
}
