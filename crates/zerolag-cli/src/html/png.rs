// SPDX-License-Identifier: GPL-2.0-only
//! Plots as PNG: the shapes of a picture on light ground, two pixels to a unit, with letters of a fixed width.

use std::io::Write;

use embedded_graphics::geometry::{OriginDimensions, Point, Size};
use embedded_graphics::mono_font::iso_8859_1::{FONT_9X18, FONT_9X18_BOLD};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::BinaryColor;
use embedded_graphics::text::{Alignment, Baseline, Text, TextStyleBuilder};
use embedded_graphics::{Drawable, Pixel, draw_target::DrawTarget};
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use tiny_skia::{
    Color, FillRule, Paint as Ink, Path, PathBuilder, Pixmap, PremultipliedColorU8, Rect, Stroke, Transform,
};

use super::plot::{Anchor, COLOURS, POINT_RADIUS, Paint, Picture, Shape, TITLE_AT};

/// Pixels to a unit.
const SCALE: f32 = 2.0;
/// The largest picture that is drawn, in units: rows of a machine that is larger are left out.
const HEIGHT_MAX: f64 = 8_000.0;

/// The light colours of the style for SVG.
const TEXT: [u8; 3] = [0x1b, 0x1f, 0x24];
const GRID: [u8; 3] = [0xdd, 0xe1, 0xe6];
const COLOUR: [[u8; 3]; COLOURS] = [
    [0x1f, 0x6f, 0xb4],
    [0xd1, 0x66, 0x1a],
    [0x2c, 0x8a, 0x43],
    [0xb3, 0x37, 0x3a],
    [0x7d, 0x52, 0xb0],
    [0x8a, 0x5a, 0x44],
    [0xc1, 0x4f, 0x9b],
    [0x5f, 0x6b, 0x76],
    [0x8f, 0x8a, 0x12],
    [0x12, 0x89, 0x8f],
];

/// The picture as the bytes of a PNG file.
pub(crate) fn png(picture: &Picture) -> Vec<u8> {
    encode(&canvas(picture))
}

fn canvas(picture: &Picture) -> Pixmap {
    let pixels = |units: f64| (units.min(HEIGHT_MAX) as f32 * SCALE).ceil() as u32;
    let mut canvas =
        Pixmap::new(pixels(picture.width), pixels(picture.height)).expect("a picture has a size");
    canvas.fill(Color::WHITE);
    letters(&mut canvas, TITLE_AT, Anchor::Start, &picture.title, &FONT_9X18_BOLD, false);
    for shape in &picture.shapes {
        draw(&mut canvas, shape);
    }
    canvas
}

/// Three bytes to a pixel, each row as it is: PNG (ISO/IEC 15948), of the parts that every file has.
fn encode(canvas: &Pixmap) -> Vec<u8> {
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in canvas.pixels().chunks(canvas.width() as usize) {
        // How the row is filtered: not at all. The ground is white and opaque, so nothing is premultiplied.
        let bytes = std::iter::once(0).chain(row.iter().flat_map(|p| [p.red(), p.green(), p.blue()]));
        rows.write_all(&bytes.collect::<Vec<u8>>()).expect(MEMORY);
    }
    let mut head = [canvas.width().to_be_bytes(), canvas.height().to_be_bytes()].concat();
    // Eight bits, red green blue, deflate, five filters, not interlaced.
    head.extend([8, 2, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut out, b"IHDR", &head);
    chunk(&mut out, b"IDAT", &rows.finish().expect(MEMORY));
    chunk(&mut out, b"IEND", &[]);
    out
}

const MEMORY: &str = "memory takes anything";

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let mut sum = Crc::new();
    sum.update(kind);
    sum.update(data);
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(kind);
    out.extend(data);
    out.extend(sum.sum().to_be_bytes());
}

fn draw(canvas: &mut Pixmap, shape: &Shape) {
    let scaled = Transform::from_scale(SCALE, SCALE);
    match shape {
        Shape::Line { points, paint, width } => {
            let stroke = Stroke { width: *width as f32, ..Stroke::default() };
            if let Some(path) = path(points, false) {
                canvas.stroke_path(&path, &ink(*paint, 255), &stroke, scaled, None);
            }
        }
        Shape::Area { points, paint } => {
            if let Some(path) = path(points, true) {
                canvas.fill_path(&path, &ink(*paint, 89), FillRule::EvenOdd, scaled, None);
                canvas.stroke_path(&path, &ink(*paint, 255), &Stroke::default(), scaled, None);
            }
        }
        Shape::Rect { x, y, width, height, paint } => {
            if let Some(rect) = Rect::from_xywh(*x as f32, *y as f32, *width as f32, *height as f32) {
                canvas.fill_rect(rect, &ink(*paint, 255), scaled, None);
            }
        }
        Shape::Point { x, y, paint, .. } => {
            if let Some(circle) = PathBuilder::from_circle(*x as f32, *y as f32, POINT_RADIUS as f32) {
                canvas.fill_path(&circle, &ink(*paint, 204), FillRule::Winding, scaled, None);
            }
        }
        Shape::Text { x, y, anchor, text } => letters(canvas, (*x, *y), *anchor, text, &FONT_9X18, false),
        Shape::Upright { x, y, text } => letters(canvas, (*x, *y), Anchor::Middle, text, &FONT_9X18, true),
    }
}

