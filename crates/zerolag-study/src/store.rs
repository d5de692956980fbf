// SPDX-License-Identifier: GPL-2.0-only
//! Results in one SQLite file.
//!
//! ```sql
//! files   (hash, content)                                     -- everything that was read, by SHA-256
//! cases   (hash, name, inputs)                                -- JSON, see case::Sealed::inputs
//! choices (case_hash, key, value)                             -- what was chosen, for queries
//! runs    (case_hash, seed, zerolag, ended)                   -- a row for each run
//! metrics (case_hash, seed, position, name, unit, better, value)  -- a row for each run and metric
//! results                                                     -- a view: all of it, one row for each metric
//! ```
//!
//! `application_id` says that it is a store, `user_version` which version of the schema it has: a store of
//! another version is refused, never converted silently. Rows hold no time, no host and no number that depends
//! on the order of work, so the same study always ends in the same rows.
//!
//! A run and its metrics appear together or not at all. While a store is written there is a write-ahead log
//! beside it (`FILE-wal`); when it is closed all is in the one file again. After a kill the log stays, and the
//! next opening takes it in: do not delete it. Only one program at a time may write to a store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, params, params_from_iter};
use zerolag_sim::workload::model::Better;

use crate::VERSION;
use crate::case::Sealed;
use crate::run::{End, Outcome};

/// The version of the schema that this program writes and reads.
pub const SCHEMA: i64 = 1;
/// How long to wait for somebody else to be done with a store.
const PATIENCE: Duration = Duration::from_millis(500);
/// "zlag" in ASCII.
const APPLICATION: i64 = 0x7a6c_6167;

const TABLES: &str = "
CREATE TABLE files (hash TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (hash TEXT PRIMARY KEY, name TEXT NOT NULL, inputs TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE choices (
    case_hash TEXT NOT NULL REFERENCES cases, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (case_hash, key)) WITHOUT ROWID;
CREATE TABLE runs (
    case_hash TEXT NOT NULL REFERENCES cases, seed INTEGER NOT NULL, zerolag TEXT NOT NULL, ended TEXT NOT NULL,
    PRIMARY KEY (case_hash, seed)) WITHOUT ROWID;
CREATE TABLE metrics (
    case_hash TEXT NOT NULL, seed INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL,
    unit TEXT NOT NULL, better TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (case_hash, seed, position),
    FOREIGN KEY (case_hash, seed) REFERENCES runs) WITHOUT ROWID;
CREATE VIEW results AS
    SELECT c.name AS file, r.case_hash, c.inputs, r.seed, r.zerolag, r.ended, m.position, m.name AS metric,
           m.unit, m.better, m.value
    FROM runs r JOIN cases c ON c.hash = r.case_hash JOIN metrics m USING (case_hash, seed);
";

/// Two stores that say different things about the same run.
#[derive(Debug, thiserror::Error)]
#[error("{first} and {second} disagree about the run of case {case} ({chosen}) with seed {seed}: {what}")]
pub struct Disagreement {
    /// What was merged before.
    pub first: PathBuf,
    /// What was to be merged.
    pub second: PathBuf,
    /// The case's hash.
    pub case: String,
    /// What was chosen in it.
    pub chosen: String,
    /// The seed.
    pub seed: i64,
    /// What differs.
    pub what: String,
}

/// What is wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is one already.
    #[error("{0} exists already; --resume goes on from what is in it, or name another file")]
    Exists(PathBuf),
    /// There is none.
    #[error("{0} does not exist")]
    Missing(PathBuf),
    /// It is something else.
    #[error("{0} is not a result store of zerolag")]
    NotAStore(PathBuf),
    /// It has another schema.
    #[error(
        "{path} is a store of schema version {found}; this version of zerolag reads and writes version {SCHEMA}"
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// Another version of zerolag ran what is in it.
    #[error(
        "{path} has results of zerolag {found}; this is {VERSION}, and results of different versions are not mixed: name another file"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version that wrote it.
        found: String,
    },
    /// Somebody else writes to it.
    #[error("{0} is being written by another program")]
    Busy(PathBuf),
    /// It cannot be written.
    #[error("{0} cannot be written: it is read-only, or its directory is")]
    ReadOnly(PathBuf),
    /// There is no more room.
    #[error("{0}: the disk is full; what was finished before is kept, --resume goes on from it")]
    Full(PathBuf),
    /// The disk does not do what it should.
    #[error("{0}: reading or writing failed (is the disk full?); what was finished before is kept")]
    Failing(PathBuf),
    /// Two stores say different things about the same run.
    #[error(transparent)]
    Disagree(Box<Disagreement>),
    /// Anything else.
    #[error("{path}: {error}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        error: rusqlite::Error,
    },
    /// The file system says no.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

