// SPDX-License-Identifier: GPL-2.0-only
//! Kernel versions as data: which policy, features, tunables and variants each one has.
//!
//! A [`Kernel`] names a preset; [`Kernel::config`] makes the [`Config`] from it. Nothing else in the
//! scheduler knows kernel versions.

use core::fmt;

use crate::config::{BalanceCost, Config};
use crate::features::Features;
use crate::presets::{
    EEVDF_RFC, LINUX_2_6_29, LINUX_2_6_29_PW, LINUX_4_6, LINUX_4_6_UNPATCHED, LINUX_4_11,
    LINUX_4_11_UNPATCHED, LINUX_4_12, LINUX_4_16, LINUX_4_17, LINUX_4_17_STALE, LINUX_6_1, LINUX_6_6,
    LINUX_6_12, LINUX_6_18, Preset,
};

/// A kernel whose scheduler can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kernel {
    /// Linux 2.6.29.
    V2_6_29,
    /// Linux 2.6.29 with the 2009 "prefer wakers" patch.
    V2_6_29Pw,
    /// Linux 4.6.
    V4_6Unpatched,
    /// Linux 4.6, with the 2016 `SMP_NICE_GROUPS` patch as a switch.
    V4_6,
    /// Linux 4.11.
    V4_11Unpatched,
    /// Linux 4.11, with the 2017 load-propagation patch as switches.
    V4_11,
    /// Linux 4.12.
    V4_12,
    /// Linux 4.16.
    V4_16,
    /// Linux 4.17: NOHZ statistics with a `has_blocked` flag.
    V4_17,
    /// Linux 4.17 with the stale-CPU mask of the 2018 document.
    V4_17Stale,
    /// Linux 6.1, the last long-term kernel with CFS.
    V6_1,
    /// "EEVDF using latency-nice", March 2023.
    EevdfRfc,
    /// Linux 6.6, the first kernel with EEVDF.
    V6_6,
    /// Linux 6.12.
    V6_12,
    /// Linux 6.18.
    V6_18,
}

impl Kernel {
    /// Every kernel, oldest first.
    pub const ALL: [Self; 15] = [
        Self::V2_6_29,
        Self::V2_6_29Pw,
        Self::V4_6Unpatched,
        Self::V4_6,
        Self::V4_11Unpatched,
        Self::V4_11,
        Self::V4_12,
        Self::V4_16,
        Self::V4_17,
        Self::V4_17Stale,
        Self::V6_1,
        Self::EevdfRfc,
        Self::V6_6,
        Self::V6_12,
        Self::V6_18,
    ];

    /// The name users give it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2_6_29 => "2.6.29",
            Self::V2_6_29Pw => "2.6.29pw",
            Self::V4_6Unpatched => "4.6unpatched",
            Self::V4_6 => "4.6",
            Self::V4_11Unpatched => "4.11unpatched",
            Self::V4_11 => "4.11",
            Self::V4_12 => "4.12",
            Self::V4_16 => "4.16",
            Self::V4_17 => "4.17",
            Self::V4_17Stale => "4.17stale",
            Self::V6_1 => "6.1",
            Self::EevdfRfc => "eevdf-rfc",
            Self::V6_6 => "6.6",
            Self::V6_12 => "6.12",
            Self::V6_18 => "6.18",
        }
    }

    /// It is another one with or without somebody's patch: what is said of a range of kernels leaves it out.
    pub const fn is_variant(self) -> bool {
        matches!(self, Self::V2_6_29Pw | Self::V4_6Unpatched | Self::V4_11Unpatched | Self::V4_17Stale)
    }

    /// The kernel of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }

    /// Kernels whose scheduler this version implements.
    pub fn implemented() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|k| k.preset().is_some())
    }

    /// This kernel's configuration on a machine with `cpus` CPUs, or nothing if its scheduler is not
    /// implemented.
    pub fn config(self, cpus: usize) -> Option<Config> {
        let preset = self.preset()?;
        Some(Config {
            kernel: self,
            policy: preset.policy,
            features: Features::defaults(self),
            tunables: preset.tunables.scaled(preset.scaling, cpus),
            unscaled: preset.tunables.clone(),
            scaling: preset.scaling,
            variants: preset.variants.clone(),
            hz: 250,
            idle_cpus_are_interrupted: true,
            balance_cost: BalanceCost::default(),
            newidle_seed: [0x12345, 0x6789a, 0xbcdef, 0x13579],
        })
    }

    const fn preset(self) -> Option<&'static Preset> {
        match self {
            Self::V2_6_29 => Some(&LINUX_2_6_29),
            Self::V2_6_29Pw => Some(&LINUX_2_6_29_PW),
            Self::V4_6Unpatched => Some(&LINUX_4_6_UNPATCHED),
            Self::V4_6 => Some(&LINUX_4_6),
            Self::V4_11Unpatched => Some(&LINUX_4_11_UNPATCHED),
            Self::V4_11 => Some(&LINUX_4_11),
            Self::V4_12 => Some(&LINUX_4_12),
            Self::V4_16 => Some(&LINUX_4_16),
            Self::V4_17 => Some(&LINUX_4_17),
            Self::V4_17Stale => Some(&LINUX_4_17_STALE),
            Self::V6_1 => Some(&LINUX_6_1),
            Self::EevdfRfc => Some(&EEVDF_RFC),
            Self::V6_6 => Some(&LINUX_6_6),
            Self::V6_12 => Some(&LINUX_6_12),
            Self::V6_18 => Some(&LINUX_6_18),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernels_number_is_its_place_in_the_list() {
        for (i, k) in Kernel::ALL.into_iter().enumerate() {
            assert_eq!(k as usize, i);
            assert_eq!(Kernel::by_name(k.name()), Some(k));
        }
    }

    #[test]
    fn base_slice_grows_with_the_machine() {
        for (cpus, ns) in [(1, 700_000), (2, 1_400_000), (4, 2_100_000), (8, 2_800_000), (384, 2_800_000)] {
            assert_eq!(Kernel::V6_12.config(cpus).unwrap().tunables.base_slice.0, ns, "{cpus} CPUs");
        }
    }
}
