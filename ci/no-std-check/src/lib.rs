// SPDX-License-Identifier: GPL-2.0-only
//! Proof that `zerolag-core` needs no standard library: it links into a static library that has a panic
//! handler and an allocator of its own. Were `std` anywhere in it, the two panic handlers would clash.

#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr;

use zerolag_core::ids::CpuId;
use zerolag_core::kernel::Kernel;
use zerolag_core::scheduler::Scheduler;
use zerolag_core::topology::TopologyBuilder;
use zerolag_core::units::Instant;

/// Has no memory to give: nothing here is ever run.
struct Nothing;

// SAFETY: null is how an allocator says that it has no memory; nothing is ever given out, or comes back.
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Nothing = Nothing;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Keeps the scheduler in the library.
#[unsafe(no_mangle)]
pub extern "C" fn zerolag_tick() -> bool {
    let (Some(config), Ok(machine)) = (Kernel::V6_12.config(1), TopologyBuilder::new().build()) else {
        return false;
    };
    let mut scheduler = Scheduler::new(config, machine);
    scheduler.tick(Instant(4_000_000), CpuId(0))
}
