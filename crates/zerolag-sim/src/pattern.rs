// SPDX-License-Identifier: GPL-2.0-only
//! Patterns for names of tasks, as shells have them: `*` stands for any characters, also none.

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
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        // Whatever comes between stars may as well be found as early as possible.
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }
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
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), matches, "{pattern} {name}");
        }
    }

    fn plain(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|skip| plain(rest, &name[skip..])),
            Some((c, rest)) => name.split_first().is_some_and(|(n, name)| n == c && plain(rest, name)),
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_trying_everything(pattern in "[ab*]{0,6}", name in "[ab]{0,8}") {
            prop_assert_eq!(Pattern::new(pattern.clone()).matches(&name), plain(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
