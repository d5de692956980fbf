#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Writes what a recording of the scheduler cannot carry, for `zerolag replay --context`.
#
#     sh context.sh [context.toml]        run it while the workload runs, before or during the recording
#
# It only reads /proc, /sys and the kernel's configuration; as root it sees more (features, request lengths). Beside the
# file it leaves an archive of the machine's topology, which belongs to it.
set -u
LC_ALL=C
export LC_ALL
out=${1:-context.toml}
archive=$(basename "$out" .toml).machine.tgz
tmp=$out.part
trap 'rm -f "$tmp"' EXIT
: > "$tmp" || exit 1
say() { printf '%s\n' "$*" >> "$tmp"; }

say "# Written on Linux $(uname -r) ($(uname -m)) by zerolag's capture script."

# The scheduler: the newest that zerolag has and that is not newer than this kernel, but 6.1 for all since 5.5, from
# which on balancing is much the same.
release=$(uname -r)
major=${release%%.*}
rest=${release#*.}
minor=${rest%%[!0-9]*}
version=$((major * 1000 + ${minor:-0}))
exact=yes
case $version in 6018 | 6012 | 6006 | 6001 | 4017 | 4016 | 4012 | 4011 | 4006) ;; *) exact= ;; esac
if [ "$version" -ge 6018 ]; then kernel=6.18
elif [ "$version" -ge 6012 ]; then kernel=6.12
elif [ "$version" -ge 6006 ]; then kernel=6.6
elif [ "$version" -ge 5005 ]; then kernel=6.1
elif [ "$version" -ge 4017 ]; then kernel=4.17
elif [ "$version" -ge 4016 ]; then kernel=4.16
elif [ "$version" -ge 4012 ]; then kernel=4.12
elif [ "$version" -ge 4011 ]; then kernel=4.11unpatched
else kernel=4.6unpatched
fi
[ -n "$exact" ] || say "# zerolag has no scheduler of Linux $major.$minor; $kernel is the nearest."
say "kernel = \"$kernel\""

# The machine.
cpus=$(ls -d /sys/devices/system/cpu/cpu[0-9]* 2>/dev/null | wc -l)
[ "$cpus" -gt 0 ] || cpus=$(grep -c '^processor' /proc/cpuinfo)
directory=$(dirname "$out")
parts=$(cd /sys/devices 2>/dev/null && ls -d system/cpu system/node cpu_*/cpus 2>/dev/null)
rm -f "$directory/$archive"
if [ -n "$parts" ]; then
    # Files in /sys are shorter than they claim, which tar complains about; what it writes is good nevertheless.
    (cd /sys/devices && tar cf - $parts 2>/dev/null) | gzip > "$directory/$archive"
fi
if [ -s "$directory/$archive" ] && gzip -cd "$directory/$archive" | tar tf - 2>/dev/null | grep -q 'topology/'; then
    say "machine = \"$archive\""
else
    rm -f "$directory/$archive"
    say "# /sys shows no topology; taken for equal CPUs."
    say "cpus = $cpus"
fi

config() {
    { zcat /proc/config.gz || cat "/boot/config-$release" || cat "/lib/modules/$release/config"; } 2>/dev/null
}
hz=$(config | sed -n 's/^CONFIG_HZ=//p' | head -n 1)
case $hz in
    100 | 250 | 300 | 1000) say "hz = $hz" ;;
    *) say "# The tick rate is not known: 100, 250, 300 or 1000; zerolag takes 250." ;;
esac

# Features and tunables, where the kernel lets one see them and zerolag has the same scheduler.
debug=/sys/kernel/debug/sched
features=$(cat $debug/features 2>/dev/null)
case $kernel in 6.18 | 6.12 | 6.1) ;; *) features= ;; esac
if [ -n "$exact" ] && [ -n "$features" ]; then
    say ""
    say "[features]"
    for word in $features; do
        case $word in
            HRTICK_DL | NO_HRTICK_DL | RT_* | NO_RT_* | LATENCY_WARN | NO_LATENCY_WARN) ;;
            NO_*) say "${word#NO_} = false" ;;
            *) say "$word = true" ;;
        esac
    done
fi
base_slice=$(cat $debug/base_slice_ns 2>/dev/null)
if [ -n "$base_slice" ] && [ "$kernel" != 6.1 ]; then
    say ""
    say "[tunables]"
    say "base_slice = \"${base_slice}ns\""
fi

# Groups of the cpu controller. In version 2 those are the ones in which it is enabled, which have cpu.weight.
quoted() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g'; }
hierarchy= root=
while read -r _ mount type options _; do
    case $type in
        cgroup2) [ -n "$root" ] || { hierarchy=2; root=$mount; } ;;
        cgroup) case ,$options, in *,cpu,*) hierarchy=1; root=$mount ;; esac ;;
    esac
