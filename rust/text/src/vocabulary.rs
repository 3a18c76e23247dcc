//! Tokens and their ids, either found from the other, in tables that open in a few milliseconds.

use ahash::RandomState;
use hashbrown::hash_table::{Entry, HashTable};

use crate::text_list::TextList;

const NO_ENTRY: u32 = u32::MAX;

pub struct Vocabulary {
    tokens: TextList,
    ids: Vec<u32>,           // of each token
    by_text: HashTable<u32>, // places in `tokens`
    by_id: Vec<u32>,         // places in `tokens`, or NO_ENTRY
    hasher: RandomState,
}

impl Vocabulary {
    /// None where a token or an id is there twice, or where ids have such gaps that a table of them
    /// gets out of proportion.
    pub fn new(mut tokens: TextList, ids: Vec<u32>) -> Option<Self> {
        tokens.shrink_to_fit();
        let hasher = RandomState::new();
        let mut by_text = HashTable::with_capacity(tokens.len());
        let id_end = ids.iter().max().map_or(0, |&id| id as usize + 1);
        if id_end > 2 * tokens.len() + 1024 {
            return None;
        }
        let mut by_id = vec![NO_ENTRY; id_end];
        for (place, &id) in ids.iter().enumerate() {
            let token = tokens.get(place);
            let of_id = &mut by_id[id as usize];
            if *of_id != NO_ENTRY {
                return None;
            }
            *of_id = place as u32;
            let same = |&other: &u32| tokens.get(other as usize) == token;
            let hash = |&other: &u32| hasher.hash_one(tokens.get(other as usize));
            match by_text.entry(hasher.hash_one(token), same, hash) {
                Entry::Occupied(_) => return None,
                Entry::Vacant(free) => free.insert(place as u32),
            };
        }
        Some(Vocabulary {
            tokens,
            ids,
            by_text,
            by_id,
            hasher,
        })
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn id_of(&self, token: &str) -> Option<u32> {
        let same = |&place: &u32| self.tokens.get(place as usize) == token;
        let place = self.by_text.find(self.hasher.hash_one(token), same)?;
        Some(self.ids[*place as usize])
    }

    pub fn token_of(&self, id: u32) -> Option<&str> {
        let place = *self.by_id.get(id as usize)?;
        (place != NO_ENTRY).then(|| self.tokens.get(place as usize))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        let ids = self.ids.iter().enumerate();
        ids.map(|(place, &id)| (self.tokens.get(place), id))
    }
}
