# Sourced by ./pi and ./test, which set $root and $name before: makes .venv fit the checkout.
# The fast path compares one file with what was installed; everything else is scripts/bootstrap.py.

fingerprint() {
    printf '%s\n' "$root"
    cat "$root/pyproject.toml" "$root/constraints.txt" "$root/hatch_build.py" \
        "$root"/packages/*/pyproject.toml "$root"/batteries/*/pyproject.toml
}

is_ready() { # is_ready core|dev
    # Without cmp, which small images do not have. Both texts lose their last line ends.
    [ -x "$root/.venv/bin/python" ] && [ -f "$root/.venv/ready-$1" ] &&
        [ "$(fingerprint)" = "$(cat "$root/.venv/ready-$1")" ]
}

find_python() {
    for candidate in ${PI_PYTHON:+"$PI_PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s' "$candidate"
            return 0
        fi
    done
    echo "$name: needs Python 3.11 or newer on PATH; install it, or name one: PI_PYTHON=/path/to/python3 ./$name" >&2
    return 1
}

make_ready() { # make_ready core|dev
    python=$(find_python) || exit 1
    fingerprint | "$python" "$root/scripts/bootstrap.py" "$1" "$name" || exit $?
}
