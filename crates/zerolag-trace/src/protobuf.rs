// SPDX-License-Identifier: GPL-2.0-only
//! The little of protocol buffers that a trace needs: numbers and length-delimited pieces, both ways.
//!
//! Wire format: each field is a key (`number << 3 | type`) as a varint, then a varint (type 0) or a length
//! as a varint and that many bytes (type 2).

/// A message being built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;
const FIXED32: u32 = 5;

impl Message {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// `uint32`, `uint64`, `bool` and enums.
    pub(crate) fn unsigned(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// `int32` and `int64`: negative numbers take ten bytes.
    pub(crate) fn signed(&mut self, field: u32, value: i64) -> &mut Self {
        self.unsigned(field, value.cast_unsigned())
    }

    pub(crate) fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.key(field, FIXED64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn text(&mut self, field: u32, value: &str) -> &mut Self {
        self.bytes(field, value.as_bytes())
    }

    pub(crate) fn message(&mut self, field: u32, value: &Self) -> &mut Self {
        self.bytes(field, &value.bytes)
    }

    pub(crate) fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Self {
        self.key(field, LENGTH_DELIMITED);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    fn key(&mut self, field: u32, kind: u32) {
        self.varint(u64::from(field << 3 | kind));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

/// The fields of a message in the order in which they stand; ends early where the bytes make no sense.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

/// What a field holds, by its kind on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(crate) const fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Bytes(_) => None,
        }
    }

    pub(crate) const fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Number(_) => None,
        }
    }
}

impl<'a> Fields<'a> {
    pub(crate) const fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// True if everything up to the end made sense, once all fields have been taken.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.rest.is_empty()
    }

    fn fixed(rest: &'a [u8], len: usize) -> Option<(Value<'a>, &'a [u8])> {
        let (bytes, rest) = rest.split_at_checked(len)?;
        let number = bytes.iter().rev().fold(0, |value, &b| value << 8 | u64::from(b));
        Some((Value::Number(number), rest))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, rest) = varint(self.rest)?;
        let field = u32::try_from(key >> 3).ok().filter(|&field| field > 0)?;
        let (value, rest) = match key as u32 & 7 {
            VARINT => {
                let (number, rest) = varint(rest)?;
                (Value::Number(number), rest)
            }
            FIXED64 => Self::fixed(rest, 8)?,
            FIXED32 => Self::fixed(rest, 4)?,
            LENGTH_DELIMITED => {
                let (len, rest) = varint(rest)?;
                let (bytes, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
                (Value::Bytes(bytes), rest)
            }
            _ => return None,
        };
        self.rest = rest;
        Some((field, value))
    }
}

/// The number at the beginning of `bytes` and what follows it.
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((value, &bytes[i + 1..]));
        }
    }
    None
}

/// The numbers of a packed repeated field.
pub(crate) fn packed(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (value, behind) = varint(rest)?;
        rest = behind;
        Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification() {
        // https://protobuf.dev/programming-guides/encoding
        assert_eq!(Message::default().unsigned(1, 150).as_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(
            Message::default().text(2, "testing").as_bytes(),
            [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]
        );
        let mut inner = Message::default();
        inner.unsigned(1, 150);
        assert_eq!(Message::default().message(3, &inner).as_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(
            Message::default().signed(1, -2).as_bytes(),
            [0x08, 0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 1]
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let mut message = Message::default();
        message.unsigned(1, u64::MAX).signed(2, -1).text(300, "a").double(4, 1.5);
        let mut fields = Fields::new(message.as_bytes());
        let all: Vec<_> = fields.by_ref().collect();
        assert!(fields.is_exhausted());
        assert_eq!(
            all,
            [
                (1, Value::Number(u64::MAX)),
                (2, Value::Number(u64::MAX)),
                (300, Value::Bytes(b"a")),
                (4, Value::Number(1.5f64.to_bits())),
            ]
        );
        for end in 1..message.as_bytes().len() {
            let mut part = Fields::new(&message.as_bytes()[..end]);
            assert!(part.by_ref().count() < 4 && (part.is_exhausted() || part.next().is_none()));
        }
    }
}
