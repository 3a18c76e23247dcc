//! A tokenizer.json with a BPE model, opened in a fraction of the time that the crate takes for any
//! model: to find out which model a file has, it first copies the whole vocabulary and all merges
//! into trees of values, several times. What this does not know is left to the crate.

use std::fmt;

use ahash::AHashMap;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::Deserialize;
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, PaddingParams, PostProcessorWrapper,
    PreTokenizerWrapper, TokenizerBuilder, TruncationParams,
};

use crate::compact_bpe::{BpeOptions, CompactBpe, Merge, UnknownToken};
use crate::text_list::TextList;
use crate::text_model::TextModel;
use crate::tokenizer::Pipeline;
use crate::vocabulary::Vocabulary;

/// The tokenizer that the crate gives for the same text, but for truncation and padding, which are
/// left out; None where only the crate can tell.
pub fn open(tokenizer_json: &str) -> Option<Pipeline> {
    let file: TokenizerFile = serde_json::from_str(tokenizer_json).ok()?;
    let mut tokenizer = TokenizerBuilder::new()
        .with_normalizer(file.normalizer)
        .with_pre_tokenizer(file.pre_tokenizer)
        .with_post_processor(file.post_processor)
        .with_decoder(file.decoder)
        .with_model(TextModel::Compact(file.model.build()?))
        .build()
        .ok()?;
    // Ids of added tokens depend on the vocabulary, so they come behind it.
    let added = file.added_tokens.into_iter().map(|added| added.token);
    tokenizer.add_tokens(added).ok()?;
    Some(tokenizer)
}

#[derive(Deserialize)]
struct TokenizerFile {
    #[serde(default, rename = "version")]
    _version: Version,
    #[serde(rename = "truncation")]
    _truncation: Option<TruncationParams>,
    #[serde(rename = "padding")]
    _padding: Option<PaddingParams>,
    #[serde(default)]
    added_tokens: Vec<NumberedToken>,
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    post_processor: Option<PostProcessorWrapper>,
    decoder: Option<DecoderWrapper>,
    model: BpeFile,
}

#[derive(Default, Deserialize)]
enum Version {
    #[default]
    #[serde(rename = "1.0")]
    One,
}

#[derive(Deserialize)]
struct NumberedToken {
    #[serde(rename = "id")]
    _id: u32, // the crate asks for it and then counts on its own
    #[serde(flatten)]
    token: AddedToken,
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
    vocab: TokenList,
    merges: MergeList,
}

impl BpeFile {
    fn build(self) -> Option<CompactBpe> {
        let marked = |mark: &Option<String>| mark.as_ref().is_some_and(|text| !text.is_empty());
        if self.dropout.is_some()
            || marked(&self.continuing_subword_prefix)
            || marked(&self.end_of_word_suffix)
        {
            return None;
        }
        let vocabulary = Vocabulary::new(self.vocab.tokens, self.vocab.ids)?;
        let merges = self.merges.build(&vocabulary)?;
        let unknown = match self.unk_token {
            None => None,
            Some(text) => Some(UnknownToken {
                id: vocabulary.id_of(&text)?,
                text,
            }),
        };
        let bytes = self.byte_fallback.unwrap_or(false).then(|| {
            let id_of_byte = |byte| vocabulary.id_of(&format!("<0x{byte:02X}>"));
            Box::new(std::array::from_fn(id_of_byte))
        });
        Some(CompactBpe {
            merges,
            options: BpeOptions {
                unknown,
                fuse_unknown: self.fuse_unk.unwrap_or(false),
                bytes,
                ignore_merges: self.ignore_merges.unwrap_or(false),
            },
            vocabulary,
        })
    }
}

#[derive(Default)]
struct TokenList {
    tokens: TextList,
    ids: Vec<u32>,
}

impl<'de> Deserialize<'de> for TokenList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = TokenList;
            fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
                to.write_str("tokens with their ids")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut list = TokenList::default();
                while map.next_key_seed(Token(&mut list.tokens))?.is_some() {
                    list.ids.push(map.next_value()?);
                }
                Ok(list)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// Reads a token to the end of a list.
struct Token<'a>(&'a mut TextList);

impl<'de> DeserializeSeed<'de> for Token<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.read(deserializer)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum MergeForm {
    Pair, // a list of two tokens
    Line, // in older files: both in a string, a space between them
}

/// Reads the two tokens of a merge to the end of a list.
struct MergePair<'a>(&'a mut TextList);

impl<'de> DeserializeSeed<'de> for MergePair<'_> {
    type Value = MergeForm;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<MergeForm, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MergePair<'_> {
    type Value = MergeForm;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("two tokens")
    }

    fn visit_str<E: Error>(self, line: &str) -> Result<MergeForm, E> {
        // The crate passes over lines that look like the first one of a merges.txt.
        if line.starts_with("#version") {
            return Err(E::custom("a line that may be no merge"));
        }
        let (left, right) = line
            .split_once(' ')
            .filter(|(_, right)| !right.contains(' '))
            .ok_or_else(|| E::custom("a line that is no merge"))?;
        if self.0.push(left) && self.0.push(right) {
            Ok(MergeForm::Line)
        } else {
            Err(E::custom("too many merges"))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<MergeForm, A::Error> {
        let missing = || A::Error::custom("a merge of less than two tokens");
        pair.next_element_seed(Token(self.0))?.ok_or_else(missing)?;
        pair.next_element_seed(Token(self.0))?.ok_or_else(missing)?;
        Ok(MergeForm::Pair) // whoever calls finds out that the list goes on
    }
}

/// The lefts and rights of all merges in turn.
#[derive(Default)]
struct MergeList(TextList);

impl<'de> Deserialize<'de> for MergeList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = MergeList;
            fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
                to.write_str("a list of merges")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut merges = MergeList::default();
                let mut first = None;
                while let Some(form) = list.next_element_seed(MergePair(&mut merges.0))? {
                    if *first.get_or_insert(form) != form {
                        return Err(A::Error::custom("merges of both forms"));
                    }
                }
                Ok(merges)
            }
        }
        deserializer.deserialize_seq(Pairs)
    }
}

impl MergeList {
    /// None where the crate refuses the list: a token is not in the vocabulary.
    fn build(self, vocabulary: &Vocabulary) -> Option<AHashMap<(u32, u32), Merge>> {
        let texts = self.0;
        let count = texts.len() / 2;
        let mut merges = AHashMap::with_capacity(count);
        let mut merged = String::new();
        for rank in 0..count {
            let (left, right) = (texts.get(2 * rank), texts.get(2 * rank + 1));
            merged.clear();
            merged.push_str(left);
            merged.push_str(right);
            let neighbours = (vocabulary.id_of(left)?, vocabulary.id_of(right)?);
            let merge = Merge {
                rank: u32::try_from(rank).ok()?,
                id: vocabulary.id_of(&merged)?,
            };
            merges.insert(neighbours, merge);
        }
        Some(merges)
    }
}
