// SPDX-License-Identifier: GPL-2.0-only
//! The little of protocol buffers that a trace needs: numbers and length-delimited pieces.
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
        self.delimited(field, value.as_bytes())
    }

    pub(crate) fn message(&mut self, field: u32, value: &Self) -> &mut Self {
        self.delimited(field, &value.bytes)
    }

    fn delimited(&mut self, field: u32, value: &[u8]) -> &mut Self {
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
}
