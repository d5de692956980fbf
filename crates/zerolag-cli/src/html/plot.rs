// SPDX-License-Identifier: GPL-2.0-only
//! Plots, as shapes first and then as SVG, in which colours are variables of the page, with values of their own for a
//! file that stands alone. `png` makes pixels of the same shapes.

use std::fmt::Write;

/// Size of a plot and its margins, in units of the SVG.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;

/// How many colours there are.
pub(crate) const COLOURS: usize = 10;

/// Colours for lines and areas, light and dark: as style rules for the elements below `scope`.
pub(crate) const STYLE: &str = "\
:root{--fg:#1b1f24;--dim:#667;--grid:#dde1e6;--bg:#fff;--c0:#1f6fb4;--c1:#d1661a;--c2:#2c8a43;--c3:#b3373a;\
--c4:#7d52b0;--c5:#8a5a44;--c6:#c14f9b;--c7:#5f6b76;--c8:#8f8a12;--c9:#12898f}\
@media(prefers-color-scheme:dark){:root{--fg:#e6e8eb;--dim:#9aa3ad;--grid:#333a42;--bg:#14171a;--c0:#6db1ee;\
--c1:#f39c5a;--c2:#6cc784;--c3:#ee7f82;--c4:#b79ae0;--c5:#c79d8a;--c6:#ec93cb;--c7:#a7b1bb;--c8:#d3cd4f;\
--c9:#56c9cf}}";

/// How a value becomes a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    Linear,
    /// For values from 1 on; smaller ones are put at 1.
    Log,
}

/// One axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) title: String,
    pub(crate) scale: Scale,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Axis {
    pub(crate) fn new(title: impl Into<String>, scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|v| v.is_finite()) {
            (least, most) = (least.min(value), most.max(value));
        }
        if least > most {
            (least, most) = (0.0, 1.0);
        }
        if let Scale::Log = scale {
            (least, most) = (least.max(1.0), most.max(10.0));
        }
        if most <= least {
            most = least + 1.0;
        }
        Self { title: title.into(), scale, least, most }
    }

    /// From 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let of = |v: f64| match self.scale {
            Scale::Linear => v,
            Scale::Log => v.max(1.0).log10(),
        };
        let (least, most) = (of(self.least), of(self.most));
        ((of(value) - least) / (most - least)).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = (self.most - self.least) / 6.0;
                let power = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough);
                let step = step.unwrap_or(10.0 * power);
                let first = (self.least / step).ceil() as i64;
                let last = (self.most / step).floor() as i64;
                (first..=last).map(|n| n as f64 * step).collect()
            }
            Scale::Log => {
                let (first, last) = (self.least.log10().floor() as i32, self.most.log10().ceil() as i32);
                (first..=last)
                    .map(|n| 10f64.powi(n))
                    .filter(|v| (self.least..=self.most).contains(v))
                    .collect()
            }
        }
    }
}

/// A number with as few digits as it needs: 0.25, 40, 3k, 1.5M.
pub(crate) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", if text == "-0" { "0" } else { text })
}

/// Text for an element or an attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// What something is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Grid,
    /// One of the [`COLOURS`].
    Colour(usize),
}

/// Where a text has its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Something in a picture, in units of the SVG.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Line {
        points: Vec<(f64, f64)>,
        paint: Paint,
        width: f64,
    },
    Area {
        points: Vec<(f64, f64)>,
        paint: Paint,
    },
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        paint: Paint,
    },
    /// A point with a name that shows when it is pointed at.
    Point {
        x: f64,
        y: f64,
        paint: Paint,
        name: String,
    },
    Text {
        x: f64,
        y: f64,
        anchor: Anchor,
        text: String,
    },
    /// A text from the bottom to the top.
    Upright {
        x: f64,
        y: f64,
        text: String,
    },
}

/// A plot that is drawn, whatever becomes of it.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) title: String,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
}

/// Where the title of a picture stands.
pub(crate) const TITLE_AT: (f64, f64) = (LEFT, 18.0);
pub(crate) const TITLE_SIZE: f64 = 13.0;
pub(crate) const TEXT_SIZE: f64 = 11.0;
pub(crate) const POINT_RADIUS: f64 = 4.0;

/// A plot that is being drawn.
pub(crate) struct Plot {
    picture: Picture,
    x: Axis,
    y: Axis,
    legend: usize,
}

impl Plot {
    pub(crate) fn new(title: &str, x: Axis, y: Axis) -> Self {
        let mut plot = Self::blank(title, x, y, HEIGHT);
        plot.axes();
        plot
    }