impl StoreError {
    fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(path),
            Some(ErrorCode::SystemIoFailure) => Self::Failing(path),
            Some(ErrorCode::NotADatabase) => Self::NotAStore(path),
            _ => Self::Sqlite { path, error },
        }
    }
}

/// Whether a store may or must be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// It must not.
    New,
    /// It may; then what is in it is not done again.
    Resume,
}

/// A store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

/// The figures of a run, by name.
pub type Figures = BTreeMap<String, f64>;

/// How a figure is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
}

impl Store {
    /// A store in memory, for results that are not to be kept.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let wrong = |e| StoreError::from_sqlite(&path, e);
        let connection = Connection::open_in_memory().map_err(wrong)?;
        let store = Self { path: path.clone(), connection };
        store.create()?;
        Ok(store)
    }

    /// A store in a file, to be written.
    ///
    /// # Errors
    /// If it is there and must not be, is something else, is of another version, or cannot be written.
    pub fn open(path: &Path, begin: Begin) -> Result<Self, StoreError> {
        let is_new = !path.exists();
        if begin == Begin::New && !is_new {
            return Err(StoreError::Exists(path.to_owned()));
        }
        let opened = Self::open_anyhow(path);
        let no_room = matches!(opened, Err(StoreError::Full(_) | StoreError::Failing(_)));
        if no_room && is_new && fs::metadata(path).is_ok_and(|m| m.len() == 0) {
            // Nothing is left that would be in the way the next time.
            let _ = fs::remove_file(path);
        }
        opened
    }

    fn open_anyhow(path: &Path) -> Result<Self, StoreError> {
        let store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        // SQLite opens what it may not write, and says so only at the first writing.
        if store.connection.is_readonly("main").map_err(|e| store.wrong(e))? {
            return Err(StoreError::ReadOnly(path.to_owned()));
        }
        if store.is_empty()? {
            store.write_ahead()?;
            store.create()?;
        } else {
            store.check()?;
            store.write_ahead()?;
        }
        Ok(store)
    }

    /// A store that is only read.
    ///
    /// # Errors
    /// If it is not there, is something else, or is of another version.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        // Whoever was killed left a log, which only somebody who may write can take in.
        let store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_| Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY))?;
        store.check()?;
        Ok(store)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, flags).map_err(|error| {
            let unopened = error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
            match fs::metadata(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))
            {
                Err(error) if unopened => StoreError::Io { path: path.to_owned(), error },
                Ok(_) if unopened && path.is_dir() => StoreError::NotAStore(path.to_owned()),
                Ok(_) if unopened => StoreError::ReadOnly(path.to_owned()),
                _ => StoreError::from_sqlite(path, error),
            }
        })?;
        connection.busy_timeout(PATIENCE).map_err(|e| StoreError::from_sqlite(path, e))?;
        Ok(Self { path: path.to_owned(), connection })
    }

    fn wrong(&self, error: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, error)
    }

    fn pragma(&self, name: &str) -> Result<i64, StoreError> {
        self.connection.pragma_query_value(None, name, |row| row.get(0)).map_err(|e| self.wrong(e))
    }

    fn is_empty(&self) -> Result<bool, StoreError> {
        let count = "SELECT count(*) FROM sqlite_master";
        let tables: i64 =
            self.connection.query_row(count, [], |row| row.get(0)).map_err(|e| self.wrong(e))?;
        Ok(tables == 0 && self.pragma("application_id")? == 0)
    }

    /// The log makes a commit cheap; one program alone needs no shared memory, which network file systems lack.
    fn write_ahead(&self) -> Result<(), StoreError> {
        let set = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
                   BEGIN EXCLUSIVE; COMMIT;";
        self.connection.execute_batch(set).map_err(|e| self.wrong(e))
    }

    /// All or nothing: a file with half of the tables is never seen.
    fn create(&self) -> Result<(), StoreError> {
        let head = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA};");
        let all = format!("BEGIN EXCLUSIVE; {head} {TABLES} COMMIT;");
        self.connection.execute_batch(&all).map_err(|e| self.wrong(e))
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.pragma("application_id")? != APPLICATION {
            return Err(StoreError::NotAStore(self.path.clone()));
        }
        match self.pragma("user_version")? {
            SCHEMA => {}
            found => return Err(StoreError::Schema { path: self.path.clone(), found }),
        }
        let other = "SELECT zerolag FROM runs WHERE zerolag <> ?1 LIMIT 1";
        let found = self.connection.query_row(other, [VERSION], |row| row.get(0)).optional();
        match found.map_err(|e| self.wrong(e))? {
            Some(found) => Err(StoreError::Version { path: self.path.clone(), found }),
            None => Ok(()),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Has SQLite refuse to let the file grow beyond so many pages, as on a disk that is full.
    #[doc(hidden)]
    pub fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        self.connection.pragma_update(None, "max_page_count", pages).map_err(|e| self.wrong(e))
    }

    /// Notes the inputs of cases, so that their runs can be added.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_cases<'c>(&mut self, cases: impl IntoIterator<Item = &'c Sealed>) -> Result<(), StoreError> {
        let path = self.path.clone();
        let add = |t: &Transaction<'_>| -> rusqlite::Result<()> {
            let mut file = t.prepare("INSERT OR IGNORE INTO files VALUES (?1, ?2)")?;
            let mut row = t.prepare("INSERT OR IGNORE INTO cases VALUES (?1, ?2, ?3)")?;
            let mut choice = t.prepare("INSERT OR IGNORE INTO choices VALUES (?1, ?2, ?3)")?;
            for case in cases {
                for (hash, content) in case.contents() {
                    file.execute(params![hash, content])?;
                }
                row.execute(params![case.hash(), case.file_name(), case.inputs()])?;
                for (key, value) in &case.case().choices {
                    choice.execute(params![case.hash(), key.to_string(), value])?;
                }
            }
            Ok(())
        };
        transact(&mut self.connection, add).map_err(|e| StoreError::from_sqlite(&path, e))
    }

    /// Adds runs, all of them or none.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_runs(&mut self, runs: &[(&Sealed, u64, Outcome)]) -> Result<(), StoreError> {
        let path = self.path.clone();
        let add = |t: &Transaction<'_>| -> rusqlite::Result<()> {
            let mut run = t.prepare("INSERT INTO runs VALUES (?1, ?2, ?3, ?4)")?;
            let mut row = t.prepare("INSERT INTO metrics VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
            for (case, seed, outcome) in runs {
                let seed = *seed as i64;
                run.execute(params![case.hash(), seed, VERSION, outcome.end.name()])?;
                for (position, m) in outcome.metrics.iter().enumerate() {
                    let better = m.better.name();
                    row.execute(params![
                        case.hash(),
                        seed,
                        position as i64,
                        m.name,
                        m.unit,
                        better,
                        m.value
                    ])?;
                }
            }
            Ok(())
        };
        transact(&mut self.connection, add).map_err(|e| StoreError::from_sqlite(&path, e))
    }

    /// The seeds with which this case has been run.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn seeds_done(&self, case: &Sealed) -> Result<Vec<u64>, StoreError> {
        let get = || -> rusqlite::Result<Vec<u64>> {
            let select = "SELECT seed FROM runs WHERE case_hash = ?1 ORDER BY seed";
            let mut rows = self.connection.prepare(select)?;
            rows.query_map([case.hash()], |row| row.get::<_, i64>(0).map(|seed| seed as u64))?.collect()
        };
        get().map_err(|e| self.wrong(e))
    }

    /// The figures of a run and how it ended, if it has been done.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn figures(&self, case: &Sealed, seed: u64) -> Result<Option<(End, Figures)>, StoreError> {
        let key = params![case.hash(), seed as i64];
        let get = || -> rusqlite::Result<Option<(End, Figures)>> {
            let select = "SELECT ended FROM runs WHERE case_hash = ?1 AND seed = ?2";
            let mut run = self.connection.prepare(select)?;
            let Some(ended) = run.query_row(key, |row| row.get::<_, String>(0)).optional()? else {
                return Ok(None);
            };
            let select = "SELECT name, value FROM metrics WHERE case_hash = ?1 AND seed = ?2";
            let mut rows = self.connection.prepare(select)?;
            let figures = rows.query_map(key, |row| Ok((row.get(0)?, row.get(1)?)))?;
            let end = End::ALL.into_iter().find(|e| e.name() == ended).unwrap_or(End::Duration);
            Ok(Some((end, figures.collect::<rusqlite::Result<_>>()?)))
        };
        get().map_err(|e| self.wrong(e))
    }

    /// What figures the runs of a case have, in the order in which they are worth showing.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn kinds(&self, case: &Sealed) -> Result<Vec<Kind>, StoreError> {
        let get = || -> rusqlite::Result<Vec<Kind>> {
            let select = "SELECT name, unit, better FROM metrics WHERE case_hash = ?1
                          GROUP BY name ORDER BY min(position), name";
            let mut rows = self.connection.prepare(select)?;
            let kind = |row: &rusqlite::Row<'_>| {
                let better = better_by_name(&row.get::<_, String>(2)?);
                Ok(Kind { name: row.get(0)?, unit: row.get(1)?, better })
            };
            rows.query_map([case.hash()], kind)?.collect()
        };
        get().map_err(|e| self.wrong(e))
    }

    /// Everything, one line for each run and metric, as comma-separated values. A column for each key that
    /// anything was chosen for; rows in the order of these, then of the seed.
    ///
    /// # Errors
    /// If it cannot be read, or `out` cannot be written.
    pub fn write_csv(&self, out: &mut dyn std::io::Write) -> Result<(), StoreError> {
        let wrong = |e| self.wrong(e);
        let io = |error| StoreError::Io { path: self.path.clone(), error };
        let select = "SELECT DISTINCT key FROM choices ORDER BY key";
        let mut statement = self.connection.prepare(select).map_err(wrong)?;
        let keys = statement.query_map([], |row| row.get::<_, String>(0)).map_err(wrong)?;
        let keys: Vec<String> = keys.collect::<rusqlite::Result<_>>().map_err(wrong)?;

        let select = "SELECT hash, name FROM cases";
        let mut statement = self.connection.prepare(select).map_err(wrong)?;
        let cases = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(wrong)?;
        let mut rows: Vec<(Vec<Natural>, String)> = Vec::new();
        for case in cases {
            let (hash, name): (String, String) = case.map_err(wrong)?;
            let chosen = self.choices(&hash).map_err(wrong)?;
            let cell = |key: &String| Natural::new(chosen.get(key).cloned().unwrap_or_default());
            rows.push((std::iter::once(Natural::new(name)).chain(keys.iter().map(cell)).collect(), hash));
        }
        rows.sort();

        let mut line = vec!["file".to_owned()];
        line.extend(keys);
        line.extend(
            ["seed", "metric", "unit", "better", "value", "ended", "zerolag", "case"].map(str::to_owned),
        );
        write_line(out, &line).map_err(io)?;
        let select = "SELECT seed, metric, unit, better, value, ended, zerolag FROM results
                      WHERE case_hash = ?1 ORDER BY seed, position";
        let mut results = self.connection.prepare(select).map_err(wrong)?;
        for (cells, hash) in rows {
            let mut found = results.query([&hash]).map_err(wrong)?;
            while let Some(row) = found.next().map_err(wrong)? {
                let text = |at| row.get::<_, String>(at).map_err(wrong);
                let mut line: Vec<String> = cells.iter().map(|cell| cell.text.clone()).collect();
                line.push(row.get::<_, i64>(0).map_err(wrong)?.to_string());
                line.extend([text(1)?, text(2)?, text(3)?]);
                line.push(row.get::<_, f64>(4).map_err(wrong)?.to_string());
                line.extend([text(5)?, text(6)?, hash.clone()]);
                write_line(out, &line).map_err(io)?;
            }
        }
        Ok(())
    }

    fn choices(&self, hash: &str) -> rusqlite::Result<BTreeMap<String, String>> {
        let select = "SELECT key, value FROM choices WHERE case_hash = ?1";
        let mut rows = self.connection.prepare(select)?;
        rows.query_map([hash], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// Takes in all that is in another store. Runs that both have must be the same.
    ///
    /// # Errors
    /// If they are not, or something cannot be read or written; then nothing has been taken in.
    pub fn merge(&mut self, other: &Self, named: &BTreeMap<String, PathBuf>) -> Result<(), StoreError> {
        let wrong = |e| StoreError::from_sqlite(&other.path, e);
        let select = "SELECT case_hash, seed FROM runs";
        let mut statement = other.connection.prepare(select).map_err(wrong)?;
        let runs = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(wrong)?;
        for run in runs {
            let (case, seed): (String, i64) = run.map_err(wrong)?;
            let mine = self.rows_of(&case, seed).map_err(|e| self.wrong(e))?;
            let others = other.rows_of(&case, seed).map_err(wrong)?;
            let Some(at) = first_difference(&mine, &others) else { continue };
            let chosen = other.choices(&case).map_err(wrong)?;
            let chosen: Vec<String> = chosen.iter().map(|(k, v)| format!("{k}={v}")).collect();
            return Err(StoreError::Disagree(Box::new(Disagreement {
                first: named.get(&format!("{case}/{seed}")).unwrap_or(&self.path).clone(),
                second: other.path.clone(),
                chosen: if chosen.is_empty() { "nothing chosen".into() } else { chosen.join(" ") },
                case,
                seed,
                what: at,
            })));
        }
        drop(statement);
        let path = self.path.clone();
        let copy = |t: &Transaction<'_>| -> rusqlite::Result<()> {
            for (table, columns) in [("files", 2), ("cases", 3), ("choices", 3), ("runs", 4), ("metrics", 7)]
            {
                let marks = vec!["?"; columns].join(", ");
                let mut put = t.prepare(&format!("INSERT OR IGNORE INTO {table} VALUES ({marks})"))?;
                let mut get = other.connection.prepare(&format!("SELECT * FROM {table}"))?;
                let mut rows = get.query([])?;
                while let Some(row) = rows.next()? {
                    let cells =
                        (0..columns).map(|at| row.get(at)).collect::<rusqlite::Result<Vec<Cell>>>()?;
                    put.execute(params_from_iter(cells))?;
                }
            }
            Ok(())
        };
        transact(&mut self.connection, copy).map_err(|e| StoreError::from_sqlite(&path, e))
    }

    /// The keys of all runs, as `CASE/SEED`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn run_keys(&self) -> Result<Vec<String>, StoreError> {
        let get = || -> rusqlite::Result<Vec<String>> {
            let mut rows = self.connection.prepare("SELECT case_hash || '/' || seed FROM runs")?;
            rows.query_map([], |row| row.get(0))?.collect()
        };
        get().map_err(|e| self.wrong(e))
    }

    /// A run in words, or nothing if it is not there.
    fn rows_of(&self, case: &str, seed: i64) -> rusqlite::Result<Vec<(String, String)>> {
        let key = params![case, seed];
        let mut run = self.connection.prepare("SELECT ended FROM runs WHERE case_hash = ?1 AND seed = ?2")?;
        let mut rows: Vec<(String, String)> =
            run.query_map(key, |row| Ok(("end".into(), row.get(0)?)))?.collect::<rusqlite::Result<_>>()?;
        let select = "SELECT name, value FROM metrics WHERE case_hash = ?1 AND seed = ?2 ORDER BY position";
        let mut metrics = self.connection.prepare(select)?;
        for row in metrics.query_map(key, |row| Ok((row.get(0)?, row.get::<_, f64>(1)?.to_string())))? {
            rows.push(row?);
        }
        Ok(rows)
    }

    /// Puts all into the one file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn close(self) -> Result<(), StoreError> {
        let path = self.path;
        let end = "PRAGMA journal_mode = DELETE;";
        self.connection.execute_batch(end).map_err(|e| StoreError::from_sqlite(&path, e))?;
        self.connection.close().map_err(|(_, e)| StoreError::from_sqlite(&path, e))
    }
}

