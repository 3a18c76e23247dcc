//! The compact model and the one of the crate `tokenizers` are one and the same to whoever asks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{json, Value};
use tokenizers::{Model, Tokenizer};

use crate::bpe_file;
use crate::tokenizer::{Pipeline, TextTokenizer};

/// Byte-level and byte-fallback vocabularies, merges in pairs and in lines.
const TOKENIZERS: [&str; 9] = [
    "models/tiny",
    "tests/data/tiny/gemma2",
    "tests/data/tiny/llama",
    "tests/data/tiny/mistral",
    "tests/data/tiny/phi3",
    "tests/data/tiny/qwen2",
    "tests/data/tiny/smollm3",
    "tests/data/tokenizers/llama2_legacy",
    "tests/data/tokenizers/llama2_metaspace",
];

/// Vocabularies of up to 262,144 tokens, where scripts/get-tokenizers has put them.
const PUBLISHED: [&str; 3] = [
    "third_party/tokenizers/gemma3",
    "third_party/tokenizers/llama3_1",
    "third_party/tokenizers/qwen3",
];

fn path_of(folder: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(folder).join("tokenizer.json")
}

fn tokenizer_json(folder: &str) -> String {
    std::fs::read_to_string(path_of(folder)).unwrap()
}

/// A model whose tokens overlap in every way; `changes` replace its fields.
fn small_model(changes: Value) -> String {
    let mut model = json!({
        "type": "BPE",
        "unk_token": "<unk>",
        "vocab": {
            "<unk>": 0, "a": 1, "b": 2, "c": 3, "ab": 4, "bc": 5, "abc": 6, "abab": 7, "é": 8,
            "aé": 9, "<0x64>": 10, "<0xC3>": 11, "<0xBC>": 12, "bab": 13, "aa": 14,
            "cab": 15
        },
        "merges": [
            ["a", "b"], ["b", "c"], ["ab", "c"], ["ab", "ab"], ["a", "é"], ["b", "ab"], ["a", "a"],
            ["a", "bc"]
        ],
    });
    for (name, value) in changes.as_object().unwrap() {
        model[name] = value.clone();
    }
    json!({"version": "1.0", "added_tokens": [], "model": model}).to_string()
}

/// SplitMix64: the same texts on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % limit as u64) as usize
    }

    /// Words, digits, runs of spaces, other scripts, emoji, any character at all, and tokens of the
    /// vocabulary, control tokens among them.
    fn text(&mut self, tokens: &[String]) -> String {
        const WORDS: [&str; 16] = [
            " the",
            "The",
            "ing",
            "don't",
            " I'LL",
            "naïve",
            "Straße",
            "привет",
            "こんにちは",
            "한국어",
            "مرحبا",
            "👩‍👩‍👧",
            "e\u{301}",
            "\r\n",
            "\t\t",
            "\u{a0}",
        ];
        let mut text = String::new();
        for _ in 0..self.next(12) {
            match self.next(7) {
                0 => text += WORDS[self.next(WORDS.len())],
                1 => text += &" ".repeat(self.next(20)),
                2 => text += &self.next(1_000_000).to_string(),
                3 => text.extend(char::from_u32(self.next(0x11_0000) as u32)),
                4 => text += &"aab\n".repeat(self.next(8))[..],
                5 => text += &tokens[self.next(tokens.len())],
                _ => text.extend((0..self.next(30)).map(|_| (32 + self.next(95) as u8) as char)),
            }
        }
        text
    }
}

fn sorted_tokens(tokenizer: &Tokenizer) -> Vec<String> {
    BTreeSet::from_iter(tokenizer.get_vocab(true).into_keys())
        .into_iter()
        .collect()
}

fn expect_same_vocabulary(ours: &Pipeline, theirs: &Tokenizer) {
    assert_eq!(ours.get_vocab_size(true), theirs.get_vocab_size(true));
    assert_eq!(ours.get_vocab(true), theirs.get_vocab(true));
    let end = theirs.get_vocab(true).into_values().max().unwrap() + 10;
    for id in 0..end {
        assert_eq!(ours.id_to_token(id), theirs.id_to_token(id), "id {id}");
    }
    for token in theirs.get_vocab(true).keys() {
        assert_eq!(ours.token_to_id(token), theirs.token_to_id(token));
    }
}