    /// A plot with a row for each name, from the top; its y axis is unused.
    pub(crate) fn rows(title: &str, x: Axis, names: &[String]) -> Self {
        let y = Axis { title: String::new(), scale: Scale::Linear, least: 0.0, most: 1.0 };
        let height = TOP + BOTTOM + 22.0 * names.len().max(1) as f64;
        let mut plot = Self::blank(title, x, y, height);
        plot.x_axis();
        for (row, name) in names.iter().enumerate() {
            let y = TOP + 22.0 * row as f64 + 14.0;
            plot.text(LEFT - 6.0, y, Anchor::End, name);
        }
        plot
    }

    fn blank(title: &str, x: Axis, y: Axis, height: f64) -> Self {
        let picture = Picture { title: title.to_owned(), width: WIDTH, height, shapes: Vec::new() };
        Self { picture, x, y, legend: 0 }
    }

    fn draw(&mut self, shape: Shape) {
        self.picture.shapes.push(shape);
    }

    fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.draw(Shape::Text { x, y, anchor, text: text.to_owned() });
    }

    fn grid_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.draw(Shape::Line { points: vec![from, to], paint: Paint::Grid, width: 1.0 });
    }

    fn x_axis(&mut self) {
        let bottom = self.picture.height - BOTTOM;
        for tick in self.x.ticks() {
            let x = self.x_of(tick);
            self.grid_line((x, TOP), (x, bottom));
            self.text(x, bottom + 14.0, Anchor::Middle, &short(tick));
        }
        let title = self.x.title.clone();
        self.text((LEFT + WIDTH - RIGHT) / 2.0, self.picture.height - 12.0, Anchor::Middle, &title);
    }

    fn axes(&mut self) {
        self.x_axis();
        for tick in self.y.ticks() {
            let y = self.y_of(tick);
            self.grid_line((LEFT, y), (WIDTH - RIGHT, y));
            self.text(LEFT - 6.0, y + 4.0, Anchor::End, &short(tick));
        }
        let middle = (TOP + self.picture.height - BOTTOM) / 2.0;
        self.draw(Shape::Upright { x: 14.0, y: middle, text: self.y.title.clone() });
    }

    fn x_of(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y_of(&self, value: f64) -> f64 {
        let bottom = self.picture.height - BOTTOM;
        bottom - self.y.place(value) * (bottom - TOP)
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x_of(x), self.y_of(y))
    }

    /// A line through points.
    pub(crate) fn line(&mut self, colour: usize, points: impl Iterator<Item = (f64, f64)>) {
        let points: Vec<_> = points.map(|point| self.at(point)).collect();
        if !points.is_empty() {
            self.draw(Shape::Line { points, paint: Paint::Colour(colour), width: 1.6 });
        }
    }

    /// An area between a least and a most.
    pub(crate) fn band(&mut self, colour: usize, points: &[(f64, f64, f64)]) {
        let there = points.iter().map(|&(x, _, most)| (x, most));
        let back = points.iter().rev().map(|&(x, least, _)| (x, least));
        let points: Vec<_> = there.chain(back).map(|point| self.at(point)).collect();
        if !points.is_empty() {
            self.draw(Shape::Area { points, paint: Paint::Colour(colour) });
        }
    }

    /// A point with a name that shows when it is pointed at.
    pub(crate) fn point(&mut self, colour: usize, x: f64, y: f64, name: &str) {
        let (x, y) = self.at((x, y));
        self.draw(Shape::Point { x, y, paint: Paint::Colour(colour), name: name.to_owned() });
    }

    /// A bar from the bottom up, or on top of another.
    pub(crate) fn bar(&mut self, colour: usize, x: (f64, f64), y: (f64, f64)) {
        let ((left, low), (right, high)) = (self.at((x.0, y.0)), self.at((x.1, y.1)));
        let (width, height) = ((right - left).max(0.6), (low - high).max(0.0));
        self.draw(Shape::Rect { x: left, y: high, width, height, paint: Paint::Colour(colour) });
    }

    /// A piece of a row.
    pub(crate) fn piece(&mut self, row: usize, x: (f64, f64), colour: usize) {
        let (left, right) = (self.x_of(x.0), self.x_of(x.1));
        let (y, paint) = (TOP + 22.0 * row as f64, Paint::Colour(colour));
        self.draw(Shape::Rect { x: left, y, width: right - left, height: 18.0, paint });
    }

    /// Says what a colour stands for.
    pub(crate) fn name(&mut self, colour: usize, name: &str) {
        let rows = ((self.picture.height - TOP - BOTTOM) / 16.0) as usize;
        if self.legend >= rows.max(1) {
            return;
        }
        let (x, y) = (WIDTH - RIGHT + 10.0, TOP + 16.0 * self.legend as f64);
        // What differs is mostly at the end.
        let long = name.chars().count().saturating_sub(20);
        let cut: String = if long > 0 {
            ['…'].into_iter().chain(name.chars().skip(long + 1)).collect()
        } else {
            name.to_owned()
        };
        self.draw(Shape::Rect { x, y, width: 10.0, height: 10.0, paint: Paint::Colour(colour) });
        self.text(x + 15.0, y + 9.0, Anchor::Start, &cut);
        self.legend += 1;
    }

    /// The drawing.
    pub(crate) fn finish(self) -> Picture {
        self.picture
    }
}