done < /proc/mounts
weight_file=cpu.weight
[ "$hierarchy" = 1 ] && weight_file=cpu.shares
if [ -n "$root" ]; then
    find "$root" -mindepth 2 -name $weight_file 2>/dev/null | sort | while IFS= read -r file; do
        group=${file%/*}
        say ""
        say "[cgroup.\"$(quoted "${group#"$root"}")\"]"
        weight=$(cat "$file" 2>/dev/null)
        # An idle group's weight reads 0 in version 2.
        case ${weight:-0} in 0) ;; *) say "\"$weight_file\" = $weight" ;; esac
        [ "$(cat "$group/cpu.idle" 2>/dev/null)" = 1 ] && say "\"cpu.idle\" = 1"
        if [ "$hierarchy" = 2 ]; then
            max=$(cat "$group/cpu.max" 2>/dev/null)
            burst=$(cat "$group/cpu.max.burst" 2>/dev/null)
        else
            quota=$(cat "$group/cpu.cfs_quota_us" 2>/dev/null)
            max="${quota:--1} $(cat "$group/cpu.cfs_period_us" 2>/dev/null)"
            burst=$(cat "$group/cpu.cfs_burst_us" 2>/dev/null)
            case $max in -*) max=max ;; esac
        fi
        case $max in max* | '') ;; *)
            say "\"cpu.max\" = \"$max\""
            [ "${burst:-0}" -gt 0 ] 2>/dev/null && say "\"cpu.max.burst\" = $burst"
            ;;
        esac
    done
fi
autogroup=$(cat /proc/sys/kernel/sched_autogroup_enabled 2>/dev/null)

# Tasks that differ from what is usual. Each of these files may be gone by the time it is read.
ls -d /proc/[0-9]*/task/[0-9]* 2>/dev/null | awk \
    -v root="$root" -v hierarchy="$hierarchy" -v weight="$weight_file" -v cpus="$cpus" -v autogroup="${autogroup:-0}" \
    -v base="${base_slice:-0}" '
function first(file,    line) { line = ""; if ((getline line < file) <= 0) line = ""; close(file); return line }
function exists(file,    line, n) { n = (getline line < file); close(file); return n >= 0 }
function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); return text }
# The part of a list of CPUs that the machine has; nothing if that is all of them.
function mask(list,    n, i, part, range, from, to, text, count) {
    n = split(list, part, ","); text = ""; count = 0
    for (i = 1; i <= n; i++) {
        from = part[i]; to = from
        if (split(part[i], range, "-") == 2) { from = range[1]; to = range[2] }
        from += 0; to += 0
        if (to > cpus - 1) to = cpus - 1
        if (from > to) continue
        count += to - from + 1
        text = text (text == "" ? "" : ",") (from == to ? from : from "-" to)
    }
    return count == cpus || count == 0 ? "" : text
}
# The group of the cpu controller: the nearest one upwards that has its files.
function cgroup(dir,    line, field, path, file) {
    file = dir "/cgroup"; path = ""
    while ((getline line < file) > 0) {
        split(line, field, ":")
        if (hierarchy == 2 && field[1] == "0" || hierarchy == 1 && ("," field[2] ",") ~ /,cpu,/) {
            path = substr(line, length(field[1]) + length(field[2]) + 3)
        }
    }
    close(file)
    while (path != "" && path != "/" && !known(path)) sub(/\/[^\/]*$/, "", path)
    return path == "" ? "/" : path
}
function known(path) {
    if (!(path in seen)) seen[path] = exists(root path "/" weight)
    return seen[path]
}
function slice(dir,    line, file, ns) {
    file = dir "/sched"; ns = 0
    while ((getline line < file) > 0) if (line ~ /^se\.slice /) { sub(/.*: */, "", line); ns = line + 0 }
    close(file)
    return ns
}
{
    dir = $0
    stat = first(dir "/stat")
    if (stat == "") next
    pid = stat + 0
    name = stat; sub(/^[0-9]+ \(/, "", name); sub(/\)[^)]*$/, "", name)
    gsub(/[^ -~]/, "?", name)
    sub(/^.*\) /, "", stat)
    split(stat, field, " ")
    nice = field[17]; rt = field[38]; policy = field[39]
    allowed = ""
    file = dir "/status"
    while ((getline line < file) > 0) if (line ~ /^Cpus_allowed_list:/) { split(line, word, /[ \t]+/); allowed = mask(word[2]) }
    close(file)
    group = cgroup(dir)
    if (group == "/" && autogroup == 1 && policy == 0) {
        session = first(dir "/../../autogroup")
        if (split(session, word, " ") >= 3 && word[1] != "/autogroup-0") {
            group = word[1]
            autonice[group] = word[3]
        }
    }
    text = ""
    if (group != "/") text = text "cgroup = \"" quoted(group) "\"\n"
    if (allowed != "") text = text "cpus = \"" allowed "\"\n"
    if (nice != 0 && (policy == 0 || policy == 3)) text = text "nice = " nice "\n"
    if (policy == 1) text = text "policy = \"fifo:" rt "\"\n"
    if (policy == 2) text = text "policy = \"rr:" rt "\"\n"
    if (policy == 3) text = text "policy = \"batch\"\n"
    if (policy == 5) text = text "policy = \"idle\"\n"
    # Kernel threads carry what was usual when they were made.
    if ((policy == 0 || policy == 3) && field[2] != 2 && pid != 2) {
        ns = slice(dir)
        count[ns]++; slices[pid] = ns
    }
    order[++tasks] = pid; names[pid] = name; said[pid] = text
}
END {
    # The request length that most have is the usual one.
    for (ns in count) if (base == 0 || count[ns] > count[base]) base = ns
    for (group in autonice) {
        printf "\n[cgroup.\"%s\"]\n\"cpu.shares\" = %d\n", quoted(group), shares(autonice[group])
    }
    for (i = 1; i <= tasks; i++) {
        pid = order[i]; text = said[pid]
        ns = slices[pid] + 0
        # Below 0.1 ms and above 100 ms nobody can ask for.
        if (ns != base && ns >= 100000 && ns <= 100000000) text = text "slice = \"" ns "ns\"\n"
        if (text != "") printf "\n[[task]]           # %s\npid = %d\n%s", names[pid], pid, text
    }
}
# The weight of a nice level: a step is a quarter more or less.
function shares(nice,    w) {
    w = 1024
    while (nice > 0) { w /= 1.25; nice-- }
    while (nice < 0) { w *= 1.25; nice++ }
    return int(w + 0.5)
}' >> "$tmp"

mv "$tmp" "$out" && trap - EXIT
echo "wrote $out$([ -f "$directory/$archive" ] && echo " and $directory/$archive")" >&2
