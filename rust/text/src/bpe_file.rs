//! A tokenizer.json with a BPE model, opened in a fraction of the time that the crate takes for any
//! model: to find out which model a file has, it first copies the whole vocabulary and all merges
//! into trees of values, several times. What this does not know is left to the crate.

use std::fmt;

use ahash::AHashMap;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokenizers::models::bpe::{Merges, BPE};
use tokenizers::{AddedToken, Tokenizer};

const NO_MODEL: &str = r#""model":{"type":"BPE","vocab":{},"merges":[]}"#;

/// The tokenizer that `Tokenizer::from_str` gives for the same text; None where only that can tell.
pub fn open(tokenizer_json: &str) -> Option<Tokenizer> {
    let file: TokenizerFile = serde_json::from_str(tokenizer_json).ok()?;
    let mut tokenizer: Tokenizer = file.without_model().parse().ok()?;
    tokenizer.with_model(file.model.build()?);
    // Ids of added tokens depend on the vocabulary, so they come behind it.
    tokenizer.add_tokens(file.added_tokens).ok()?;
    Some(tokenizer)
}

/// Small parts stay text, for the crate to read.
#[derive(Deserialize)]
struct TokenizerFile<'a> {
    model: BpeFile,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    truncation: Option<&'a RawValue>,
    #[serde(borrow)]
    padding: Option<&'a RawValue>,
    #[serde(borrow)]
    normalizer: Option<&'a RawValue>,
    #[serde(borrow)]
    pre_tokenizer: Option<&'a RawValue>,
    #[serde(borrow)]
    post_processor: Option<&'a RawValue>,
    #[serde(borrow)]
    decoder: Option<&'a RawValue>,
}

impl TokenizerFile<'_> {
    fn without_model(&self) -> String {
        let mut text = String::from("{");
        for (name, part) in [
            ("version", self.version),
            ("truncation", self.truncation),
            ("padding", self.padding),
            ("normalizer", self.normalizer),
            ("pre_tokenizer", self.pre_tokenizer),
            ("post_processor", self.post_processor),
            ("decoder", self.decoder),
        ] {
            if let Some(part) = part {
                text += &format!("\"{name}\":{},", part.get());
            }
        }
        text + NO_MODEL + "}"
    }
}

#[derive(Deserialize)]
enum BpeType {
    #[serde(rename = "BPE")]
    Bpe,
}

#[derive(Deserialize)]
struct BpeFile {
    #[serde(rename = "type")]
    _kind: BpeType,
    dropout: Option<f32>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    fuse_unk: Option<bool>,
    byte_fallback: Option<bool>,
    ignore_merges: Option<bool>,
    vocab: Vocabulary,
    merges: MergeList,
}

impl BpeFile {
    fn build(self) -> Option<BPE> {
        let mut builder = BPE::builder()
            .vocab_and_merges(self.vocab.0, self.merges.0)
            .fuse_unk(self.fuse_unk.unwrap_or(false))
            .byte_fallback(self.byte_fallback.unwrap_or(false))
            .ignore_merges(self.ignore_merges.unwrap_or(false));
        if let Some(dropout) = self.dropout {
            builder = builder.dropout(dropout);
        }
        if let Some(token) = self.unk_token {
            builder = builder.unk_token(token);
        }
        if let Some(prefix) = self.continuing_subword_prefix {
            builder = builder.continuing_subword_prefix(prefix);
        }
        if let Some(suffix) = self.end_of_word_suffix {
            builder = builder.end_of_word_suffix(suffix);
        }
        builder.build().ok()
    }
}

struct Vocabulary(AHashMap<String, u32>);

impl<'de> Deserialize<'de> for Vocabulary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Vocabulary;
            fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
                to.write_str("tokens with their ids")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut vocabulary = AHashMap::new();
                while let Some((token, id)) = map.next_entry()? {
                    vocabulary.insert(token, id);
                }
                Ok(Vocabulary(vocabulary))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// One merge: two tokens, or (in older files) a line with a space between them.
enum Merge {
    Pair(String, String),
    Line(String),
}

impl<'de> Deserialize<'de> for Merge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairOrLine;
        impl<'de> Visitor<'de> for PairOrLine {
            type Value = Merge;
            fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
                to.write_str("two tokens")
            }
            fn visit_str<E: Error>(self, line: &str) -> Result<Self::Value, E> {
                Ok(Merge::Line(line.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Self::Value, A::Error> {
                let missing = || A::Error::custom("a merge of less than two tokens");
                let left = pair.next_element()?.ok_or_else(missing)?;
                let right = pair.next_element()?.ok_or_else(missing)?;
                if pair.next_element::<String>()?.is_some() {
                    return Err(A::Error::custom("a merge of more than two tokens"));
                }
                Ok(Merge::Pair(left, right))
            }
        }
        deserializer.deserialize_any(PairOrLine)
    }
}

struct MergeList(Merges);

impl<'de> Deserialize<'de> for MergeList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = MergeList;
            fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
                to.write_str("a list of merges")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut merges = Vec::new();
                let mut lines = 0;
                while let Some(merge) = list.next_element()? {
                    match merge {
                        Merge::Pair(left, right) => merges.push((left, right)),
                        Merge::Line(line) => {
                            lines += 1;
                            let parts: Vec<&str> = line.split(' ').collect();
                            let [left, right] = parts[..] else {
                                return Err(A::Error::custom("a line that is no merge"));
                            };
                            merges.push((left.to_string(), right.to_string()));
                        }
                    }
                }
                if lines != 0 && lines != merges.len() {
                    return Err(A::Error::custom("merges of both forms"));
                }
                Ok(MergeList(merges))
            }
        }
        deserializer.deserialize_seq(List)
    }
}
