// SPDX-License-Identifier: GPL-2.0-only
//! What the reader accepts, what it refuses and in which words.

use proptest::prelude::*;

use super::*;

/// The value written back as compact JSON, reals as `<text>`.
fn show(value: &Value) -> String {
    let join = |parts: Vec<String>| parts.join(",");
    match &value.data {
        Data::Null => "null".into(),
        Data::Bool(truth) => truth.to_string(),
        Data::Int(number) => number.to_string(),
        Data::Real(text) => format!("<{text}>"),
        Data::Text(text) => format!("{text:?}"),
        Data::Array(elements) => format!("[{}]", join(elements.iter().map(show).collect())),
        Data::Object(members) => {
            format!(
                "{{{}}}",
                join(members.iter().map(|m| format!("{:?}:{}", m.key, show(&m.value))).collect())
            )
        }
    }
}

/// The text as read, or the message.
fn read(text: &str, dialect: Dialect) -> String {
    parse(text.as_bytes(), dialect).map_or_else(|e| format!("! {e}"), |v| show(&v))
}

#[track_caller]
fn both(text: &str, expected: &str) {
    assert_eq!(read(text, Dialect::Workgen), expected, "workgen: {text}");
    assert_eq!(read(text, Dialect::JsonC), expected, "json-c: {text}");
}

#[track_caller]
fn differ(text: &str, workgen: &str, jsonc: &str) {
    assert_eq!(read(text, Dialect::Workgen), workgen, "workgen: {text}");
    assert_eq!(read(text, Dialect::JsonC), jsonc, "json-c: {text}");
}

#[test]
fn what_everyone_accepts_is_accepted() {
    both(
        r#" { "a" : [ 1, -2, true, false, null, "x\"\\\/\b\f\n\r\t\u00e9" ], "b" : { } } "#,
        r#"{"a":[1,-2,true,false,null,"x\"\\/\u{8}\u{c}\n\r\té"],"b":{}}"#,
    );
    both("[]", "[]");
    both("5", "5");
}

