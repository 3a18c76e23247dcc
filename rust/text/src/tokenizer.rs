//! A tokenizer.json opened with Hugging Face's `tokenizers`.

use std::collections::HashSet;

use serde_json::json;
use tokenizers::models::ModelWrapper;
use tokenizers::tokenizer::{
    Model, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};
use tokenizers::{
    DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, TokenizerImpl,
};

use crate::bpe_file;
use crate::components::refused_part;
use crate::text_model::TextModel;

/// The crate's tokenizer, over models of our own too.
pub type Pipeline = TokenizerImpl<
    TextModel,
    NormalizerWrapper,
    PreTokenizerWrapper,
    PostProcessorWrapper,
    DecoderWrapper,
>;

/// What a token is to the one who turns ids into text as they come.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// The id is not in the vocabulary; Hugging Face's decode passes over it.
    Absent = 0,
    Text = 1,
    /// A control token: decode can leave it out.
    Special = 2,
    /// `<0xE2>` of a byte-fallback decoder: a run of these becomes characters as a whole.
    Byte = 3,
}

pub struct TextTokenizer {
    tokenizer: Pipeline,
    special_ids: HashSet<u32>,
    byte_fallback: bool,
}

impl TextTokenizer {
    pub fn open(tokenizer_json: &str) -> Result<Self, String> {
        let mut tokenizer = match bpe_file::open(tokenizer_json) {
            Some(tokenizer) => tokenizer,
            None => serde_json::from_str(tokenizer_json).map_err(|error| {
                refused_part(tokenizer_json).unwrap_or_else(|| error.to_string())
            })?,
        };
        // Left over from training; transformers switches both off for every call.
        tokenizer
            .with_truncation(None)
            .map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        make_deterministic(&mut tokenizer);

        let special_ids = tokenizer
            .get_added_tokens_decoder()
            .iter()
            .filter(|(_, token)| token.special)
            .map(|(id, _)| *id)
            .collect();
        let byte_fallback = tokenizer
            .token_to_id("<0x41>")
            .and_then(|id| tokenizer.decode(&[id], false).ok())
            .is_some_and(|text| text == "A");
        Ok(TextTokenizer {
            tokenizer,
            special_ids,
            byte_fallback,
        })
    }

    /// `{"vocab_size": n, "specials": [spelling, ...], "prefix": [id, ...], "suffix": [id, ...]}`:
    /// the control tokens, and what the post-processor puts before and behind a text.
    pub fn describe(&self) -> Result<String, String> {
        let added = self.tokenizer.get_added_tokens_decoder();
        let mut specials: Vec<&str> = self
            .special_ids
            .iter()
            .map(|id| added[id].content.as_str())
            .collect();
        specials.sort_unstable();
        let (prefix, suffix) = self.surroundings()?;
        let description = json!({
            "vocab_size": self.tokenizer.get_vocab_size(true),
            "specials": specials,
            "prefix": prefix,
            "suffix": suffix,
        });
        Ok(description.to_string())
    }

    pub fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, String> {
        let encoding = self
            .tokenizer
            .encode_fast(text, add_special)
            .map_err(|error| error.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Encodes `text` as if the character `mark` were not there, except that no added token is
    /// found across one: a marked spelling of a control token is encoded as the characters it is.
    /// Otherwise step by step what `Tokenizer::encode` does. Fails where the model itself still
    /// turns marked characters into a control token.
    pub fn encode_marked(
        &self,
        text: &str,
        add_special: bool,
        mark: char,
    ) -> Result<Vec<u32>, String> {
        let say = |error: tokenizers::Error| error.to_string();
        let mut pieces = self
            .tokenizer
            .get_added_vocabulary()
            .extract_and_normalize(self.tokenizer.get_normalizer(), text);
        let meant = self.count_specials(&pieces);
        pieces
            .split(|_, mut piece| {
                piece.filter(|character| character != mark);
                Ok(std::iter::once(piece))
            })
            .map_err(say)?;
        if let Some(pre_tokenizer) = self.tokenizer.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut pieces).map_err(say)?;
        }
        let model = self.tokenizer.get_model();
        pieces
            .tokenize(|piece| model.tokenize(piece.get()))
            .map_err(say)?;
        if text.contains(mark) && self.count_specials(&pieces) > meant {
            return Err(
                "the text spells a control token that this tokenizer cannot write as text"
                    .to_string(),
            );
        }
        let encoding = pieces
            .into_encoding(None, 0, OffsetType::None)
            .map_err(say)?;
        let encoding = self
            .tokenizer
            .post_process(encoding, None, add_special)
            .map_err(say)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Text of `ids`, as Hugging Face's decode gives it: ids outside the vocabulary give nothing.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, String> {
        self.tokenizer
            .decode(ids, skip_special)
            .map_err(|error| error.to_string())
    }

    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    pub fn kind_of(&self, id: u32) -> TokenKind {
        match self.tokenizer.id_to_token(id) {
            None => TokenKind::Absent,
            Some(_) if self.special_ids.contains(&id) => TokenKind::Special,
            Some(token) if self.byte_fallback && is_byte_token(&token) => TokenKind::Byte,
            Some(_) => TokenKind::Text,
        }
    }

    /// Control tokens among the tokens of `pieces` so far, the unknown token left out: a model may
    /// give that for any text.
    fn count_specials(&self, pieces: &PreTokenizedString) -> usize {
        let unknown = self.unknown_id();
        pieces
            .get_splits(OffsetReferential::Original, OffsetType::None)
            .iter()
            .filter_map(|(_, _, tokens)| tokens.as_ref())
            .flatten()
            .filter(|token| self.special_ids.contains(&token.id) && Some(token.id) != unknown)
            .count()
    }

    fn unknown_id(&self) -> Option<u32> {
        self.tokenizer
            .token_to_id(&self.tokenizer.get_model().unknown_token()?)
    }

    /// The ids that the post-processor puts before and behind a text.
    fn surroundings(&self) -> Result<(Vec<u32>, Vec<u32>), String> {
        let plain = self.encode("a", false)?;
        let whole = self.encode("a", true)?;
        let start = (0..=whole.len().saturating_sub(plain.len()))
            .find(|&start| whole[start..].starts_with(&plain))
            .unwrap_or(0);
        let end = (start + plain.len()).min(whole.len());
        Ok((whole[..start].to_vec(), whole[end..].to_vec()))
    }
}

/// BPE dropout is noise for training; with it the same text would get other ids each time.
fn make_deterministic(tokenizer: &mut Pipeline) {
    if let TextModel::Any(ModelWrapper::BPE(model)) = tokenizer.get_model() {
        if model.dropout.is_some() {
            let mut model = model.clone();
            model.dropout = None;
            tokenizer.with_model(TextModel::Any(model.into()));
        }
    }
}

/// The same rule as that of the ByteFallback decoder.
fn is_byte_token(token: &str) -> bool {
    token.len() == 6
        && token.starts_with("<0x")
        && token.ends_with('>')
        && u8::from_str_radix(&token[3..5], 16).is_ok()
}
