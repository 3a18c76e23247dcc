//! Byte pair encoding as the crate `tokenizers` does it, token for token, over tables that open
//! many times faster and take a tenth of its memory: no string for each token, none for each merge.
//! What is rare in models (dropout, marks of a word's inside and end) is left to the crate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ahash::AHashMap;
use tokenizers::Token;

use crate::vocabulary::Vocabulary;

/// What two neighbours become. The merge of the lowest rank comes first.
#[derive(Clone, Copy)]
pub struct Merge {
    pub rank: u32,
    pub id: u32,
}

pub struct CompactBpe {
    pub vocabulary: Vocabulary,
    pub merges: AHashMap<(u32, u32), Merge>, // by the ids of the neighbours
    pub options: BpeOptions,
}

pub struct BpeOptions {
    /// For characters that are no tokens; without it they are left out.
    pub unknown: Option<UnknownToken>,
    /// One unknown token for neighbouring unknown characters.
    pub fuse_unknown: bool,
    /// The tokens of the 256 bytes, in which unknown characters are spelled.
    pub bytes: Option<Box<[Option<u32>; 256]>>,
    /// Text that is a token needs no merges.
    pub ignore_merges: bool,
}

#[derive(Clone)]
pub struct UnknownToken {
    pub text: String,
    pub id: u32,
}

impl CompactBpe {
    /// The tokens of one piece of text; each tells which bytes of the piece it stands for.
    pub fn tokenize(&self, piece: &str) -> Vec<Token> {
        if piece.is_empty() {
            return Vec::new();
        }
        if self.options.ignore_merges {
            if let Some(id) = self.vocabulary.id_of(piece) {
                return vec![Token::new(id, piece.to_string(), (0, piece.len()))];
            }
        }
        let mut word = self.characters(piece);
        word.merge(&self.merges);
        let mut end = 0;
        word.remaining()
            .map(|symbol| {
                let begin = end;
                end += symbol.bytes;
                let text = self.vocabulary.token_of(symbol.id).unwrap_or_default();
                Token::new(symbol.id, text.to_string(), (begin, end))
            })
            .collect()
    }

    /// A symbol for each character.
    fn characters(&self, piece: &str) -> Word {
        let mut word = Word::default();
        // Bytes of unknown text for which the token is still to come. As in the crate it comes
        // before the next known character, and so behind characters that are spelled in bytes.
        let mut pending = 0;
        let unknown = self.options.unknown.as_ref().map(|token| token.id);
        let mut buffer = [0; 4];
        for character in piece.chars() {
            let text: &str = character.encode_utf8(&mut buffer);
            if let Some(id) = self.vocabulary.id_of(text) {
                word.push_some(unknown, std::mem::take(&mut pending));
                word.push(id, text.len());
            } else if let Some(spelled) = self.spelled(text) {
                spelled.for_each(|id| word.push(id, 1));
            } else if unknown.is_some() {
                if !self.options.fuse_unknown {
                    word.push_some(unknown, std::mem::take(&mut pending));
                }
                pending += text.len();
            }
        }
        word.push_some(unknown, pending);
        word
    }

    /// The tokens of the bytes of `text`, where there are all of them.
    fn spelled<'a>(&'a self, text: &'a str) -> Option<impl Iterator<Item = u32> + 'a> {
        let bytes = self.options.bytes.as_ref()?;
        let id = |byte: u8| bytes[usize::from(byte)];
        let all = text.bytes().all(|byte| id(byte).is_some());
        all.then(|| text.bytes().filter_map(id))
    }
}

const NONE: usize = usize::MAX;

struct Symbol {
    id: u32,
    bytes: usize, // none: it has become a part of a symbol before it
    previous: usize,
    next: usize,
}

/// Symbols in a doubly linked list.
#[derive(Default)]
struct Word {
    symbols: Vec<Symbol>,
}

impl Word {
    fn push(&mut self, id: u32, bytes: usize) {
        let place = self.symbols.len();
        let previous = place.checked_sub(1).unwrap_or(NONE);
        if let Some(last) = self.symbols.last_mut() {
            last.next = place;
        }
        self.symbols.push(Symbol {
            id,
            bytes,
            previous,
            next: NONE,
        });
    }

    fn push_some(&mut self, id: Option<u32>, bytes: usize) {
        if let (Some(id), true) = (id, bytes > 0) {
            self.push(id, bytes);
        }
    }

    /// Merges neighbours, the lowest rank first and the leftmost among equals, until none is left.
    fn merge(&mut self, merges: &AHashMap<(u32, u32), Merge>) {
        let of_pair = |symbols: &[Symbol], left: usize, right: usize| {
            merges.get(&(symbols[left].id, symbols[right].id)).copied()
        };
        let mut queue = BinaryHeap::with_capacity(self.symbols.len());
        for left in 1..self.symbols.len() {
            if let Some(merge) = of_pair(&self.symbols, left - 1, left) {
                queue.push(Reverse((merge.rank, left - 1, merge.id)));
            }
        }
        while let Some(Reverse((_, left, id))) = queue.pop() {
            let symbols = &mut self.symbols;
            let right = symbols[left].next;
            // Either side may have become another symbol since.
            let gone = symbols[left].bytes == 0 || right == NONE;
            if gone || of_pair(symbols, left, right).is_none_or(|merge| merge.id != id) {
                continue;
            }
            let next = symbols[right].next;
            symbols[left].id = id;
            symbols[left].bytes += std::mem::take(&mut symbols[right].bytes);
            symbols[left].next = next;
            if next != NONE {
                symbols[next].previous = left;
                if let Some(merge) = of_pair(symbols, left, next) {
                    queue.push(Reverse((merge.rank, left, merge.id)));
                }
            }
            let previous = symbols[left].previous;
            if previous != NONE {
                if let Some(merge) = of_pair(symbols, previous, left) {
                    queue.push(Reverse((merge.rank, previous, merge.id)));
                }
            }
        }
    }

    fn remaining(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(|symbol| symbol.bytes > 0)
    }
}
