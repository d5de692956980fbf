// SPDX-License-Identifier: GPL-2.0-only
//! Reading and writing channels.
//!
//! Waiters are woken one at a time, as exclusive waiters of pipes and sockets are; one that goes on and leaves
//! something for the next wakes that one.

use zerolag_core::ids::{CpuId, TaskId};

use super::Machine;
use super::shared::Channel;
use super::task::WaitingFor;
use crate::resource::{ChannelId, Ref};

impl Channel {
    /// Takes out up to `wanted` bytes and says how many.
    fn take(&mut self, wanted: u32) -> u32 {
        let taken = wanted.min(self.bytes);
        self.bytes -= taken;
        self.occupied -= taken;
        if self.spec.overhead > 0 {
            let mut rest = taken;
            while let Some(first) = self.writes.front_mut() {
                let part = rest.min(*first);
                *first -= part;
                rest -= part;
                if *first > 0 {
                    break;
                }
                // A write's overhead goes with its last byte.
                self.occupied -= self.spec.overhead;
                self.writes.pop_front();
            }
        }
        taken
    }

    /// Puts in `offered` bytes if there is room for all of them, or as many as there is room for if there
    /// never would be for all. Says how many.
    fn put(&mut self, offered: u32) -> u32 {
        let room = self.spec.capacity.saturating_sub(self.occupied).saturating_sub(self.spec.overhead);
        let most = self.spec.capacity - self.spec.overhead;
        let put = if offered <= room {
            offered
        } else if offered <= most {
            0
        } else {
            room
        };
        if put > 0 {
            self.bytes += put;
            self.occupied += put + self.spec.overhead;
            if self.spec.overhead > 0 {
                self.writes.push_back(put);
            }
        }
        put
    }
}

impl Machine {
    /// Stage 0: begin. Stage 1: take what there is, until there has been enough.
    pub(super) fn read(&mut self, cpu: CpuId, task: TaskId, channel: Ref<ChannelId>, bytes: u32) {
        let t = &mut self.tasks[task];
        let id = channel.resolve(&t.arguments);
        if t.stage == 0 {
            t.stage = 1;
            t.count = bytes;
        }
        let channel = &mut self.shared.channels[id];
        let taken = channel.take(t.count);
        t.count -= taken;
        let done = t.count == 0;
        if done {
            t.advance();
        }
        if taken > 0
            && channel.occupied <= channel.spec.refill_below
            && let Some(writer) = channel.writers.pop(&mut self.tasks)
        {
            self.wake(cpu, writer, false);
        }
        if done {
            self.wake_next_reader(cpu, id);
        } else if taken == 0 {
            self.shared.channels[id].readers.push(&mut self.tasks, task);
            self.block(cpu, task, WaitingFor::Bytes(id));
        }
    }

    fn wake_next_reader(&mut self, cpu: CpuId, id: ChannelId) {
        let channel = &mut self.shared.channels[id];
        if channel.bytes > 0
            && let Some(reader) = channel.readers.pop(&mut self.tasks)
        {
            self.wake(cpu, reader, false);
        }
    }

    /// Stage 0: begin. Stage 1: put in what there is room for, until all is in.
    pub(super) fn write(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        channel: Ref<ChannelId>,
        bytes: u32,
        sync: bool,
    ) {
        let t = &mut self.tasks[task];
        let id = channel.resolve(&t.arguments);
        if t.stage == 0 {
            t.stage = 1;
            t.count = bytes;
        }
        let channel = &mut self.shared.channels[id];
        let put = channel.put(t.count);
        t.count -= put;
        let done = t.count == 0;
        if done {
            t.advance();
        }
        if put > 0
            && let Some(reader) = channel.readers.pop(&mut self.tasks)
        {
            self.wake(cpu, reader, sync);
        }
        if done {
            self.wake_next_writer(cpu, id);
        } else if put == 0 {
            self.shared.channels[id].writers.push(&mut self.tasks, task);
            self.block(cpu, task, WaitingFor::Room(id));
        }
    }

    fn wake_next_writer(&mut self, cpu: CpuId, id: ChannelId) {
        let channel = &mut self.shared.channels[id];
        if channel.occupied <= channel.spec.refill_below
            && let Some(writer) = channel.writers.pop(&mut self.tasks)
        {
            self.wake(cpu, writer, false);
        }
    }
}
