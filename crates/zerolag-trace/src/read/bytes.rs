// SPDX-License-Identifier: GPL-2.0-only
//! Numbers and texts in binary recordings, in the byte order of the machine that recorded.

/// Byte order of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endian {
    Little,
    Big,
}

impl Endian {
    /// The number in up to eight bytes.
    pub(crate) fn number(self, bytes: &[u8]) -> u64 {
        let shift = |value: u64, &b: &u8| value << 8 | u64::from(b);
        match self {
            Self::Little => bytes.iter().rev().fold(0, shift),
            Self::Big => bytes.iter().fold(0, shift),
        }
    }
}

/// A piece of a recording that is read from the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    pub(crate) rest: &'a [u8],
    pub(crate) endian: Endian,
}

impl<'a> Bytes<'a> {
    pub(crate) const fn new(rest: &'a [u8], endian: Endian) -> Self {
        Self { rest, endian }
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// A piece whose length was read as a 64-bit number.
    pub(crate) fn take_long(&mut self, len: u64) -> Option<&'a [u8]> {
        self.take(usize::try_from(len).ok()?)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|b| self.endian.number(b) as u16)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|b| self.endian.number(b) as u32)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|b| self.endian.number(b))
    }

    /// A text that ends with a zero byte, which is read as well.
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|&b| b == 0)?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(text)
    }

    /// Steps over `tag` if it comes next.
    pub(crate) fn tag(&mut self, tag: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(tag)?;
        Some(())
    }
}

/// The text in a field of fixed length: up to the first zero byte.
pub(crate) fn until_zero(field: &[u8]) -> &[u8] {
    field.split(|&b| b == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders_and_no_reading_past_the_end() {
        let bytes = [1, 2, 3, 4, b'a', 0, 5];
        let mut little = Bytes::new(&bytes, Endian::Little);
        assert_eq!((little.u32(), little.text(), little.u16()), (Some(0x0403_0201), Some(&b"a"[..]), None));
        let mut big = Bytes::new(&bytes, Endian::Big);
        assert_eq!((big.u16(), big.u64(), big.u8()), (Some(0x0102), None, Some(3)));
        assert_eq!(until_zero(b"hog\0garbage"), b"hog");
    }
}
