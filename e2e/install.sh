#!/bin/sh
# Installs the CLIs of package-lock.json beside this script, exactly as locked.
# What is installed already is left alone, so it is cheap to run before each test run.
set -eu
cd "$(dirname "$0")"

# npm keeps a copy of the lockfile it installed from, without the project's own entry.
installed() {
	node -e '
		const read = path => JSON.parse(require("fs").readFileSync(path)).packages
		const want = read("package-lock.json"), have = read("node_modules/.package-lock.json")
		for (const [path, {integrity, optional}] of Object.entries(want)) {
			if (!path || optional && !have[path]) continue // optional: for another system
			if (have[path]?.integrity !== integrity) process.exit(1)
		}
	' 2>/dev/null
}

if installed; then
	echo "the CLIs are installed" >&2
	exit 0
fi
npm ci
