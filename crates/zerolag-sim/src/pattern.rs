// SPDX-License-Identifier: GPL-2.0-only
//! Patterns for names of tasks, as shells have them: `*` stands for any characters, also none, `?` for one,
//! `[a-z_]` for one of these, `[!a-z]` for one that is none of these.

use std::fmt;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// The pattern with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether the name matches as a whole.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name): (Vec<char>, Vec<char>) = (self.0.chars().collect(), name.chars().collect());
        let (mut p, mut n) = (0, 0);
        // Where to go on if what follows the last star does not fit: one character further in the name.
        let mut retry = None;
        loop {
            match pattern.get(p) {
                Some('*') => {
                    p += 1;
                    retry = Some((p, n));
                    continue;
                }
                Some(_) => {
                    if let Some(len) = name.get(n).and_then(|&c| one(&pattern[p..], c)) {
                        p += len;
                        n += 1;
                        continue;
                    }
                }
                None if n == name.len() => return true,
                None => {}
            }
            match &mut retry {
                Some((after_star, from)) if *from < name.len() => {
                    *from += 1;
                    (p, n) = (*after_star, *from);
                }
                _ => return false,
            }
        }
    }
}

/// How long the first element of the pattern is, if it stands for the character.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern[0] {
        '?' => Some(1),
        '[' => match class(pattern, c) {
            Some((len, fits)) => fits.then_some(len),
            // Without an end it is a bracket like any other character.
            None => (c == '[').then_some(1),
        },
        literal => (literal == c).then_some(1),
    }
}

/// The length of the class at the beginning of the pattern, and whether it contains the character.
fn class(pattern: &[char], c: char) -> Option<(usize, bool)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = if negated { 2 } else { 1 };
    // A bracket that comes first is a member.
    let end = pattern.iter().skip(first + 1).position(|&e| e == ']')? + first + 1;
    let mut members = &pattern[first..end];
    let mut contains = false;
    while let Some((&from, rest)) = members.split_first() {
        if let ['-', to, rest @ ..] = rest {
            contains |= (from..=*to).contains(&c);
            members = rest;
        } else {
            contains |= from == c;
            members = rest;
        }
    }
    Some((end + 1, contains != negated))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, matches) in [
            ("hog", "hog", true),
            ("hog", "hogA", false),
            ("hog*", "hog", true),
            ("sch*", "schbench-worker", true),
            ("*worker", "schbench-worker", true),
            ("*b*w*", "schbench-worker", true),
            ("a*a", "a", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("p[0-9]*", "p10", true),
            ("p[0-9]*", "perf", false),
            ("[!a-c]?", "dx", true),
            ("[!a-c]?", "cx", false),
            ("a[]x-]", "a]", true),
            ("a[]x-]", "a-", true),
            ("kworker/[", "kworker/[", true),
            ("[*", "[x", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), matches, "{pattern} {name}");
        }
    }

    /// As [`Pattern::matches`], without classes.
    fn plain(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|skip| plain(rest, &name[skip..])),
            Some((b'?', rest)) => name.split_first().is_some_and(|(_, name)| plain(rest, name)),
            Some((c, rest)) => name.split_first().is_some_and(|(n, name)| n == c && plain(rest, name)),
        }
    }

    proptest! {
        #[test]
        fn no_pattern_panics(pattern in r"[a\\[\\]!*?-]{0,8}", name in "[a\\[-]{0,8}") {
            _ = Pattern::new(pattern).matches(&name);
        }

        #[test]
        fn matching_agrees_with_trying_everything(pattern in "[ab*?]{0,6}", name in "[ab]{0,8}") {
            prop_assert_eq!(Pattern::new(pattern.clone()).matches(&name), plain(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