fn transact(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    work(&transaction)?;
    transaction.commit()
}

/// Where two runs differ; nothing if one of them is not there or they are the same.
fn first_difference(a: &[(String, String)], b: &[(String, String)]) -> Option<String> {
    if a.is_empty() || b.is_empty() || a == b {
        return None;
    }
    let pair = a.iter().zip(b).find(|(x, y)| x != y);
    Some(match pair {
        Some(((name, x), (other, y))) if name == other => format!("{name} is {x} and {y}"),
        Some(((name, _), (other, _))) => format!("one has {name} where the other has {other}"),
        None => "one has more figures than the other".into(),
    })
}

fn better_by_name(name: &str) -> Better {
    Better::ALL.into_iter().find(|b| b.name() == name).unwrap_or(Better::Neither)
}

/// A line of comma-separated values (RFC 4180, with the line feed of Unix).
pub fn write_line(out: &mut dyn std::io::Write, cells: &[String]) -> std::io::Result<()> {
    for (at, cell) in cells.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        if cell.contains([',', '"', '\n', '\r']) {
            write!(out, "{comma}\"{}\"", cell.replace('"', "\"\""))?;
        } else {
            write!(out, "{comma}{cell}")?;
        }
    }
    writeln!(out)
}

/// Text in the order of the numbers in it: 9ms before 10ms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Natural {
    parts: Vec<(String, u128)>,
    text: String,
}

impl Natural {
    fn new(text: String) -> Self {
        let mut parts: Vec<(String, u128)> = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let words = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let (word, after) = rest.split_at(words);
            let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            let (number, after) = after.split_at(digits);
            parts.push((word.into(), number.parse().unwrap_or(u128::MAX * u128::from(!number.is_empty()))));
            rest = after;
        }
        Self { parts, text }
    }
}

#[cfg(test)]
mod tests;
