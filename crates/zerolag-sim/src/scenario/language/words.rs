// SPDX-License-Identifier: GPL-2.0-only
//! The text of a program as words and signs.

/// A word or sign, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) at: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'t> {
    /// Anything between spaces and signs.
    Word(&'t str),
    /// `{`, `}`, `(`, `)` or `,`.
    Sign(char),
    /// The end of a line, a semicolon, or the end of the text.
    End,
}

/// Splits a text. A `#` and the rest of its line count for nothing.
pub(super) fn split(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let kind = match c {
            '\n' | ';' => Kind::End,
            '{' | '}' | '(' | ')' | ',' => Kind::Sign(c),
            '#' => {
                while rest.next_if(|&(_, c)| c != '\n').is_some() {}
                continue;
            }
            c if c.is_whitespace() => continue,
            _ => {
                let mut end = at + c.len_utf8();
                while let Some((i, c)) = rest.next_if(|&(_, c)| !c.is_whitespace() && !"{}(),;#".contains(c))
                {
                    end = i + c.len_utf8();
                }
                Kind::Word(&text[at..end])
            }
        };
        tokens.push(Token { kind, at });
    }
    tokens.push(Token { kind: Kind::End, at: text.len() });
    tokens
}
