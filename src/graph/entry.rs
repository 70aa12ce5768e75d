//! One entry of an object in JSON, without the others.
//!
//! Promises: the last of several entries of one key counts, keys may be spelled with escapes; what stands under other keys is passed over, whatever it is.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// Returns what an object holds under a key; `None` where it holds nothing there but a text, or is not an object.
pub fn text_under(object: &[u8], key: &str) -> Option<String> {
    let mut json = serde_json::Deserializer::from_slice(object);
    let found = Under(key).deserialize(&mut json).ok()?;
    json.end().ok()?;
    found.and_then(|v| v.as_str().map(str::to_string))
}

/// The value of one key.
struct Under<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for Under<'_> {
    type Value = Option<serde_json::Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Under<'_> {
    type Value = Option<serde_json::Value>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = entries.next_key_seed(Is(self.0))? {
            match is_it {
                true => found = Some(entries.next_value()?),
                false => drop(entries.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// Whether a key is the one.
struct Is<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_entry_is_what_the_whole_object_has() {
        let object = br#"{"a": {"stream": "no"}, "stre\u0061m": "x", "b": ["stream"], "stream": "y", "c": 1e400}"#;
        assert_eq!(text_under(object, "stream").as_deref(), Some("y"));
        assert_eq!(text_under(object, "a"), None);
        assert_eq!(text_under(object, "d"), None);
        assert_eq!(text_under(br#"{"k": "1"} x"#, "k"), None);
        assert_eq!(text_under(br#"["k"]"#, "k"), None);
        assert_eq!(text_under(br#"{"k": "1", "k": 2}"#, "k"), None);
    }
}
