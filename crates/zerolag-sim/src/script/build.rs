// SPDX-License-Identifier: GPL-2.0-only
//! How the kernel that a script runs on is built.

use zerolag_core::kernel::Kernel;

/// A kernel, and which of the reference programs' builds of it is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// The kernel.
    pub kernel: Kernel,
    /// It is built with CFS bandwidth: scripts may set quotas, and the bandwidth of groups and queues is
    /// printed.
    pub bandwidth: bool,
}

/// The builds with CFS bandwidth that the reference has.
const WITH_BANDWIDTH: [(&str, Kernel); 3] =
    [("6.1bw", Kernel::V6_1), ("6.12bw", Kernel::V6_12), ("6.18bw", Kernel::V6_18)];

impl Build {
    /// The names of all builds: those of kernels, then those with CFS bandwidth, which end with `bw`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Kernel::ALL.into_iter().map(Kernel::name).chain(WITH_BANDWIDTH.map(|(name, _)| name))
    }

    /// The reference's idle CPUs stop their tick. That of 2.6.29 has no such thing, although the kernel does.
    pub(super) fn has_nohz(self) -> bool {
        !matches!(self.kernel, Kernel::V2_6_29 | Kernel::V2_6_29Pw)
    }

    /// The build of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        if let Some(kernel) = Kernel::by_name(name) {
            return Some(kernel.into());
        }
        let known = WITH_BANDWIDTH.into_iter().find(|&(known, _)| known == name);
        known.map(|(_, kernel)| Self { kernel, bandwidth: true })
    }
}

impl From<Kernel> for Build {
    fn from(kernel: Kernel) -> Self {
        Self { kernel, bandwidth: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_named_after_its_kernel() {
        for name in Build::names() {
            let build = Build::by_name(name).unwrap();
            assert_eq!(name.strip_suffix("bw").unwrap_or(name), build.kernel.name());
            assert_eq!(name.ends_with("bw"), build.bandwidth);
        }
        assert_eq!(Build::by_name("2.6.29bw"), None);
        assert_eq!(Build::by_name("bw"), None);
    }
}
