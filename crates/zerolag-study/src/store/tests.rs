// SPDX-License-Identifier: GPL-2.0-only
//! What a store refuses, and that it is whole afterwards.

use std::fs;

use super::*;
use crate::study::tests::{case, csv, means, study};
use crate::study::{Study, StudyError};

fn filled(path: &Path) -> Store {
    let mut store = Store::open(path, Begin::New).unwrap();
    study().run(&mut store, means(2), &mut ()).unwrap();
    store
}

#[test]
fn a_store_is_one_file_that_opens_again_with_the_same_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.sqlite");
    let store = filled(&path);
    let rows = csv(&store);
    store.close().unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let again = Store::open(&path, Begin::Resume).unwrap();
    assert_eq!(csv(&again), rows);
    again.close().unwrap();
    let read = Store::read(&path).unwrap();
    assert_eq!(csv(&read), rows);
    assert!(matches!(Store::open(&path, Begin::New), Err(StoreError::Exists(_))));
}

#[test]
fn inputs_are_kept_byte_for_byte() {
    let store = {
        let mut store = Store::in_memory().unwrap();
        store.add_cases(&study().cases).unwrap();
        store
    };
    let text: Vec<u8> = store
        .connection
        .query_row(
            "SELECT f.content FROM files f JOIN cases c ON c.inputs ->> 'file' = f.hash LIMIT 1",
            [],
            |r| r.get(0),
        )
        .unwrap();
    assert_eq!(text, crate::study::tests::RANDOM.as_bytes());
}

#[test]
fn two_programs_cannot_write_to_one_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.sqlite");
    let first = Store::open(&path, Begin::New).unwrap();
    assert!(matches!(Store::open(&path, Begin::Resume), Err(StoreError::Busy(_))));
    first.close().unwrap();
    Store::open(&path, Begin::Resume).unwrap();
}

#[test]
fn other_files_and_other_schemas_are_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.sqlite");
    let refused = |expected: &str| {
        let before = fs::read(&path).unwrap();
        for result in [Store::open(&path, Begin::Resume), Store::read(&path)] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    };
    fs::write(&path, "not a store at all, but long enough to be taken for one".repeat(40)).unwrap();
    refused("is not a result store of zerolag");

    fs::remove_file(&path).unwrap();
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);").unwrap();
    foreign.close().unwrap();
    refused("is not a result store of zerolag");

    fs::remove_file(&path).unwrap();
    filled(&path).close().unwrap();
    let change = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    change("PRAGMA user_version = 7");
    refused("schema version 7; this version of zerolag reads and writes version 1");
    change("PRAGMA user_version = 1; UPDATE runs SET zerolag = '0.0.1' WHERE seed = 2");
    refused("has results of zerolag 0.0.1");
}

#[test]
fn a_full_disk_is_said_and_what_was_finished_is_kept() {
    let mut store = Store::in_memory().unwrap();
    let study = study();
    Study { seeds: vec![1], ..study.clone() }.run(&mut store, means(1), &mut ()).unwrap();
    let rows = csv(&store);
    store.limit_pages(1).unwrap();
    let many = Study { seeds: (1..200).collect(), ..study };
    let error = many.run(&mut store, means(2), &mut ()).unwrap_err();
    assert!(matches!(error, StudyError::Store(StoreError::Full(_))), "{error}");
    assert!(csv(&store).lines().count() >= rows.lines().count());
    let whole: i64 = store
        .connection
        .query_row("SELECT count(*) FROM runs r WHERE NOT EXISTS (SELECT 1 FROM metrics m WHERE m.case_hash = r.case_hash AND m.seed = r.seed)", [], |r| r.get(0))
        .unwrap();
    assert_eq!(whole, 0);
}

#[test]
fn stores_that_disagree_are_not_merged() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    filled(&path("a")).close().unwrap();
    fs::copy(path("a"), path("b")).unwrap();
    let a = Store::read(&path("a")).unwrap();
    let mut merged = Store::in_memory().unwrap();
    merged.merge(&a, &BTreeMap::new()).unwrap();
    merged.merge(&Store::read(&path("b")).unwrap(), &BTreeMap::new()).unwrap();
    assert_eq!(csv(&merged), csv(&a));
    let sql = "UPDATE metrics SET value = value + 1 WHERE seed = 3 AND name = 'hog share'";
    Connection::open(path("b")).unwrap().execute_batch(sql).unwrap();
    let error = merged.merge(&Store::read(&path("b")).unwrap(), &BTreeMap::new()).unwrap_err().to_string();
    assert!(error.contains("disagree") && error.contains("with seed 3: hog share is"), "{error}");
    assert_eq!(csv(&merged), csv(&a));
}

#[test]
fn rows_stand_in_the_order_of_numbers() {
    let sorted = |texts: &[&str]| {
        let mut all: Vec<Natural> = texts.iter().map(|&t| Natural::new(t.into())).collect();
        all.sort();
        all.into_iter().map(|n| n.text).collect::<Vec<_>>()
    };
    assert_eq!(sorted(&["10ms", "9ms", "", "6.12", "6.1"]), ["", "6.1", "6.12", "9ms", "10ms"]);
}

#[test]
fn a_file_has_no_figures_until_it_was_run() {
    let store = Store::in_memory().unwrap();
    assert_eq!(store.figures(&case(&[]), 1).unwrap(), None);
    assert!(store.kinds(&case(&[])).unwrap().is_empty());
}
