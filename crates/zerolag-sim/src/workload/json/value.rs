// SPDX-License-Identifier: GPL-2.0-only
//! A value and where it stands.

use super::Position;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Where it begins. A value that was left out stands where its key does.
    pub at: Position,
    /// What it is.
    pub data: Data,
}

/// The kinds of value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without point and exponent.
    Int(i64),
    /// Any other number, as it was written. rt-app has no use for one, so it is kept only to be shown.
    Real(String),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

/// The members of an object in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object(pub(super) Vec<Member>);

/// One member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key.
    pub key: String,
    /// Where the key begins.
    pub key_at: Position,
    /// The value; an empty string for a key without one.
    pub value: Value,
}

impl Object {
    /// The members in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Member> {
        self.0.iter()
    }

    /// The first member with this key.
    pub fn get(&self, key: &str) -> Option<&Member> {
        self.0.iter().find(|member| member.key == key)
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = &'a Member;
    type IntoIter = std::slice::Iter<'a, Member>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Value {
    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Data::Int(number) = self.data { Some(number) } else { None }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Data::Bool(truth) = self.data { Some(truth) } else { None }
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Data::Text(text) = &self.data { Some(text) } else { None }
    }

    /// The elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Data::Array(elements) = &self.data { Some(elements) } else { None }
    }

    /// The members, if it is an object.
    pub fn as_object(&self) -> Option<&Object> {
        if let Data::Object(members) = &self.data { Some(members) } else { None }
    }

    /// The value in a few words, for messages.
    pub fn describe(&self) -> String {
        match &self.data {
            Data::Null => "null".into(),
            Data::Bool(truth) => truth.to_string(),
            Data::Int(number) => number.to_string(),
            Data::Real(text) => format!("the real number {text}"),
            Data::Text(text) => format!("the string {text:?}"),
            Data::Array(elements) => format!("an array of {}", elements.len()),
            Data::Object(members) => format!("an object of {}", members.len()),
        }
    }
}