fn ink(paint: Paint, alpha: u8) -> Ink<'static> {
    let [red, green, blue] = match paint {
        Paint::Grid => GRID,
        Paint::Colour(colour) => COLOUR[colour % COLOURS],
    };
    let mut ink = Ink::default();
    ink.set_color_rgba8(red, green, blue, alpha);
    ink
}

fn path(points: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (n, &(x, y)) in points.iter().enumerate() {
        if n == 0 {
            path.move_to(x as f32, y as f32);
        } else {
            path.line_to(x as f32, y as f32);
        }
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// Writes a text at a place, or from there upwards.
fn letters(
    canvas: &mut Pixmap,
    (x, y): (f64, f64),
    anchor: Anchor,
    text: &str,
    font: &MonoFont<'_>,
    upright: bool,
) {
    let alignment = match anchor {
        Anchor::Start => Alignment::Left,
        Anchor::Middle => Alignment::Center,
        Anchor::End => Alignment::Right,
    };
    let style = TextStyleBuilder::new().alignment(alignment).baseline(Baseline::Alphabetic).build();
    // What the font has no letter for would be a question mark.
    let text = text.replace('…', "..").replace('−', "-");
    let face = MonoTextStyle::new(font, BinaryColor::On);
    let mut dots = Dots(Vec::new());
    match Text::with_text_style(&text, ORIGIN, face, style).draw(&mut dots) {
        Ok(_) => {}
        Err(never) => match never {},
    }
    let (left, base) = ((x as f32 * SCALE) as i32, (y as f32 * SCALE) as i32);
    let (width, height) = (canvas.width() as i32, canvas.height() as i32);
    let [red, green, blue] = TEXT;
    let colour =
        PremultipliedColorU8::from_rgba(red, green, blue, 255).expect("opaque colours are premultiplied");
    for Point { x, y } in dots.0.into_iter().map(|dot| dot - ORIGIN) {
        let (x, y) = if upright { (left + y, base - x) } else { (left + x, base + y) };
        if (0..width).contains(&x) && (0..height).contains(&y) {
            canvas.pixels_mut()[(y * width + x) as usize] = colour;
        }
    }
}

/// Where texts begin, far from any edge.
const ORIGIN: Point = Point::new(1 << 14, 1 << 14);

/// The dots of letters, around [`ORIGIN`].
struct Dots(Vec<Point>);

impl DrawTarget for Dots {
    type Color = BinaryColor;
    type Error = std::convert::Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<BinaryColor>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Self::Error> {
        self.0.extend(pixels.into_iter().filter(|pixel| pixel.1.is_on()).map(|pixel| pixel.0));
        Ok(())
    }
}

impl OriginDimensions for Dots {
    fn size(&self) -> Size {
        Size::new(1 << 15, 1 << 15)
    }
}

#[cfg(test)]
mod tests {
    use super::super::plot::{Axis, Plot, STYLE, Scale};
    use super::*;

    #[test]
    fn colours_are_those_of_the_svg() {
        for (n, [red, green, blue]) in COLOUR.into_iter().enumerate() {
            assert!(STYLE.contains(&format!("--c{n}:#{red:02x}{green:02x}{blue:02x}")), "{n}");
        }
        for (name, [red, green, blue]) in [("fg", TEXT), ("grid", GRID)] {
            assert!(STYLE.contains(&format!("--{name}:#{red:02x}{green:02x}{blue:02x}")), "{name}");
        }
    }

    #[test]
    fn all_shapes_leave_pixels_of_their_colour() {
        let axis = |title| Axis::new(title, Scale::Linear, [0.0, 10.0].into_iter());
        let mut plot = Plot::new("A title", axis("time (µs)"), axis("load"));
        plot.line(0, [(0.0, 0.0), (10.0, 10.0)].into_iter());
        plot.band(1, &[(0.0, 2.0, 4.0), (10.0, 3.0, 8.0)]);
        plot.bar(2, (1.0, 3.0), (0.0, 5.0));
        plot.point(3, 5.0, 9.0, "who");
        plot.name(4, "a name that is longer than there is room for");
        let canvas = canvas(&plot.finish());
        assert_eq!((canvas.width(), canvas.height()), (1520, 600));
        let count = |[red, green, blue]: [u8; 3]| {
            canvas.pixels().iter().filter(|p| (p.red(), p.green(), p.blue()) == (red, green, blue)).count()
        };
        assert!(count(TEXT) > 500, "letters: {}", count(TEXT));
        for colour in [0, 1, 2, 4] {
            assert!(count(COLOUR[colour]) > 50, "{colour}: {}", count(COLOUR[colour]));
        }
        assert!(count([255; 3]) > 500_000);
    }

    #[test]
    fn a_file_has_the_pixels_in_rows() {
        let mut canvas = Pixmap::new(3, 2).unwrap();
        canvas.fill(Color::from_rgba8(1, 2, 3, 255));
        let file = encode(&canvas);
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(&file[12..24], b"IHDR\0\0\0\x03\0\0\0\x02");
        assert_eq!(&file[37..41], b"IDAT");
        let len = u32::from_be_bytes(file[33..37].try_into().unwrap()) as usize;
        let mut rows = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&file[41..41 + len]), &mut rows)
            .unwrap();
        assert_eq!(rows, [&[0u8][..], &[1, 2, 3].repeat(3)].concat().repeat(2));
        // The sum that every file ends with.
        assert_eq!(&file[file.len() - 12..], b"\0\0\0\0IEND\xae\x42\x60\x82");
    }
}
