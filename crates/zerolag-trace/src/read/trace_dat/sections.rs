// SPDX-License-Identifier: GPL-2.0-only
//! The sections of version 7.

use std::io::Read;

use super::{MALFORMED, StreamPlace, Tables};
use crate::read::ReadError;
use crate::read::bytes::{Bytes, Endian};
use crate::read::format::Formats;
use crate::read::header::cpu_id;
use crate::read::storage::Storage;
use crate::read::tracing_data;
use crate::read::unpack::ZstdFrames;

mod id {
    pub(super) const OPTIONS: u16 = 0;
    pub(super) const OPTION_DONE: u16 = 0;
    pub(super) const OPTION_BUFFER: u16 = 3;
    pub(super) const OPTION_EVENT_FORMATS: u16 = 18;
}

const COMPRESSED: u16 = 1;

const SECTION_HEADER_LEN: usize = 16;
/// Largest section of descriptions that is read.
const SECTION_LEN_MAX: u64 = 256 << 20;
/// Sections of options that are followed; a real recording has a handful.
const OPTION_SECTIONS_MAX: usize = 64;

/// A section that is read into memory.
struct Section {
    id: u16,
    data: Vec<u8>,
}

pub(super) fn version_7(storage: &mut Storage, at: u64, endian: Endian) -> Result<Tables, ReadError> {
    let mut head = Vec::new();
    storage.read_at(at, 256, &mut head)?;
    let mut bytes = Bytes::new(&head, endian);
    let algorithm = bytes.text().ok_or(MALFORMED)?;
    let _version = bytes.text().ok_or(MALFORMED)?;
    if !matches!(algorithm, b"none" | b"zstd" | b"") {
        return Err(ReadError::Unsupported("a trace.dat compressed by something else than zstd"));
    }
    let mut tables = Tables { formats: Formats::new(endian), streams: Vec::new(), instances: Vec::new() };
    let mut next = bytes.u64().ok_or(MALFORMED)?;
    for _ in 0..OPTION_SECTIONS_MAX {
        if next == 0 {
            if tables.streams.iter().all(|place| place.size == 0) {
                tables.streams.append(&mut tables.instances);
            }
            return Ok(tables);
        }
        let section = section(storage, next, endian)?.filter(|s| s.id == id::OPTIONS).ok_or(MALFORMED)?;
        next = options(storage, Bytes::new(&section.data, endian), &mut tables)?;
    }
    Err(MALFORMED)
}

/// Follows one section of options and returns where the next one is, 0 after the last.
fn options(storage: &mut Storage, mut bytes: Bytes<'_>, tables: &mut Tables) -> Result<u64, ReadError> {
    loop {
        let option = bytes.u16().ok_or(MALFORMED)?;
        let len = bytes.u32().ok_or(MALFORMED)?;
        let data = bytes.take_long(len.into()).ok_or(MALFORMED)?;
        let mut data = Bytes::new(data, bytes.endian);
        match option {
            id::OPTION_DONE => return Ok(data.u64().unwrap_or(0)),
            id::OPTION_EVENT_FORMATS => {
                let place = data.u64().ok_or(MALFORMED)?;
                let section = section(storage, place, bytes.endian)?.ok_or(MALFORMED)?;
                let mut text = Bytes::new(&section.data, bytes.endian);
                tracing_data::event_formats(&mut text, &mut tables.formats).ok_or(MALFORMED)?;
            }
            id::OPTION_BUFFER => {
                let place = data.u64().ok_or(MALFORMED)?;
                let compressed = section_flags(storage, place, bytes.endian)? & COMPRESSED != 0;
                buffer(data, compressed, tables).ok_or(MALFORMED)?;
            }
            _ => {}
        }
    }
}

/// `name\0 clock\0 page_size(u32) cpus(u32) { cpu(u32) offset(u64) size(u64) }`
fn buffer(mut bytes: Bytes<'_>, compressed: bool, tables: &mut Tables) -> Option<()> {
    let name = bytes.text()?;
    let _clock = bytes.text()?;
    let page_size = usize::try_from(bytes.u32()?).ok()?;
    for _ in 0..bytes.u32()? {
        let cpu = cpu_id(bytes.u32()?.into())?;
        let (offset, size) = (bytes.u64()?, bytes.u64()?);
        let place = StreamPlace { cpu, offset, size, page_size, compressed };
        // The buffer without a name is the main one; others may hold the same events once more.
        if name.is_empty() { &mut tables.streams } else { &mut tables.instances }.push(place);
    }
    Some(())
}

fn section_flags(storage: &mut Storage, at: u64, endian: Endian) -> Result<u16, ReadError> {
    let mut header = Vec::new();
    storage.read_at(at, SECTION_HEADER_LEN, &mut header)?;
    let mut bytes = Bytes::new(&header, endian);
    bytes.u16().and_then(|_id| bytes.u16()).ok_or(MALFORMED)
}

/// The section at this place; none if it is not there as a whole or does not make sense.
fn section(storage: &mut Storage, at: u64, endian: Endian) -> Result<Option<Section>, ReadError> {
    let mut header = Vec::new();
    storage.read_at(at, SECTION_HEADER_LEN, &mut header)?;
    let mut bytes = Bytes::new(&header, endian);
    let (Some(id), Some(flags), Some(_name), Some(size)) =
        (bytes.u16(), bytes.u16(), bytes.u32(), bytes.u64())
    else {
        return Ok(None);
    };
    if size > SECTION_LEN_MAX {
        return Ok(None);
    }
    let mut data = Vec::new();
    storage.read_at(at + SECTION_HEADER_LEN as u64, size as usize, &mut data)?;
    if data.len() as u64 != size {
        return Ok(None);
    }
    if flags & COMPRESSED != 0 {
        // compressed(u32) uncompressed(u32) data
        let mut packed = Bytes::new(&data, endian);
        let (Some(len), Some(_unpacked)) = (packed.u32(), packed.u32()) else { return Ok(None) };
        let Some(chunk) = packed.take_long(len.into()) else { return Ok(None) };
        let mut unpacked = Vec::new();
        ZstdFrames::new(chunk).take(SECTION_LEN_MAX).read_to_end(&mut unpacked)?;
        data = unpacked;
    }
    Ok(Some(Section { id, data }))
}
