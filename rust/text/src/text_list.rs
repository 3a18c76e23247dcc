//! Strings without an allocation for each: tens of thousands of them in two blocks of memory.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// Strings one behind the other.
#[derive(Default)]
pub struct TextList {
    text: String,
    ends: Vec<u32>, // of each string, in `text`
}

impl TextList {
    /// False where the list is too long; it is unchanged then.
    #[must_use]
    pub fn push(&mut self, text: &str) -> bool {
        let Ok(end) = u32::try_from(self.text.len() + text.len()) else {
            return false;
        };
        self.text.push_str(text);
        self.ends.push(end);
        true
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, place: usize) -> &str {
        let begin = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.text[begin as usize..self.ends[place] as usize]
    }

    pub fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Reads a string behind the others.
    pub fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        struct Behind<'a>(&'a mut TextList);
        impl Visitor<'_> for Behind<'_> {
            type Value = ();
            fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
                to.write_str("a string")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
                let fits = self.0.push(text);
                fits.then_some(()).ok_or_else(|| E::custom("too much text"))
            }
        }
        from.deserialize_str(Behind(self))
    }
}
