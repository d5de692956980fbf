// SPDX-License-Identifier: GPL-2.0-only
//! Reading experiments.

use std::collections::BTreeMap;
use std::sync::Arc;

use zerolag_sim::scenario::section::{Entry, Section, Source};
use zerolag_sim::scenario::{Fault, ScenarioError};

use super::arithmetic::{self, Expression};
use super::{Experiment, Picture, Row, Simulation};
use crate::case::{Beside, Case, Contents};
use crate::choice::Key;
use crate::stats::Interval;

const BANDS: &str = "[LOW, HIGH], \"factor N\", \"within N\" or \"change\"";

/// Reads an experiment whose scenarios are among `files`.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(name: &str, bytes: &[u8], files: &Contents) -> Result<Experiment, ScenarioError> {
    let file = format!("{name}.toml");
    let source = Source::new(&file, bytes)?;
    let parsed = source.parse()?;
    let root = Section::new(source, "the experiment", parsed.get_ref(), 0..0);
    let mut experiment = Experiment {
        name: name.to_owned(),
        title: root.need("title", "what it is about")?.text()?.to_owned(),
        document: root.need("document", "where the figures are from")?.text()?.to_owned(),
        seeds: root.need("seeds", "how many")?.integer(1..=10_000)? as u64,
        calibration: texts(&root.need("calibration", "a list of texts")?)?,
        cannot_show: texts(&root.need("cannot_show", "a list of texts")?)?,
        findings: root.get("findings").map_or(Ok(Vec::new()), |entry| texts(&entry))?,
        cases: BTreeMap::new(),
        rows: Vec::new(),
        pictures: Vec::new(),
    };
    for section in root.sections("case")? {
        for each in Each::all(&section)? {
            let (id, case) = case(&section, &each, files)?;
            if experiment.cases.insert(id.clone(), case).is_some() {
                return Err(section.error(Fault::Sense(format!("there are two cases '{id}'"))));
            }
        }
        section.finish()?;
    }
    for section in root.sections("row")? {
        for each in Each::all(&section)? {
            let row = row(&section, &each)?;
            if let Simulation::Figure { of, .. } = &row.simulation
                && let Some((case, _)) = of.values().find(|(case, _)| !experiment.cases.contains_key(case))
            {
                return Err(section.error(Fault::Sense(format!("there is no case '{case}'"))));
            }
            experiment.rows.push(row);
        }
        section.finish()?;
    }
    for section in root.sections("picture")? {
        let case = section.need("case", "the id of a case")?;
        if !experiment.cases.contains_key(case.text()?) {
            return Err(case.error(Fault::Sense(format!("there is no case '{}'", case.text()?))));
        }
        experiment.pictures.push(Picture {
            title: section.need("title", "what it shows")?.text()?.to_owned(),
            case: case.text()?.to_owned(),
            group: section.need("group", "the path of a group")?.text()?.to_owned(),
            mark: section.text("mark")?.map(str::to_owned),
        });
        section.finish()?;
    }
    root.finish()?;
    Ok(experiment)
}

fn texts(entry: &Entry<'_>) -> Result<Vec<String>, ScenarioError> {
    entry.items()?.iter().map(|item| Ok(item.text()?.to_owned())).collect()
}

/// One of several for which a section stands.
struct Each {
    /// Which one.
    number: usize,
    /// What replaces `{KEY}` in its texts.
    values: Vec<(String, String)>,
    /// Lists have a value for each.
    listed: bool,
}

impl Each {
    fn all(section: &Section<'_>) -> Result<Vec<Self>, ScenarioError> {
        let Some(entry) = section.get("each") else {
            return Ok(vec![Self { number: 0, values: Vec::new(), listed: false }]);
        };
        let mut all: Vec<Self> = Vec::new();
        for list in entry.table("each")?.entries() {
            let items = list.items()?;
            if all.is_empty() {
                all.extend((0..items.len()).map(|number| Self { number, values: Vec::new(), listed: true }));
            }
            if all.len() != items.len() {
                return Err(list.wrong("as many values as the other lists have"));
            }
            for (each, item) in all.iter_mut().zip(items) {
                each.values.push((list.key.to_owned(), item.scalar()?));
            }
        }
        Ok(all)
    }

    fn filled(&self, text: &str) -> String {
        let fill = |text: String, (key, value): &(String, String)| text.replace(&format!("{{{key}}}"), value);
        self.values.iter().fold(text.to_owned(), fill)
    }

    /// The value that is its own: of a list the one in its place.
    fn own<'t>(&self, entry: Entry<'t>, is_list: bool) -> Result<Entry<'t>, ScenarioError> {
        if !(self.listed && is_list) {
            return Ok(entry);
        }
        entry.items()?.into_iter().nth(self.number).ok_or_else(|| entry.wrong("a value for each"))
    }
}

