#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A sweep as a Slurm array: sbatch --array=1-16 slurm.sh slices.toml
# When all tasks are over: zerolag sweep merge slices.sqlite slices.*-of-16.sqlite
#SBATCH --job-name=zerolag
#SBATCH --array=1-16
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
#SBATCH --requeue
set -eu

sweep=${1:?usage: sbatch slurm.sh SWEEP.toml}
name=$(basename "$sweep" .toml)
part=$SLURM_ARRAY_TASK_ID of=$SLURM_ARRAY_TASK_COUNT

# A task that was preempted and started again goes on from what is in its store.
exec srun zerolag sweep "$sweep" \
	--shard "$part/$of" --jobs "$SLURM_CPUS_PER_TASK" \
	--store "$name.$part-of-$of.sqlite" --resume
