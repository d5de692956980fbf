// SPDX-License-Identifier: GPL-2.0-only
//! The table of features, cell by cell, against what was found in the kernels' own `features.h`.
//!
//! Read from source: 2.6.29, the 2009 patch, 4.6.2, 4.12.4, 4.16.13, 6.1.192, 6.12.117, 6.18.2. The series of
//! March 2023 from its patches; 6.6 from a file of 6.9 and the contexts of patches for 6.6. The kernels
//! between them (4.11, 4.17) and what patches of documents add have no column here.

use std::collections::BTreeSet;

use zerolag_core::features::Feature;
use zerolag_core::kernel::Kernel;

const COLUMNS: [Kernel; 10] = [
    Kernel::V2_6_29,
    Kernel::V2_6_29Pw,
    Kernel::V4_6,
    Kernel::V4_12,
    Kernel::V4_16,
    Kernel::V6_1,
    Kernel::EevdfRfc,
    Kernel::V6_6,
    Kernel::V6_12,
    Kernel::V6_18,
];

/// 1 on, 0 off, - absent.
const FOUND: &str = "
NEW_FAIR_SLEEPERS       1 1 - - - - - - - -
NORMALIZED_SLEEPER      1 0 - - - - - - - -
GENTLE_FAIR_SLEEPERS    - - 1 1 1 1 - - - -
START_DEBIT             1 1 1 1 1 1 - - - -
WAKEUP_PREEMPT          1 1 - - - - - - - -
WAKEUP_PREEMPTION       - - 1 1 1 1 1 1 1 1
AFFINE_WAKEUPS          1 1 - - - - - - - -
SYNC_WAKEUPS            1 1 - - - - - - - -
WAKEUP_OVERLAP          0 0 - - - - - - - -
ASYM_GRAN               1 1 - - - - - - - -
ADAPTIVE_GRAN           - 1 - - - - - - - -
LB_BIAS                 1 1 1 1 1 - - - - -
LB_WAKEUP_UPDATE        1 1 - - - - - - - -
ASYM_EFF_LOAD           1 1 - - - - - - - -
OWNER_SPIN              - 1 - - - - - - - -
NEXT_BUDDY              - - 0 0 0 0 0 0 0 0
LAST_BUDDY              1 1 1 1 1 1 - - - -
PICK_BUDDY              - - - - - - - - 1 1
CACHE_HOT_BUDDY         1 1 1 1 1 1 1 1 1 1
HRTICK                  0 0 0 0 0 0 0 0 0 0
HRTICK_DL               - - - - - 0 0 0 0 0
DOUBLE_TICK             0 0 0 0 0 0 0 0 0 -
NONTASK_CAPACITY        - - 1 1 1 1 1 1 1 1
TTWU_QUEUE              - - 1 1 1 1 1 1 1 1
SIS_AVG_CPU             - - - 0 0 - - - - -
SIS_PROP                - - - 1 1 0 0 0 - -
SIS_UTIL                - - - - - 1 1 1 1 1
WARN_DOUBLE_CLOCK       - - - 0 0 0 0 0 0 0
RT_PUSH_IPI             - - 1 1 1 0 1 1 0 1
FORCE_SD_OVERLAP        - - 0 0 - - - - - -
RT_RUNTIME_SHARE        - - 1 1 1 0 0 0 0 0
LB_MIN                  - - 0 0 0 0 0 0 0 0
ATTACH_AGE_LOAD         - - 1 1 1 1 1 1 1 1
WA_IDLE                 - - - - 1 1 1 1 1 1
WA_WEIGHT               - - - - 1 1 1 1 1 1
WA_BIAS                 - - - - 1 1 1 1 1 1
UTIL_EST                - - - - - 1 1 1 1 1
UTIL_EST_FASTUP         - - - - - 1 1 1 - -
LATENCY_WARN            - - - - - 0 0 0 0 0
ALT_PERIOD              - - - - - 1 - - - -
BASE_SLICE              - - - - - 1 - - - -
HZ_BW                   - - - - - - - 1 - -
NI_RANDOM               - - - - - 1 - 1 1 -
PLACE_LAG               - - - - - - 1 1 1 1
PLACE_FUDGE             - - - - - - 1 - - -
PLACE_DEADLINE_INITIAL  - - - - - - 1 1 1 1
PLACE_BONUS             - - - - - - 0 - - -
MINIMAL_VA              - - - - - - 0 - - -
VALIDATE_QUEUE          - - - - - - 0 - - -
RUN_TO_PARITY           - - - - - - - 1 1 1
PLACE_REL_DEADLINE      - - - - - - - - 1 1
PREEMPT_SHORT           - - - - - - - - 1 1
DELAY_DEQUEUE           - - - - - - - - 1 1
DELAY_ZERO              - - - - - - - - 1 1
";

/// Where we differ on purpose.
const EXCEPT: [(&str, Kernel, Option<bool>); 1] = [
    // The series is put onto 6.1.192, which has it; its own base, 6.3-rc, had not.
    ("NI_RANDOM", Kernel::EevdfRfc, Some(true)),
];

/// Switches that documents add to a kernel.
const OF_DOCUMENTS: [&str; 3] = ["SMP_NICE_GROUPS", "FUDGE", "FUDGE2"];

#[test]
fn every_default_is_the_kernels() {
    let mut seen: BTreeSet<&str> = OF_DOCUMENTS.into();
    for row in FOUND.trim().lines() {
        let mut words = row.split_whitespace();
        let name = words.next().unwrap();
        assert!(seen.insert(name), "{name} stands there twice");
        let feature = Feature::by_name(name).unwrap_or_else(|| panic!("{name} is missing"));
        let cells: Vec<&str> = words.collect();
        assert_eq!(cells.len(), COLUMNS.len(), "{row}");
        for (kernel, cell) in COLUMNS.into_iter().zip(cells) {
            let found = match cell {
                "1" => Some(true),
                "0" => Some(false),
                _ => None,
            };
            let except = EXCEPT.iter().find(|(n, k, _)| (*n, *k) == (name, kernel));
            let expected = except.map_or(found, |(_, _, ours)| *ours);
            assert_eq!(feature.default_in(kernel), expected, "{name} in {kernel}");
        }
    }
    for feature in Feature::ALL {
        assert!(seen.contains(feature.name()), "{feature} has not been found in any kernel");
    }
}
