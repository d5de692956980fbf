// SPDX-License-Identifier: GPL-2.0-only
//! The extension module of the Python package `zerolag`: what is in `zerolag_study`, for Python.
//!
//! Nothing is computed here. Each module makes Python's arguments into the engine's, lets the interpreter go,
//! calls the engine, and hands over what comes back. What is written above classes and methods is what
//! users see in Python; their types are in `zerolag/_engine.pyi`.

mod benchmark;
mod case;
mod columns;
mod comparison;
mod error;
mod events;
mod file;
mod follow;
mod latency;
mod replay;
mod run;
mod scenario;
mod series;
mod store;
mod sweep;
mod tuning;

/// The engine. Use what `zerolag` has.
#[pyo3::pymodule]
mod _engine {
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_export]
    use crate::benchmark::{Benchmark, benchmark};
    #[pymodule_export]
    use crate::case::{Case, Outcome};
    #[pymodule_export]
    use crate::comparison::{Comparison, compare};
    #[pymodule_export]
    use crate::file::put;
    #[pymodule_export]
    use crate::replay::{Replay, replay};
    #[pymodule_export]
    use crate::run::{Run, run};
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::sweep::{Sweep, run_all};
    #[pymodule_export]
    use crate::tuning::{Targets, Tuning};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("EVENT_KINDS", PyTuple::new(m.py(), crate::events::KINDS)?)?;
        m.add("__version__", zerolag_study::VERSION)
    }
}