fn expect_same_encoding(ours: &Pipeline, theirs: &Tokenizer, text: &str) {
    for add_special in [false, true] {
        let encoding = ours.encode(text, add_special).unwrap();
        // Ids, tokens, offsets, words and masks.
        assert_eq!(
            encoding,
            theirs.encode(text, add_special).unwrap(),
            "{text:?}"
        );
        let ids = encoding.get_ids();
        for skip_special in [false, true] {
            assert_eq!(
                ours.decode(ids, skip_special).unwrap(),
                theirs.decode(ids, skip_special).unwrap(),
                "{text:?}"
            );
        }
    }
    // The model alone: no word of a pre-tokenizer limits what it sees.
    let piece = ours.get_model().tokenize(text).unwrap();
    assert_eq!(
        piece,
        theirs.get_model().tokenize(text).unwrap(),
        "{text:?}"
    );
}

fn expect_same(json: &str, seed: u64, texts: usize) {
    let ours = bpe_file::open(json).unwrap();
    let theirs = Tokenizer::from_str(json).unwrap();
    expect_same_vocabulary(&ours, &theirs);
    let tokens = sorted_tokens(&theirs);
    let mut random = Random(seed);
    for _ in 0..texts {
        expect_same_encoding(&ours, &theirs, &random.text(&tokens));
    }
}

#[test]
fn tokenizers_of_models_give_the_same_tokens_offsets_and_texts() {
    for (seed, folder) in TOKENIZERS.into_iter().enumerate() {
        expect_same(&tokenizer_json(folder), seed as u64, 1000);
    }
}

#[test]
fn published_tokenizers_give_the_same_tokens_offsets_and_texts() {
    let there = PUBLISHED
        .into_iter()
        .filter(|folder| path_of(folder).exists());
    for (seed, folder) in there.enumerate() {
        expect_same(&tokenizer_json(folder), seed as u64, 1000);
    }
}

#[test]
fn every_option_has_the_meaning_it_has_in_the_crate() {
    let folders = [
        "models/tiny",
        "tests/data/tiny/llama",
        "tests/data/tiny/gemma2",
    ];
    for folder in folders {
        for options in 0..16 {
            let is_on = |bit: u32| options >> bit & 1 == 1;
            let mut file: Value = serde_json::from_str(&tokenizer_json(folder)).unwrap();
            let some_token = file["model"]["vocab"].as_object().unwrap().keys().next();
            let unknown = some_token.filter(|_| is_on(3)).cloned();
            let model = &mut file["model"];
            model["ignore_merges"] = is_on(0).into();
            model["byte_fallback"] = is_on(1).into();
            model["fuse_unk"] = is_on(2).into();
            model["unk_token"] = unknown.into();
            expect_same(&file.to_string(), options, 200);
        }
    }
}

/// All strings over a few characters: known ones, one that is spelled in bytes, unknown ones.
#[test]
fn every_short_text_gives_the_same_tokens() {
    const ALPHABET: [char; 7] = ['a', 'b', 'c', 'é', 'd', 'ü', 'x'];
    for options in 0..16 {
        let is_on = |bit: u32| options >> bit & 1 == 1;
        let json = small_model(json!({
            "ignore_merges": is_on(0),
            "byte_fallback": is_on(1),
            "fuse_unk": is_on(2),
            "unk_token": if is_on(3) { Some("<unk>") } else { None },
        }));
        let ours = bpe_file::open(&json).unwrap();
        let theirs = Tokenizer::from_str(&json).unwrap();
        for length in 0..6 {
            for mut number in 0..ALPHABET.len().pow(length) {
                let text: String = (0..length)
                    .map(|_| {
                        let character = ALPHABET[number % ALPHABET.len()];
                        number /= ALPHABET.len();
                        character
                    })
                    .collect();
                assert_eq!(
                    ours.get_model().tokenize(&text).unwrap(),
                    theirs.get_model().tokenize(&text).unwrap(),
                    "{text:?}"
                );
            }
        }
    }
}

