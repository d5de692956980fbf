// SPDX-License-Identifier: GPL-2.0-only
//! From tokens to values.

use std::collections::BTreeMap;

use super::error::JsonErrorKind as Kind;
use super::scan::{Scanner, Token};
use super::{DEPTH_MAX, Data, Dialect, JsonError, Member, Object, Position, Value};

/// The root value and what may follow it.
pub(super) fn document(text: &str, dialect: Dialect) -> Result<Value, JsonError> {
    let mut parser = Parser { scanner: Scanner::new(text, dialect), dialect };
    let (at, first) = parser.scanner.next()?;
    let root = parser.value(at, first, 0)?;
    if dialect == Dialect::Workgen {
        let (at, token) = parser.scanner.next()?;
        if token != Token::End {
            return Err(unexpected(at, &token, "nothing after the end of the first value"));
        }
    }
    Ok(root)
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    dialect: Dialect,
}

impl Parser<'_> {
    /// The value that begins with a token already read. Recursion is as deep as `depth` may grow.
    fn value(&mut self, at: Position, first: Token, depth: u32) -> Result<Value, JsonError> {
        if depth > DEPTH_MAX {
            return Err(JsonError { at, kind: Kind::TooDeep });
        }
        let data = match first {
            Token::Null => Data::Null,
            Token::Bool(truth) => Data::Bool(truth),
            Token::Int(number) => Data::Int(number),
            Token::Real(text) => Data::Real(text),
            Token::Text(text) => Data::Text(text),
            Token::Mark('[') => Data::Array(self.elements(depth)?),
            Token::Mark('{') => Data::Object(self.members(depth)?),
            other => return Err(unexpected(at, &other, "a value")),
        };
        Ok(Value { at, data })
    }

    fn elements(&mut self, depth: u32) -> Result<Vec<Value>, JsonError> {
        let mut elements = Vec::new();
        loop {
            let (at, token) = self.scanner.next()?;
            if token == Token::Mark(']') {
                return Ok(elements);
            }
            elements.push(self.value(at, token, depth + 1)?);
            match self.scanner.next()? {
                (_, Token::Mark(',')) => {}
                (_, Token::Mark(']')) => return Ok(elements),
                (at, other) => return Err(unexpected(at, &other, "',' or ']'")),
            }
        }
    }

    fn members(&mut self, depth: u32) -> Result<Object, JsonError> {
        let mut members = Vec::new();
        loop {
            let (key_at, key) = match self.scanner.next()? {
                (_, Token::Mark('}')) => return Ok(settle(members, self.dialect)),
                (at, Token::Text(key)) => (at, key),
                (at, other) => return Err(unexpected(at, &other, "a key in quotes or '}'")),
            };
            let (at, mark) = self.scanner.next()?;
            if mark == Token::Mark(':') {
                let (at, first) = self.scanner.next()?;
                let value = self.value(at, first, depth + 1)?;
                members.push(Member { key, key_at, value });
            } else if matches!(mark, Token::Mark(',' | '}')) {
                if self.dialect == Dialect::JsonC {
                    return Err(JsonError { at: key_at, kind: Kind::BareKey { key } });
                }
                let value = Value { at: key_at, data: Data::Text(String::new()) };
                members.push(Member { key, key_at, value });
                if mark == Token::Mark('}') {
                    return Ok(settle(members, self.dialect));
                }
                continue;
            } else {
                return Err(unexpected(at, &mark, "':' and a value"));
            }
            match self.scanner.next()? {
                (_, Token::Mark(',')) => {}
                (_, Token::Mark('}')) => return Ok(settle(members, self.dialect)),
                (at, other) => return Err(unexpected(at, &other, "',' or '}'")),
            }
        }
    }
}

/// The members of an object that has been read. json-c looks a key up before it adds it and replaces the value
/// it finds: the last value of a key stands in the first place.
fn settle(mut members: Vec<Member>, dialect: Dialect) -> Object {
    if dialect == Dialect::JsonC {
        // By way of a map, as one object may hold very many keys.
        let mut last = BTreeMap::new();
        for member in &mut members {
            let left_behind = Value { at: member.value.at, data: Data::Null };
            last.insert(member.key.clone(), std::mem::replace(&mut member.value, left_behind));
        }
        members.retain_mut(|member| {
            let value = last.remove(&member.key);
            value.map(|value| member.value = value).is_some()
        });
    }
    Object(members)
}

fn unexpected(at: Position, found: &Token, accepted: &'static str) -> JsonError {
    let kind = match found {
        Token::End => Kind::End { accepted },
        other => Kind::Unexpected { found: other.describe(), accepted },
    };
    JsonError { at, kind }
}