fn case(section: &Section<'_>, each: &Each, files: &Contents) -> Result<(String, Case), ScenarioError> {
    let id = each.filled(section.need("id", "a name for it")?.text()?);
    let scenario = section.need("scenario", "the name of a scenario")?;
    let file = each.filled(scenario.text()?);
    let bytes = files.get(&file).ok_or_else(|| scenario.wrong("a file beside the experiment"))?;
    let mut choices = BTreeMap::new();
    if let Some(entry) = section.get("choices") {
        for choice in entry.table("choices")?.entries() {
            let key = each.filled(choice.key);
            let key: Key = key
                .parse()
                .map_err(|e: crate::choice::ChoiceError| choice.error(Fault::Sense(e.to_string())))?;
            choices.insert(key, each.filled(&choice.scalar()?));
        }
    }
    let (bytes, beside) = (Arc::clone(bytes), Beside::Contents(beside(&file, files)));
    Ok((id, Case { file, bytes, beside, choices }))
}

/// Files by the names that a scenario has for them: from where it is itself.
fn beside(scenario: &str, files: &Contents) -> Contents {
    let directory = scenario.rfind('/').map_or("", |at| &scenario[..=at]);
    let from_there = |(name, bytes): (&String, &Arc<[u8]>)| {
        Some((name.strip_prefix(directory)?.to_owned(), Arc::clone(bytes)))
    };
    files.iter().filter_map(from_there).collect()
}

fn row(section: &Section<'_>, each: &Each) -> Result<Row, ScenarioError> {
    let text = |key, accepted: &str| Ok(each.filled(section.need(key, accepted)?.text()?));
    let published = section.need("published", "a number, or a text")?;
    let published = each.own(published, published.is_array())?;
    let shown =
        if published.is_text() { each.filled(published.text()?) } else { published.number()?.to_string() };
    let number = published.number().ok();
    let impossible = section.get("not_simulable");
    let (of, value, band) = (section.get("of"), section.get("value"), section.get("band"));
    let simulation = match impossible {
        Some(why) => Simulation::Impossible(each.filled(why.text()?)),
        None => figure(section, each, number, of, value, band)?,
    };
    Ok(Row {
        what: text("what", "what it is")?,
        source: text("source", "who says so")?,
        unit: text("unit", "its unit")?,
        published: shown,
        simulation,
    })
}

fn figure(
    section: &Section<'_>,
    each: &Each,
    published: Option<f64>,
    of: Option<Entry<'_>>,
    value: Option<Entry<'_>>,
    band: Option<Entry<'_>>,
) -> Result<Simulation, ScenarioError> {
    let of =
        of.map_or_else(|| section.need("of", "names, each with [CASE, METRIC]; or 'not_simulable'"), Ok)?;
    let mut names = BTreeMap::new();
    for entry in of.table("of")?.entries() {
        let [case, metric] = entry.items()?[..] else { return Err(entry.wrong("[CASE, METRIC]")) };
        names.insert(entry.key.to_owned(), (each.filled(case.text()?), each.filled(metric.text()?)));
    }
    let expression = match value {
        Some(entry) => Expression::read(entry.text()?).ok_or_else(|| entry.wrong(arithmetic::ACCEPTED))?,
        None => Expression::Name("a".into()),
    };
    if let Some(name) = expression.names().into_iter().find(|name| !names.contains_key(*name)) {
        return Err(of.error(Fault::Sense(format!("'{name}' is not among the names in 'of'"))));
    }
    let band = band.map_or_else(|| section.need("band", BANDS), Ok)?;
    // A list for each holds bands, not numbers.
    let is_list = band.is_array() && band.items()?.first().is_some_and(|i| i.is_array() || i.is_text());
    let band = self::band(&each.own(band, is_list)?, published)?;
    Ok(Simulation::Figure { of: names, value: expression, band })
}

fn band(entry: &Entry<'_>, published: Option<f64>) -> Result<Interval, ScenarioError> {
    if entry.is_array() {
        let [low, high] = entry.items()?[..] else { return Err(entry.wrong(BANDS)) };
        let (low, high) = (low.number()?, high.number()?);
        return if low <= high { Ok(Interval { low, high }) } else { Err(entry.wrong(BANDS)) };
    }
    let rule = entry.text()?;
    let published = published.ok_or_else(|| entry.wrong("[LOW, HIGH]: what was published is no number"))?;
    let (kind, n) = rule.split_once(' ').map_or((rule, None), |(kind, n)| (kind, n.parse().ok()));
    match (kind, n) {
        ("factor", Some(n)) if n >= 1.0 => Ok(factor(published, n)),
        ("within", Some(n)) => Ok(within(published, n)),
        ("change", None) if published.abs() >= 5.0 => Ok(factor(published, 3.0)),
        ("change", None) => Ok(within(published, 10.0)),
        _ => Err(entry.wrong(BANDS)),
    }
}

fn factor(published: f64, n: f64) -> Interval {
    let (a, b) = (published / n, published * n);
    Interval { low: a.min(b), high: a.max(b) }
}

fn within(published: f64, n: f64) -> Interval {
    Interval { low: published - n, high: published + n }
}
