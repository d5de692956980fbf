// SPDX-License-Identifier: GPL-2.0-only
//! Arithmetic over named figures: `100 * (b / a - 1)`.

use std::collections::BTreeMap;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// A named figure.
    Name(String),
    /// Two expressions and what is done to them.
    Two(Box<Self>, char, Box<Self>),
}

/// What an expression looks like, for messages.
pub const ACCEPTED: &str = "arithmetic (+ - * / and brackets) over numbers and the names in 'of'";

impl Expression {
    /// Reads an expression; nothing if the text is none.
    pub fn read(text: &str) -> Option<Self> {
        let mut reader = Reader { rest: text.trim() };
        let sum = reader.sum()?;
        reader.rest.is_empty().then_some(sum)
    }

    /// The names in it.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Name(name) => vec![name],
            Self::Two(a, _, b) => [a.names(), b.names()].concat(),
        }
    }

    /// Its value; no number where a name has none.
    pub fn value(&self, figures: &BTreeMap<&str, f64>) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Name(name) => figures.get(name.as_str()).copied().unwrap_or(f64::NAN),
            Self::Two(a, sign, b) => {
                let (a, b) = (a.value(figures), b.value(figures));
                match sign {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                }
            }
        }
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let sign = self.rest.chars().next().filter(|c| signs.contains(c))?;
        self.rest = self.rest[1..].trim_start();
        Some(sign)
    }

    fn sum(&mut self) -> Option<Expression> {
        let mut sum = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            sum = Expression::Two(Box::new(sum), sign, Box::new(self.product()?));
        }
        Some(sum)
    }

    fn product(&mut self) -> Option<Expression> {
        let mut product = self.factor()?;
        while let Some(sign) = self.sign(&['*', '/']) {
            product = Expression::Two(Box::new(product), sign, Box::new(self.factor()?));
        }
        Some(product)
    }

    fn factor(&mut self) -> Option<Expression> {
        if self.sign(&['(']).is_some() {
            let sum = self.sum()?;
            return self.sign(&[')']).map(|_| sum);
        }
        let word = self.word();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.parse().ok().map(Expression::Number);
        }
        (!word.is_empty()).then(|| Expression::Name(word.to_owned()))
    }

    fn word(&mut self) -> &'t str {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let figures = BTreeMap::from([("a", 4.0), ("b", 1.0)]);
        Expression::read(text).map(|e| e.value(&figures))
    }

    #[test]
    fn products_come_before_sums_and_the_left_before_the_right() {
        assert_eq!(value("100 * (b / a - 1)"), Some(-75.0));
        assert_eq!(value("8 - 2 - a / 2 / 2"), Some(5.0));
        assert_eq!(value(" ( a+b ) * 1.5 "), Some(7.5));
        assert!(value("c").is_some_and(f64::is_nan));
        assert_eq!(Expression::read("a / c + a").unwrap().names(), ["a", "c", "a"]);
    }

    #[test]
    fn what_is_no_arithmetic_is_nothing() {
        for text in ["", "a +", "(a", "a)", "a b", "* a", "1.2.3", "a ^ b"] {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
