// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs as hexadecimal masks, in the kernel's and in hwloc's writing.

use zerolag_core::cpu_set::{CPUS_MAX, CpuSet};
use zerolag_core::ids::CpuId;

/// What a mask looks like, for messages.
pub(super) const MASK: &str = "words of 32 bits in hexadecimal joined by commas, CPUs 0 to 8191";

/// Reads a mask: words of 32 bits joined by commas, the last has CPUs 0 to 31. hwloc puts `0x` before a word
/// and leaves out words that are zero.
pub(super) fn parse_mask(text: &str) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for (i, word) in text.trim().rsplit(',').enumerate() {
        let digits = word.trim();
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        let bits = match digits {
            "" => 0,
            _ if digits.len() > 8 || digits.starts_with('+') => return None,
            _ => u32::from_str_radix(digits, 16).ok()?,
        };
        for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
            let cpu = i.checked_mul(32)?.checked_add(bit).filter(|&cpu| cpu < CPUS_MAX)?;
            set.insert(CpuId(cpu as u32));
        }
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_read_from_the_right() {
        let cases = [
            ("00000000,0000000f", "0-3"),
            ("0x80000001", "0,31"),
            ("0x000000ff,,0x1", "0,64-71"),
            ("3,00000000", "32-33"),
            ("0", ""),
            ("", ""),
        ];
        for (mask, list) in cases {
            assert_eq!(parse_mask(mask).unwrap().to_string(), list, "{mask}");
        }
        let far = format!("1{}", ",00000000".repeat(255));
        assert_eq!(parse_mask(&far).unwrap().to_string(), "8160");
    }

    #[test]
    fn other_texts_are_refused() {
        let far = format!("1{}", ",00000000".repeat(256));
        for mask in ["x", "0-3", "100000000", "0xf...f", "+1", "-1", &far] {
            assert_eq!(parse_mask(mask), None, "{mask}");
        }
    }
}
