//! The model of a tokenizer: a compact one where there is one, any of the crate's otherwise.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use tokenizers::models::bpe::BpeTrainer;
use tokenizers::models::{ModelWrapper, TrainerWrapper};
use tokenizers::{Model, Result, Token};

use crate::compact_bpe::CompactBpe;

pub enum TextModel {
    Compact(CompactBpe),
    Any(ModelWrapper),
}

impl TextModel {
    /// What stands for text that has no token.
    pub fn unknown_token(&self) -> Option<String> {
        match self {
            TextModel::Compact(model) => model.options.unknown.clone().map(|token| token.text),
            TextModel::Any(ModelWrapper::BPE(model)) => model.unk_token.clone(),
            TextModel::Any(ModelWrapper::WordPiece(model)) => Some(model.unk_token.clone()),
            TextModel::Any(ModelWrapper::WordLevel(model)) => Some(model.unk_token.clone()),
            TextModel::Any(ModelWrapper::Unigram(_)) => Some("<unk>".to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for TextModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        ModelWrapper::deserialize(deserializer).map(TextModel::Any)
    }
}

impl Model for TextModel {
    type Trainer = TrainerWrapper;

    fn tokenize(&self, piece: &str) -> Result<Vec<Token>> {
        match self {
            TextModel::Compact(model) => Ok(model.tokenize(piece)),
            TextModel::Any(model) => model.tokenize(piece),
        }
    }

    fn token_to_id(&self, token: &str) -> Option<u32> {
        match self {
            TextModel::Compact(model) => model.vocabulary.id_of(token),
            TextModel::Any(model) => model.token_to_id(token),
        }
    }

    fn id_to_token(&self, id: u32) -> Option<String> {
        match self {
            TextModel::Compact(model) => model.vocabulary.token_of(id).map(str::to_string),
            TextModel::Any(model) => model.id_to_token(id),
        }
    }

    fn get_vocab(&self) -> HashMap<String, u32> {
        match self {
            TextModel::Compact(model) => {
                let pairs = model.vocabulary.iter();
                pairs.map(|(token, id)| (token.to_string(), id)).collect()
            }
            TextModel::Any(model) => model.get_vocab(),
        }
    }

    fn get_vocab_size(&self) -> usize {
        match self {
            TextModel::Compact(model) => model.vocabulary.len(),
            TextModel::Any(model) => model.get_vocab_size(),
        }
    }

    fn save(&self, folder: &Path, prefix: Option<&str>) -> Result<Vec<PathBuf>> {
        match self {
            TextModel::Compact(_) => Err("a compact model is not saved".into()),
            TextModel::Any(model) => model.save(folder, prefix),
        }
    }

    fn get_trainer(&self) -> TrainerWrapper {
        match self {
            TextModel::Compact(_) => BpeTrainer::default().into(),
            TextModel::Any(model) => model.get_trainer(),
        }
    }
}
