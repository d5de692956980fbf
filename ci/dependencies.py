#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the project depends on: licences, origins, versions.

Everything that is built into a crate of ours has to be under a licence that can go together with
GPL-2.0-only: for an expression, some choice of its alternatives must consist of those in FREE. What only
tests use is not distributed, so Apache-2.0 will do there. Every dependency comes from the registry, pinned in
Cargo.lock; none comes from a version control system or a directory. Of each there is one version, but for
those in TWICE, with the reason. None asks for a newer Rust than ours do. What a build script uses to find its
way about is not built in either.

Usage: ci/dependencies.py [Cargo.toml] (the workspace's without). Prints a line for each licence and what is wrong. Exit codes: 0 fine, 1 not.
"""
import collections
import json
import os
import re
import subprocess
import sys

FREE = {'MIT', 'MIT-0', 'ISC', 'Zlib', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Unicode-3.0', 'Unlicense', 'CC0-1.0',
        'BSL-1.0', 'bzip2-1.0.6'}
TESTS_TOO = FREE | {'Apache-2.0', 'Apache-2.0 WITH LLVM-exception'}
# name: why there are two versions of it.
TWICE = {'syn': 'macros of ratatui and crossterm take 2, those of serde, thiserror and clap 3; neither is in the program'}
# What build scripts use, and what that does there.
BUILDS = {'pyo3-build-config': 'looks for the Python that is built for'}


def allowed(expression, licences):
    """Whether some choice of the alternatives of an SPDX expression consists of `licences`."""
    tokens = re.findall(r'\(|\)|[\w.+-]+', expression.replace('/', ' OR '))

    def any_of():
        value = all_of()
        while tokens and tokens[0] == 'OR':
            tokens.pop(0)
            value = all_of() or value
        return value

    def all_of():
        value = one()
        while tokens and tokens[0] == 'AND':
            tokens.pop(0)
            value = one() and value
        return value

    def one():
        token = tokens.pop(0)
        if token == '(':
            value = any_of()
            tokens.pop(0)
            return value
        if tokens and tokens[0] == 'WITH':
            tokens.pop(0)
            token += ' WITH ' + tokens.pop(0)
        return token in licences

    return any_of()


def is_enabled(package, features, name):
    """Whether a dependency is built: cargo also lists optional ones that a feature only mentions (`name?/feature`)."""
    declared = [d for d in package['dependencies'] if (d['rename'] or d['name']) == name]
    if not declared or not all(d['optional'] for d in declared):
        return True
    means = [meaning for feature in features for meaning in package['features'].get(feature, [])]
    return name in features or any(m == f'dep:{name}' or m == name or m.startswith(f'{name}/') for m in means)


def reached(metadata, kinds, names):
    """Ids of everything that the workspace's crates depend on by edges of these kinds (dev only from our own)."""
    nodes = {node['id']: node for node in metadata['resolve']['nodes']}
    packages = {package['id']: package for package in metadata['packages']}
    todo, seen = [(member, True) for member in metadata['workspace_members']], set()
    while todo:
        package, ours = todo.pop()
        if package in seen:
            continue
        seen.add(package)
        for dependency in nodes[package]['deps']:
            of = {kind['kind'] or 'normal' for kind in dependency['dep_kinds']}
            builds = of == {'build'} and names[dependency['pkg']] in BUILDS
            enabled = is_enabled(packages[package], nodes[package]['features'], names[dependency['pkg']])
            if enabled and of & (kinds if ours else kinds - {'dev'}) and not builds:
                todo.append((dependency['pkg'], dependency['pkg'] in metadata['workspace_members']))
    return seen - set(metadata['workspace_members'])


def release(version):
    """A version of Rust, for comparing: what is left out is 0."""
    return tuple(map(int, (version.split('.') + ['0', '0'])[:3]))


def main(manifest='Cargo.toml'):
    os.chdir(os.path.join(os.path.dirname(os.path.realpath(__file__)), '..'))
    command = ['cargo', 'metadata', '--locked', '--format-version', '1', '--manifest-path', manifest]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    packages = {package['id']: package for package in metadata['packages']}
    names = {package: about['name'] for package, about in packages.items()}
    ours = set(metadata['workspace_members']) | {p for p in packages if names[p].startswith('zerolag-')}
    built_in = reached(metadata, {'normal', 'build'}, names) - ours
    everything = reached(metadata, {'normal', 'build', 'dev'}, names) - ours
    minimum = min(packages[p]['rust_version'] for p in metadata['workspace_members'])
    wrong, by_licence, versions = [], collections.Counter(), collections.defaultdict(set)
    for package in sorted(everything, key=lambda p: packages[p]['name']):
        about = packages[package]
        what = f"{about['name']} {about['version']}"
        licence = about['license'] or 'none'
        if not allowed(licence, FREE if package in built_in else TESTS_TOO):
            wrong.append(f'{what}: its licence is {licence}')
        if not (about['source'] or '').startswith('registry+'):
            wrong.append(f"{what}: it comes from {about['source'] or 'a directory'}")
        if release(about['rust_version'] or '1') > release(minimum):
            wrong.append(f"{what}: it needs Rust {about['rust_version']}, and ours say {minimum}")
        if package in built_in:
            by_licence[licence] += 1
            versions[about['name']].add(about['version'])
    for name, found in versions.items():
        if len(found) > 1 and name not in TWICE:
            wrong.append(f"{name}: there are {len(found)} versions of it: {', '.join(sorted(found))}")
    for name in TWICE:
        # Other workspaces need not have it twice.
        if manifest == 'Cargo.toml' and len(versions[name]) < 2:
            wrong.append(f'{name}: there are no longer two versions of it; strike it off the list')
    print(f'{len(built_in)} built in, {len(everything) - len(built_in)} more in tests')
    for licence, count in by_licence.most_common():
        print(f'{count:5}  {licence}')
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
