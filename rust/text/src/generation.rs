//! `{% generation %} ... {% endgeneration %}`, which transformers adds to Jinja to mark what the
//! assistant says. It prints its body and keeps what the body sets to itself, as `{% with %}` does.

use std::borrow::Cow;

/// The template with every `generation` tag written as a `with` tag; lines stay where they are.
pub fn as_with_blocks(source: &str) -> Cow<'_, str> {
    if !source.contains("generation") {
        return Cow::Borrowed(source);
    }
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at + 2);
        out.push_str(before);
        rest = tag;
        if let Some((name, keyword)) = keyword_of(tag) {
            let start = name.as_ptr() as usize - tag.as_ptr() as usize;
            out.push_str(&tag[..start]);
            out.push_str(keyword);
            rest = &tag[start + name.len()..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// For the inside of a tag that is `generation` or `endgeneration`: that word, and the word to
/// write in its place.
fn keyword_of(tag: &str) -> Option<(&str, &'static str)> {
    let body = tag.strip_prefix(['-', '+']).unwrap_or(tag).trim_start();
    let (name, keyword) = [("generation", "with"), ("endgeneration", "endwith")]
        .into_iter()
        .find(|(name, _)| body.starts_with(name))?;
    let after = body[name.len()..].trim_start();
    let after = after.strip_prefix(['-', '+']).unwrap_or(after);
    after
        .starts_with("%}")
        .then(|| (&body[..name.len()], keyword))
}
