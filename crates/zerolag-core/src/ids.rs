// SPDX-License-Identifier: GPL-2.0-only
//! Typed indices into the scheduler's arenas, and the arena itself.
//!
//! An id is a small number that means something only together with the arena it belongs to; giving each
//! arena its own id type makes mixing them up a compile error. Ids of tasks and groups are never reused
//! within a run, so a trace stays unambiguous.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};

/// A type that numbers the elements of one arena.
pub trait Id: Copy + Ord + fmt::Debug {
    /// The id with this position. Panics if `index` does not fit the id.
    fn from_index(index: usize) -> Self;
    /// The position in the arena.
    fn index(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("an arena holds fewer than 2^32 elements"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        id!(print $name, $prefix);
    };
    // The same with room for `None` in the same four bytes: these ids fill the links of trees and queues.
    ($(#[$doc:meta])* niche $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
                Self(number.expect("an arena holds fewer than 2^32 elements"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl $name {
            /// As a number that is 0 for nothing.
            #[inline]
            #[allow(dead_code, reason = "not every niche id is packed")]
            pub(crate) const fn pack(id: Option<Self>) -> u32 {
                match id {
                    None => 0,
                    Some(id) => id.0.get(),
                }
            }

            /// From such a number.
            #[inline]
            #[allow(dead_code, reason = "not every niche id is packed")]
            pub(crate) const fn unpack(number: u32) -> Option<Self> {
                match NonZeroU32::new(number) {
                    None => None,
                    Some(n) => Some(Self(n)),
                }
            }
        }

        id!(print $name, $prefix);
    };
    (print $name:ident, $prefix:literal) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.index())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.index())
            }
        }
    };
}

id!(
    /// A logical CPU, numbered from 0 as Linux numbers it.
    CpuId,
    "cpu"
);
id!(
    /// A task (thread). Never reused within a run.
    TaskId,
    "T"
);
id!(
    /// A task group (cgroup). [`GroupId::ROOT`] is the root group.
    GroupId,
    "G"
);
id!(
    /// A schedulable entity: a task, or a group's representative on one CPU.
    niche EntityId,
    "se"
);
id!(
    /// A fair run queue (`cfs_rq`): one per group and CPU.
    niche QueueId,
    "cfs_rq"
);

id!(
    /// A physical core of the machine: the hardware threads that share its pipelines.
    CoreId,
    "core"
);
id!(
    /// Cores that share a cache below the last level, or its tags (an L2, say).
    ClusterId,
    "cluster"
);
id!(
    /// A last-level cache.
    LlcId,
    "llc"
);
id!(
    /// What sits in one socket.
    PackageId,
    "package"
);
id!(
    /// A NUMA node that has CPUs. Nodes with memory only are not counted.
    NodeId,
    "node"
);
id!(
    /// One CPU's scheduling domain of one level (`sched_domain`).
    DomainId,
    "sd"
);
id!(
    /// A group within a scheduling domain (`sched_group`).
    SchedGroupId,
    "sg"
);
id!(
    /// What groups that are the same CPUs seen from several domains share (`sched_group_capacity`).
    CapacityId,
    "sgc"
);
id!(
    /// What the CPUs of one last-level cache share (`sched_domain_shared`).
    SharedId,
    "sds"
);
id!(
    /// A root domain: CPUs that are balanced among each other and with nobody else.
    RootId,
    "rd"
);
id!(
    /// A set of CPUs that the scheduling domains refer to; equal sets have equal ids.
    SpanId,
    "span"
);

impl GroupId {
    /// The group that every other group descends from.
    pub const ROOT: Self = Self(0);
}

/// A vector indexed by its own id type.
#[derive(Clone, PartialEq, Eq)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    id: PhantomData<I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An arena with nothing in it.
    pub const fn new() -> Self {
        Self { items: Vec::new(), id: PhantomData }
    }

    /// Appends an element and returns its id.
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// Number of elements.
    pub const fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The element, or nothing if the id is not of this arena.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The elements without their ids.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.items
    }

    /// The elements without their ids.
    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.items
    }

    /// Ids in ascending order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// Elements with their ids, in ascending order of id.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(i, t)| (I::from_index(i), t))
    }

    /// Mutable elements with their ids, in ascending order of id.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (I, &mut T)> {
        self.items.iter_mut().enumerate().map(|(i, t)| (I::from_index(i), t))
    }
}

impl<I: Id, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(items: It) -> Self {
        Self { items: items.into_iter().collect(), id: PhantomData }
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