#[test]
fn long_runs_and_long_words_give_the_same_tokens() {
    for folder in TOKENIZERS {
        let json = tokenizer_json(folder);
        let ours = bpe_file::open(&json).unwrap();
        let theirs = Tokenizer::from_str(&json).unwrap();
        for run in ["a", "ab", " ", "\n", "0", "é", "👍", "=-", "\u{378}"] {
            for count in [255, 256, 257, 3000] {
                expect_same_encoding(&ours, &theirs, &run.repeat(count));
            }
        }
    }
}

#[test]
fn older_files_have_their_merges_in_lines() {
    let lines = json!({"merges": ["a b", "b c", "ab c", "ab ab"]});
    let pairs = json!({"merges": [["a", "b"], ["b", "c"], ["ab", "c"], ["ab", "ab"]]});
    expect_same(&small_model(lines.clone()), 1, 100);
    let tokens = |changes| {
        let tokenizer = bpe_file::open(&small_model(changes)).unwrap();
        tokenizer.get_model().tokenize("abcababc").unwrap()
    };
    assert_eq!(tokens(lines), tokens(pairs));
}

#[test]
fn escaped_text_is_read() {
    let json = r#"{"version": "1.0", "model": {"type": "BPE",
        "vocab": {"\u00e9": 0, "\"": 1, "\u00e9\"": 2}, "merges": [["\u00e9", "\""]]}}"#;
    expect_same(json, 1, 100);
    let tokenizer = bpe_file::open(json).unwrap();
    assert_eq!(tokenizer.encode("é\"", false).unwrap().get_ids(), [2]);
}

#[test]
fn of_two_merges_of_one_pair_the_last_counts() {
    let merges = json!({"merges": [["a", "b"], ["b", "c"], ["a", "b"]]});
    expect_same(&small_model(merges), 1, 100);
}

/// What is opened by the crate, and so means what it means there.
#[test]
fn what_is_rare_is_left_to_the_crate() {
    for changes in [
        json!({"dropout": 0.0}),
        json!({"continuing_subword_prefix": "##", "merges": []}),
        json!({"end_of_word_suffix": "</w>"}),
        json!({"unk_token": "<missing>"}),
        json!({"vocab": {"a": 0, "b": 0}, "merges": []}), // either token may be the one of the id
        json!({"vocab": {"a": 4_000_000_000_u32}, "merges": [], "unk_token": null}),
        json!({"merges": ["#version: 0.2", "a b"]}),
    ] {
        let json = small_model(changes.clone());
        assert!(bpe_file::open(&json).is_none(), "{changes}");
        let theirs = Tokenizer::from_str(&json);
        assert_eq!(
            TextTokenizer::open(&json).is_ok(),
            theirs.is_ok(),
            "{changes}"
        );
    }
}

#[test]
fn what_the_crate_refuses_is_refused() {
    for changes in [
        json!({"merges": [["a", "x"]]}),
        json!({"merges": [["c", "a"]]}), // no token for both
        json!({"merges": [["a"]]}),
        json!({"merges": [["a", "b", "c"]]}),
        json!({"merges": ["ab"]}),
        json!({"merges": ["a b c"]}),
        json!({"merges": ["a b", ["b", "c"]]}),
        json!({"merges": null}),
        json!({"vocab": {"a": -1}}),
        json!({"vocab": {"a": 1.5}}),
        json!({"vocab": null}),
        json!({"type": "none"}),
    ] {
        let json = small_model(changes.clone());
        assert!(Tokenizer::from_str(&json).is_err(), "{changes}");
        assert!(TextTokenizer::open(&json).is_err(), "{changes}");
    }
    for version in [json!("2.0"), json!(null)] {
        let mut file: Value = serde_json::from_str(&small_model(json!({}))).unwrap();
        file["version"] = version;
        assert!(Tokenizer::from_str(&file.to_string()).is_err());
        assert!(TextTokenizer::open(&file.to_string()).is_err());
    }
}