#[test]
fn what_json_c_accepts_beyond_the_standard_is_accepted() {
    both("[1,2,]", "[1,2]");
    both("{'a':1,}", r#"{"a":1}"#);
    both("/* one */ [ // two\n 1 /**/ , /* three\n * / */ 2 ]", "[1,2]");
    both("[True, FALSE, nUll]", "[true,false,null]");
    both("[NaN, nan, Infinity, -Infinity, -iNFinity]", "[<NaN>,<nan>,<Infinity>,<-Infinity>,<-iNFinity>]");
    both("[007, -0, 1.5, 1., -.5, 1e3, 1E+2, 1e, 1e+]", "[7,0,<1.5>,<1.>,<-.5>,<1e3>,<1E+2>,<1>,<1>]");
    both("['a\tb\nc\u{1}']", r#"["a\tb\nc\u{1}"]"#);
    both("[99999999999999999999, -99999999999999999999]", "[9223372036854775807,-9223372036854775808]");
}

#[test]
fn surrogates_make_one_character_or_a_replacement() {
    both(r#"["\ud83d\ude00"]"#, "[\"\u{1f600}\"]");
    both(r#"["\ud83dx", "\ude00", "\ud83d\n"]"#, "[\"\u{fffd}x\",\"\u{fffd}\",\"\u{fffd}\\n\"]");
    both(r#"["\ud83d\u0041"]"#, "[\"\u{fffd}A\"]");
}

#[test]
fn workgen_keeps_duplicate_keys_and_json_c_the_last_value_in_the_first_place() {
    differ(
        r#"{"run":15000,"resume":"A","run":7000}"#,
        r#"{"run":15000,"resume":"A","run":7000}"#,
        r#"{"run":7000,"resume":"A"}"#,
    );
}

#[test]
fn a_key_without_a_value_is_an_empty_string_for_workgen() {
    let refused = r#"! 1:2: key "suspend" has no value: json-c refuses that (workgen's dialect reads it as an empty string)"#;
    differ(r#"{"suspend","run":1}"#, r#"{"suspend":"","run":1}"#, refused);
    differ(r#"{"suspend"}"#, r#"{"suspend":""}"#, refused);
}

#[test]
fn text_after_the_root_value_is_ignored_by_json_c_alone() {
    differ("{} }", "! 1:4: found '}', accepted: nothing after the end of the first value", "{}");
    differ("[1] // done\n /*", "! 2:2: this comment is never closed", "[1]");
}

#[test]
fn json_c_takes_stars_in_pairs() {
    differ("[1 /* a **/ , 2]", "[1,2]", "! 1:4: this comment is never closed");
    both("[1 /* a ***/ , 2]", "[1,2]");
}

#[test]
fn every_refusal_names_place_and_reason() {
    let word = "accepted: null, true, false, NaN, Infinity, or a string in quotes";
    for (text, message) in [
        ("", "1:1: the text ends, accepted: a value".to_string()),
        ("  \n ", "2:2: the text ends, accepted: a value".into()),
        ("{\"a\":1", "1:7: the text ends, accepted: ',' or '}'".into()),
        ("{\"a\":", "1:6: the text ends, accepted: a value".into()),
        ("{\"a\"", "1:5: the text ends, accepted: ':' and a value".into()),
        ("{", "1:2: the text ends, accepted: a key in quotes or '}'".into()),
        ("[1", "1:3: the text ends, accepted: ',' or ']'".into()),
        ("[1 2]", "1:4: found 2, accepted: ',' or ']'".into()),
        ("[,]", "1:2: found ',', accepted: a value".into()),
        ("{\"a\":1,,}", "1:8: found ',', accepted: a key in quotes or '}'".into()),
        ("{a:1}", format!("1:2: 'a' means nothing here, {word}")),
        ("{1:1}", "1:2: found 1, accepted: a key in quotes or '}'".into()),
        ("{\"a\" 1}", "1:6: found 1, accepted: ':' and a value".into()),
        ("[nul]", format!("1:2: 'nul' means nothing here, {word}")),
        ("[\"a]", "1:2: this string is never closed".into()),
        ("[\"a\\", "1:2: this string is never closed".into()),
        (r#"["a\x"]"#, r#"1:4: '\x' in a string, accepted: \" \\ \/ \b \f \n \r \t \uXXXX"#.into()),
        (r#"["\u12g4"]"#, r#"1:3: '\u12' in a string, accepted: \" \\ \/ \b \f \n \r \t \uXXXX"#.into()),
        ("[1-2]", "1:2: '1-2' is no number".into()),
        ("[-]", "1:2: '-' is no number".into()),
        ("[-inf]", "1:2: '-inf' is no number".into()),
        ("[12ms]", "1:2: '12ms' is no number".into()),
        ("[1.2.3]", "1:2: '1.2.3' is no number".into()),
        ("[1 / 2]", "1:4: found '/', accepted: /* */ or // for a comment".into()),
        ("/* a", "1:1: this comment is never closed".into()),
        ("[+1]", "1:2: found '+', accepted: a value, or one of { } [ ] : ,".into()),
        ("\u{feff}{}", "1:1: found '\\u{feff}', accepted: a value, or one of { } [ ] : ,".into()),
    ] {
        both(text, &format!("! {message}"));
    }
}

#[test]
fn bytes_that_are_not_utf8_are_placed() {
    let error = parse(b"{\n \"a\": \"\xc3\xa9\xff\"}", Dialect::Workgen).unwrap_err();
    assert_eq!(error.to_string(), "2:9: not UTF-8 text from here on");
}

#[test]
fn every_value_knows_its_place() {
    let root = parse("{\n  \"é\": [1,\n\t2]}".as_bytes(), Dialect::Workgen).unwrap();
    let member = root.as_object().unwrap().get("é").unwrap();
    let elements = member.value.as_array().unwrap();
    let places: Vec<_> = [root.at, member.key_at, member.value.at, elements[0].at, elements[1].at]
        .map(|p| p.to_string())
        .into();
    assert_eq!(places, ["1:1", "2:3", "2:8", "2:9", "3:2"]);
}

#[test]
fn nesting_and_length_are_bounded() {
    let nest = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(parse(nest(32).as_bytes(), Dialect::JsonC).is_ok());
    both(&nest(33), "! 1:33: values nest deeper than 31");
    both(&"[".repeat(100_000), "! 1:33: values nest deeper than 31");
    let long = vec![b' '; LEN_MAX + 1];
    let error = parse(&long, Dialect::Workgen).unwrap_err();
    assert_eq!(error.to_string(), "1:1: 16777217 bytes of text (accepted: up to 16777216)");
}

/// Text that looks like JSON often enough to reach every corner.
fn jsonish() -> impl Strategy<Value = String> {
    let pieces = vec![
        "{", "}", "[", "]", ":", ",", "\"", "'", "\\", "\\u", "d83d", "/*", "*/", "//", "\n", "*", "-", "1",
        "e", ".", "null", "inf", "tRue", "\"a\"", "\"a\":", " ", "\u{e9}", "\0",
    ];
    proptest::collection::vec(proptest::sample::select(pieces), 0..60).prop_map(|p| p.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for dialect in [Dialect::Workgen, Dialect::JsonC] {
            let _ = parse(&bytes, dialect);
        }
    }

    #[test]
    fn no_text_of_marks_makes_the_reader_panic(text in jsonish()) {
        for dialect in [Dialect::Workgen, Dialect::JsonC] {
            if let Err(error) = parse(text.as_bytes(), dialect) {
                let lines = text.split('\n').count() as u32;
                prop_assert!((1..=lines).contains(&error.at.line), "{error} in {lines} lines");
            }
        }
    }

    /// What serde_json writes, this reader reads as the same value.
    #[test]
    fn standard_json_is_read_as_serde_reads_it(text in ".{0,40}", number in any::<i64>(), truth in any::<bool>()) {
        let written = serde_json::json!({ "text": text, "list": [number, truth, null], "none": {} }).to_string();
        let root = parse(written.as_bytes(), Dialect::Workgen).unwrap();
        let members = root.as_object().unwrap();
        prop_assert_eq!(members.get("text").unwrap().value.as_text(), Some(text.as_str()));
        let list = members.get("list").unwrap().value.as_array().unwrap();
        prop_assert_eq!(list[0].as_int(), Some(number));
        prop_assert_eq!(list[1].as_bool(), Some(truth));
    }
}