impl Picture {
    /// As SVG, to stand in a page that has [`STYLE`].
    pub(crate) fn svg(&self) -> String {
        let (title, Self { width, height, .. }) = (escape(&self.title), self);
        let (x, y) = TITLE_AT;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{title}\" font-family=\"system-ui,sans-serif\" font-size=\"{TEXT_SIZE}\" \
             fill=\"var(--fg)\"><text x=\"{x}\" y=\"{y}\" font-size=\"{TITLE_SIZE}\" font-weight=\"600\">{title}</text>"
        );
        for shape in &self.shapes {
            shape.write_svg(&mut svg);
        }
        svg.push_str("</svg>");
        svg
    }
}

impl Paint {
    /// The variable of [`STYLE`].
    fn variable(self) -> String {
        match self {
            Self::Grid => "var(--grid)".to_owned(),
            Self::Colour(colour) => format!("var(--c{})", colour % COLOURS),
        }
    }
}

impl Shape {
    fn write_svg(&self, svg: &mut String) {
        let path = |points: &[(f64, f64)]| {
            let mut path = String::new();
            for (x, y) in points {
                let letter = if path.is_empty() { 'M' } else { 'L' };
                _ = write!(path, "{letter}{x:.1} {y:.1}");
            }
            path
        };
        _ = match self {
            Self::Line { points, paint, width } => {
                let (path, paint) = (path(points), paint.variable());
                write!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{paint}\" stroke-width=\"{width}\"/>")
            }
            Self::Area { points, paint } => {
                let (path, paint) = (path(points), paint.variable());
                write!(
                    svg,
                    "<path d=\"{path}Z\" fill=\"{paint}\" fill-opacity=\".35\" stroke=\"{paint}\" stroke-width=\"1\"/>"
                )
            }
            Self::Rect { x, y, width, height, paint } => write!(
                svg,
                "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{}\"/>",
                paint.variable()
            ),
            Self::Point { x, y, paint, name } => write!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{POINT_RADIUS}\" fill=\"{}\" fill-opacity=\".8\">\
                 <title>{}</title></circle>",
                paint.variable(),
                escape(name)
            ),
            Self::Text { x, y, anchor, text } => {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                write!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
                    escape(text)
                )
            }
            Self::Upright { x, y, text } => write!(
                svg,
                "<text transform=\"translate({x} {y:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                escape(text)
            ),
        };
    }
}

/// A drawing as a file of its own.
pub(crate) fn alone(svg: &str) -> String {
    let end = svg.find('>').map_or(0, |at| at + 1);
    let (start, rest) = svg.split_at(end);
    format!("{start}<style>{STYLE}svg{{background:var(--bg)}}</style>{rest}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.25, "0.25"),
            (40.0, "40"),
            (12_000.0, "12k"),
            (1_500_000.0, "1.5M"),
            (-0.0, "0"),
            (0.0001, "0"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn ticks_lie_within_their_axis_and_are_few() {
        for (least, most) in [(0.0, 1.0), (3.0, 3.1), (-5.0, 7e9), (0.0, 30.0)] {
            let axis = Axis::new("", Scale::Linear, [least, most].into_iter());
            let ticks = axis.ticks();
            assert!((2..=8).contains(&ticks.len()), "{least} {most}: {ticks:?}");
            assert!(ticks.iter().all(|t| *t >= least - 1e-9 && *t <= most + 1e-9));
        }
        let axis = Axis::new("", Scale::Log, [0.0, 5e6].into_iter());
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
    }

    #[test]
    fn names_cannot_break_out() {
        assert_eq!(escape("<a b=\"c\">&'\u{1}"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\u{fffd}");
    }
}
