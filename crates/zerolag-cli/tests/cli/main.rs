// SPDX-License-Identifier: GPL-2.0-only
//! The command as its users meet it: what it prints, and how it ends. One program, so that it links once.

mod compare;
mod convert;
mod explain;
mod features;
mod hunt;
mod manners;
mod model;
mod replay;
mod report;
mod reproduce;
mod run;
mod schedule;
mod script;
mod soak;
mod support;
mod sweep;
mod topology;
mod tune;
