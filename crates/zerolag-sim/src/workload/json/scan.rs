// SPDX-License-Identifier: GPL-2.0-only
//! From characters to tokens.

use super::error::JsonErrorKind as Kind;
use super::{Dialect, JsonError, Position};

/// A piece of text that stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// One of `{ } [ ] : ,`.
    Mark(char),
    Null,
    Bool(bool),
    Int(i64),
    Real(String),
    Text(String),
    /// End of the text.
    End,
}

impl Token {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Mark(c) => format!("'{c}'"),
            Self::Null => "null".into(),
            Self::Bool(truth) => truth.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Real(text) => text.clone(),
            Self::Text(text) => format!("the string {text:?}"),
            Self::End => "the end of the text".into(),
        }
    }
}

pub(super) struct Scanner<'a> {
    rest: &'a str,
    at: Position,
    dialect: Dialect,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, dialect: Dialect) -> Self {
        Self { rest: text, at: Position { line: 1, column: 1 }, dialect }
    }

    /// The next token and where it begins.
    pub(super) fn next(&mut self) -> Result<(Position, Token), JsonError> {
        self.skip_blank()?;
        let at = self.at;
        let token = match self.peek() {
            None => Token::End,
            Some(c @ ('{' | '}' | '[' | ']' | ':' | ',')) => {
                self.advance();
                Token::Mark(c)
            }
            Some(quote @ ('"' | '\'')) => {
                self.advance();
                Token::Text(self.string(at, quote)?)
            }
            Some('-' | '0'..='9') => self.number(at)?,
            Some(c) if c.is_ascii_alphabetic() => self.word(at)?,
            Some(c) => {
                let kind = Kind::Unexpected {
                    found: format!("'{}'", c.escape_debug()),
                    accepted: "a value, or one of { } [ ] : ,",
                };
                return Err(JsonError { at, kind });
            }
        };
        Ok((at, token))
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.at = Position { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    /// Takes characters as long as they fit.
    fn run(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let whole = self.rest;
        while self.peek().is_some_and(&fits) {
            self.advance();
        }
        &whole[..whole.len() - self.rest.len()]
    }

    fn skip_blank(&mut self) -> Result<(), JsonError> {
        loop {
            self.run(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
            if self.peek() != Some('/') {
                return Ok(());
            }
            let at = self.at;
            self.advance();
            match self.advance() {
                Some('/') => {
                    self.run(|c| c != '\n');
                }
                Some('*') => self.skip_comment(at)?,
                _ => {
                    let kind =
                        Kind::Unexpected { found: "'/'".into(), accepted: "/* */ or // for a comment" };
                    return Err(JsonError { at, kind });
                }
            }
        }
    }

    /// Skips to the end of a comment that began at `at` and whose opening has been read.
    fn skip_comment(&mut self, at: Position) -> Result<(), JsonError> {
        loop {
            self.run(|c| c != '*');
            self.advance();
            // A row of stars before the slash ends the comment; json-c looks at pairs of characters instead.
            if self.dialect == Dialect::Workgen {
                self.run(|c| c == '*');
                if self.peek() != Some('/') && self.peek().is_some() {
                    continue;
                }
            }
            match self.advance() {
                Some('/') => return Ok(()),
                Some(_) => {}
                None => return Err(JsonError { at, kind: Kind::OpenComment }),
            }
        }
    }

    /// The rest of a string that began at `at` with this quote.
    fn string(&mut self, at: Position, quote: char) -> Result<String, JsonError> {
        let open = || JsonError { at, kind: Kind::OpenString };
        let mut text = String::new();
        loop {
            text.push_str(self.run(|c| c != quote && c != '\\'));
            let escape_at = self.at;
            if self.advance().ok_or_else(open)? == quote {
                return Ok(text);
            }
            let escape = self.advance().ok_or_else(open)?;
            let c = match escape {
                '"' | '\\' | '/' => escape,
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let first = self.hex4(escape_at)?;
                    self.unicode(first, escape_at, &mut text)?
                }
                other => {
                    let kind = Kind::Escape { found: other.escape_debug().to_string() };
                    return Err(JsonError { at: escape_at, kind });
                }
            };
            text.push(c);
        }
    }

    /// The character that a `\u` escape begins. Half of a surrogate pair alone is replaced; where another
    /// escape of this kind follows that is not the other half, the replacement goes to `text` first.
    fn unicode(&mut self, first: u32, at: Position, text: &mut String) -> Result<char, JsonError> {
        let mut unit = first;
        while (0xd800..0xdc00).contains(&unit) && self.rest.starts_with("\\u") {
            self.advance();
            self.advance();
            let second = self.hex4(at)?;
            if (0xdc00..0xe000).contains(&second) {
                let scalar = 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            text.push(char::REPLACEMENT_CHARACTER);
            unit = second;
        }
        Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Four hexadecimal digits of the escape that began at `at`.
    fn hex4(&mut self, at: Position) -> Result<u32, JsonError> {
        let digits = self.rest.get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(unit) = digits.and_then(|d| u32::from_str_radix(d, 16).ok()) else {
            let found = format!("u{}", self.run(|c| c.is_ascii_hexdigit()));
            return Err(JsonError { at, kind: Kind::Escape { found } });
        };
        for _ in 0..4 {
            self.advance();
        }
        Ok(unit)
    }

    fn number(&mut self, at: Position) -> Result<Token, JsonError> {
        let text = self.run(|c| matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
        if text == "-" && matches!(self.peek(), Some('i' | 'I')) {
            let word = self.run(|c| c.is_ascii_alphabetic());
            if word.eq_ignore_ascii_case("infinity") {
                return Ok(Token::Real(format!("-{word}")));
            }
            return Err(JsonError { at, kind: Kind::Number { found: format!("-{word}") } });
        }
        let ends = matches!(self.peek(), None | Some(',' | ':' | ']' | '}' | '/' | ' ' | '\t' | '\n' | '\r'));
        let digits = text.strip_prefix('-').unwrap_or(text);
        let real = text.trim_end_matches(['e', 'E', '+', '-']);
        if ends && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            // All digits, so it can only fail by being too great.
            let limit = if text.starts_with('-') { i64::MIN } else { i64::MAX };
            return Ok(Token::Int(text.parse().unwrap_or(limit)));
        }
        if ends && is_real(real) {
            return Ok(Token::Real(real.into()));
        }
        let found = format!("{text}{}", self.run(|c| c.is_alphanumeric() || c == '_'));
        Err(JsonError { at, kind: Kind::Number { found } })
    }

    fn word(&mut self, at: Position) -> Result<Token, JsonError> {
        let word = self.run(|c| c.is_alphanumeric() || c == '_' || c == '-');
        match word.to_ascii_lowercase().as_str() {
            "null" => Ok(Token::Null),
            "true" => Ok(Token::Bool(true)),
            "false" => Ok(Token::Bool(false)),
            "nan" | "infinity" => Ok(Token::Real(word.into())),
            _ => Err(JsonError { at, kind: Kind::Word { found: word.into() } }),
        }
    }
}

/// `[-] digits [. digits] [e [+-] digits]`, with digits on at least one side of the point.
fn is_real(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    all_digits(whole)
        && all_digits(part)
        && whole.len() + part.len() > 0
        && all_digits(exponent)
        && !exponent.is_empty()
}
