//! Why a tokenizer.json cannot be used: the part of it that is not known, by its key. The crate
//! itself only says that nothing fits.

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokenizers::{DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper};

/// The first part that the crate refuses; None where each of them is right by itself.
pub fn refused_part(tokenizer_json: &str) -> Option<String> {
    let file: Value = serde_json::from_str(tokenizer_json).ok()?;
    let model = &file["model"];
    match model["type"].as_str() {
        None | Some("BPE" | "Unigram" | "WordLevel" | "WordPiece") => {}
        Some(other) => return Some(format!("model.type: {other:?} is not known")),
    }
    refused::<NormalizerWrapper>(&file["normalizer"], "normalizers", "normalizer")
        .or_else(|| {
            refused::<PreTokenizerWrapper>(&file["pre_tokenizer"], "pretokenizers", "pre_tokenizer")
        })
        .or_else(|| {
            refused::<PostProcessorWrapper>(&file["post_processor"], "processors", "post_processor")
        })
        .or_else(|| refused::<DecoderWrapper>(&file["decoder"], "decoders", "decoder"))
}

/// Looks into sequences, whose parts are under `steps`.
fn refused<T: DeserializeOwned>(part: &Value, steps: &str, key: &str) -> Option<String> {
    if part.is_null() || T::deserialize(part).is_ok() {
        return None;
    }
    let within = part[steps].as_array().and_then(|list| {
        list.iter()
            .enumerate()
            .find_map(|(i, step)| refused::<T>(step, steps, &format!("{key}.{steps}[{i}]")))
    });
    Some(within.unwrap_or_else(|| match part["type"].as_str() {
        Some(name) => format!("{key}: {name:?} is not known, or its fields are not"),
        None => format!("{key}: expected an object with a type"),
    }))
}
