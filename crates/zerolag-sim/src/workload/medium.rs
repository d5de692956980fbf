// SPDX-License-Identifier: GPL-2.0-only
//! Pipes and sockets: how much they hold, and what it costs to send and receive.
//!
//! Capacities are the kernel's. Costs are assumed: round numbers of the order that a server of the years around
//! 2020 has, of system calls without waking or switching, which the machine's [`Costs`](crate::costs::Costs)
//! add; the same for all kernels.

use zerolag_core::units::Nanos;

use crate::resource::ChannelSpec;

/// Pages of a pipe, and their size.
const PIPE_PAGES: u32 = 16;
const PAGE: u32 = 4096;
/// `net.core.wmem_default`.
const SEND_BUFFER: u32 = 212_992;
/// What a socket buffer occupies beside its data: itself and its shared info, each rounded up.
const SOCKET_BUFFER: u32 = 256 + 320;
/// Copying in and out, per KiB.
const COPY_PER_KIB: u64 = 100;

/// What carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    Pipe,
    /// `AF_UNIX`, `SOCK_STREAM`.
    Unix,
    /// TCP over the loopback device: the sender's CPU does the receiver's protocol work too.
    Tcp,
    /// UDP over the loopback device.
    Udp,
}

impl Medium {
    /// One that carries messages of this many bytes.
    ///
    /// A pipe keeps a message that is smaller than a page within one, and a writer that found it full is woken
    /// when a page is free. A socket counts for each message what the buffer occupies that holds it, from the
    /// next power of two on; a writer is woken when a quarter of the limit is occupied (`unix_writable()`).
    pub(super) fn channel(self, name: impl Into<String>, bytes: u32) -> ChannelSpec {
        let name = name.into();
        match self {
            Self::Pipe => {
                let page = PAGE / bytes.clamp(1, PAGE) * bytes.clamp(1, PAGE);
                let capacity = PIPE_PAGES * page;
                ChannelSpec { name, capacity, overhead: 0, refill_below: capacity - page }
            }
            Self::Unix | Self::Tcp | Self::Udp => {
                let data = (bytes + 320).next_power_of_two() - 320;
                let overhead = SOCKET_BUFFER + data - bytes;
                let capacity = SEND_BUFFER.max(bytes + overhead);
                ChannelSpec { name, capacity, overhead, refill_below: capacity / 4 }
            }
        }
    }

    /// Sending so much.
    pub(super) fn send(self, bytes: u32) -> Nanos {
        let call = match self {
            Self::Pipe => 500,
            Self::Unix => 1200,
            Self::Tcp => 4000,
            Self::Udp => 2500,
        };
        Nanos(call + copy(bytes))
    }

    /// Receiving so much.
    pub(super) fn receive(self, bytes: u32) -> Nanos {
        let call = match self {
            Self::Pipe => 400,
            Self::Unix => 900,
            Self::Tcp => 1500,
            Self::Udp => 1200,
        };
        Nanos(call + copy(bytes))
    }
}

fn copy(bytes: u32) -> u64 {
    u64::from(bytes) * COPY_PER_KIB / 1024
}

/// Starting a process: address space and all.
pub(super) const FORK: Nanos = Nanos::from_micros(60);
/// Starting a thread.
pub(super) const CLONE: Nanos = Nanos::from_micros(15);
/// What a process that ends without having done anything still has to tear down.
pub(super) const EXIT: Nanos = Nanos::from_micros(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_holds_as_many_messages_as_fit_into_its_pages() {
        let pipe = Medium::Pipe.channel("", 100);
        assert_eq!((pipe.capacity / 100, pipe.overhead), (16 * 40, 0));
        assert_eq!(pipe.capacity - pipe.refill_below, 4000);
        assert_eq!(Medium::Pipe.channel("", 4096).capacity, 65_536);
        assert_eq!(Medium::Pipe.channel("", 1 << 20).capacity, 65_536);
    }

    #[test]
    fn a_socket_holds_as_many_messages_as_its_buffers_let_it() {
        // 100 bytes: 512 for the data and the shared info, 256 for the buffer itself.
        let socket = Medium::Unix.channel("", 100);
        assert_eq!(socket.overhead + 100, 768);
        assert_eq!(socket.capacity / (socket.overhead + 100), 277);
    }
}
