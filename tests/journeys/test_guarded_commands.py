"""Commands that run unasked show no denied file, change nothing outside, and run no hidden code."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from tests.journeys.model_server import Answer
from tests.journeys.program import Journey

SECRET = "TOP-SECRET-4711"
EXPRESSION = "a[$(touch ran)]"
"""An arithmetic expression that runs a command when it is evaluated."""


def run(journey: Journey, commands: tuple[str, ...]) -> list[str]:
    """Let the model call ``bash`` with each command, and return the results."""
    journey.model.script(*(Answer(calls=(("bash", {"command": each}),)) for each in commands))
    ended = journey.pi("-p", "go")
    assert ended.code == 0, ended.err
    return journey.model.results_of()


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


READS = (
    *("rg KEY -g '.e*'", "rg --type-add 'x:.e*' -tx KEY", "rg -tsh KEY", "rg -uuC3 KEY"),
    *("rg --context-separator x -uu KEY", "rg KEY sub/../.env"),
    *("grep -rA2 KEY", "grep -5r KEY", "grep -d recurse KEY", "grep --directories=rec KEY"),
    *("grep --rec KEY", "grep -r --max-count 5 KEY", "grep -r --label open.txt KEY"),
    *("git log --oneline -p", "git show --oneline", "git show --stat -p", "git log --binary"),
    *("git log --remerge-diff", "git stash list -p", "git status -v", "git diff --stat -p HEAD"),
    *("git show HEAD~1 -- '*.pem'", "git show HEAD~1 -- keys", "git diff HEAD -- '.e*'"),
    *("git log --full-diff -p -- open.txt", "git status --v", "rg KEY --type sh"),
    *("git diff HEAD -- ':(glob).e*'", "git grep KEY -- '*'", "git grep KEY HEAD~1"),
    *("sort --files0-from=names0", "strings @names", "ls -A | xargs cat", "xargs cat < names"),
    *("xargs -a names cat", "jq -n 'import \"./keys\" as $k; $k'"),
    *('awk \'BEGIN{ARGV[1]="." "env";ARGC=2}1\'', "cat /proc/*/cwd/.env"),
    *("x=../../.env; cat sub/deep/$x", "env -C sub cat key", "cat links/*", "head links/l??k"),
    *("unzip -p keys.zip", "zcat keys.zip", "cat x; unzip -p sub/../keys.zip"),
)


def test_no_command_shows_a_denied_file_that_it_does_not_name(journey: Journey) -> None:
    folder = journey.home.cwd
    journey.home.write_work(".env", f"KEY={SECRET}\n")
    journey.home.write_work("sub/key", f"{SECRET}\n")
    journey.home.write_work("sub/deep/a.txt", "KEY\n")
    journey.home.write_work("keys/old.pem", f"{SECRET}\n")
    journey.home.write_work("keys.json", f'"{SECRET}"\n')
    journey.home.write_work("open.txt", "KEY is open\n")
    journey.home.write_work("names", ".env\n")
    journey.home.write_work("names0", ".env\0")
    with zipfile.ZipFile(folder / "keys.zip", "w") as archive:
        archive.writestr("x/.env", SECRET)
    (folder / "links").mkdir()
    (folder / "links/link").symlink_to("../.env")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    (folder / "keys/old.pem").unlink()
    (folder / "keys").rmdir()
    git(folder, "commit", "-qam", "two")
    journey.home.write_work(".env", f"KEY={SECRET} stashed\n")
    git(folder, "stash", "-q")
    journey.home.write_work(".env", f"KEY={SECRET} changed\n")
    git(folder, "add", ".")
    deny = [f"Read({name})" for name in (".env", "sub/key", "keys.json", "keys/old.pem")]
    journey.home.use_settings(
        permissions={"mode": "auto-edit", "deny": deny}, files={"sensitive": "allow"}
    )

    results = run(journey, READS)

    shown = [each for each, text in zip(READS, results, strict=True) if "4711" in text]
    assert shown == []


def test_an_ignore_file_that_includes_a_denied_file_is_noticed(journey: Journey) -> None:
    journey.home.write_work(".env", f"KEY={SECRET}\n")
    journey.home.write_work(".ignore", "!.env\n")
    journey.home.use_settings(
        permissions={"mode": "auto-edit", "deny": ["Read(.env)"]}, files={"sensitive": "allow"}
    )
    (text,) = run(journey, ("rg KEY",))
    assert "4711" not in text


def test_names_that_arrive_at_run_time_do_not_show_credentials(journey: Journey) -> None:
    journey.home.write_work(".env", f"KEY={SECRET}\n")
    journey.home.write_work("names", ".env\n")
    journey.home.use_settings(permissions={"mode": "auto-edit"})
    git(journey.home.cwd, "init", "-q")
    git(journey.home.cwd, "add", ".")
    commands = (
        *("printf '.%s' env | xargs cat", "xargs cat < names", "strings @names"),
        *("cat $HOME/../work/.env", 'cat "${PWD}/.env"', "cat ~+/.env", "cat .${x}env"),
        *("a=.e; cat ${a}nv", "cat $(cat names)", "while read f; do cat $f; done < names"),
        *("ls -A | while read f; do cat ./$f; done", "for f in $(ls -A); do cat $f; done"),
        *(
            "grep -nrA1 KEY",
            "rg KEY -g '*.env'",
            "git grep KEY",
            "git diff --cached",
            "git show :.env",
        ),
        *("cat names; git status -v",),
    )
    results = run(journey, (*commands, "cat $(printf names)", "git status", "git diff --stat"))
    assert not any("4711" in text for text in results)
    assert not any("looks like" in text for text in results[len(commands) + 1 :])


WRITES = (
    *("env -C .. touch out/a", "env --chdir=.. touch b", "env -iC.. touch c"),
    *("find ../out -name victim -execdir touch d ';'", "find .. -name victim -execdir rm victim +"),
    *("find ../out -name victim -execdir rm victim ';'",),
    *("tee link/../e < x", "touch link/../f", "echo x > link/../g", "mkdir link/../h"),
    *(
        "cp x link/../i",
        "mv x link/../j",
        "sort x -o link/../k",
        "sed -i s/n/m/ link/../out/victim",
    ),
    *("cp x folder", "cp x folder/", "cp -f x folder/.", "cp y x folder", "cp x sub/../folder"),
    *("cp sub/tasks.json .vscode", "cp x sub/tasks.json .vscode/", "mv sub/tasks.json .vscode"),
    *("git mv sub/tasks.json .vscode/", "git mv sub/tasks.json .vscode", "git mv sub .vscode"),
    *("cp x .npmrc", "cp x team.code-workspace", "cp x .zed/tasks.json", "cp x .yarnrc.yml"),
    *("git mv sub/deep/relative l && echo a > l", "mv sub/deep/relative l; echo a > l"),
    *("cp x .opencode/plugin/p.js", "cp x .cargo/config.toml", "git mv x ../out/n"),
)


def test_no_command_changes_a_file_outside_or_one_that_starts_something(journey: Journey) -> None:
    folder = journey.home.cwd
    outside = journey.folder / "out"
    outside.mkdir()
    (outside / "victim").write_text("untouched")
    for name in ("x", "y", "sub/tasks.json", ".zed/a", ".opencode/plugin/a", ".cargo/a"):
        journey.home.write_work(name, "new\n")
    journey.home.write_work("folder/a", "a")
    (folder / "folder/x").symlink_to(outside / "victim")
    (folder / "link").symlink_to(outside)
    (folder / ".vscode").mkdir()
    git(folder, "init", "-q")
    git(folder, "add", ".")
    journey.home.use_settings(permissions={"mode": "auto-edit"})

    (folder / "sub/deep").mkdir()
    (folder / "sub/deep/relative").symlink_to("../../x")  # outside of the project once it is moved
    git(folder, "add", ".")
    ordinary = (
        *("cp y copy.txt", "cp x y sub/", "mkdir -p a/b && mv copy.txt a/b/ && ls a/b"),
        *("mv a/b/copy.txt renamed.txt && git status -s", "mv y sub/z; cat sub/z"),
    )
    results = run(journey, (*WRITES, *ordinary))

    assert [
        each for each, text in zip(WRITES, results, strict=False) if "consent" not in text
    ] == []
    assert sorted(path.name for path in journey.folder.iterdir()) == ["home", "out", "work"]
    assert [*outside.iterdir()] == [outside / "victim"]
    assert (outside / "victim").read_text() == "untouched"
    assert [*(folder / ".vscode").iterdir()] == []
    assert not any("consent" in text for text in results[len(WRITES) :])
    assert (folder / "sub/z").exists() and (folder / "renamed.txt").exists()


EXPRESSIONS = (
    *("[[ $(<e) -eq 1 ]]", "[[ `cat e` -eq 1 ]]", '[[ "$(cat e)" -gt 1 ]]', "[[ 1 -lt $(<e) ]]"),
    *("[[ -v $(<e) ]]", "[[ ! $(<e)+0 -eq 1 ]]", "[[ 1 == 1 && $(<e) -ne 1 ]]"),
    f": ${{x:='{EXPRESSION}'}}; echo $((x))",
    f": ${{x='{EXPRESSION}'}}; [[ x -eq 1 ]]",
    *("read < e; echo $((REPLY))", "read -r < e; [[ REPLY -eq 1 ]]"),
    *("while read; do echo $((REPLY)); done < e", "read -ra x < e; echo $((x))"),
    f"[[ '{EXPRESSION}' =~ .* ]]; echo $((BASH_REMATCH))",
    f": '{EXPRESSION}'; echo $((_))",
    f"printf -vx '{EXPRESSION}'; echo $((x))",
    *("read -raPATH <<< .; cat e", "printf -vPATH .; cat e", ": {PATH}<e; cat e"),
    *("((PATH=0)); cat e", "[[ PATH=0 -eq 0 ]]; cat e", "echo ${x:PATH=0}; cat e"),
    *(": ${PATH:=0}; cat e", "x='PATH=0'; echo $((x)); cat e"),
)


def test_no_expression_runs_a_command_unasked(journey: Journey) -> None:
    folder = journey.home.cwd
    journey.home.write_work("e", f"{EXPRESSION}\n")
    for name in ("cat", "0/cat", "10/cat"):
        program = journey.home.write_work(name, "#!/bin/sh\ntouch ran\n")
        program.chmod(0o755)
    journey.home.use_settings(permissions={"mode": "ask"})
    ordinary = (
        "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done; echo $((i*2))",
        "for ((n=0; n<3; n++)); do echo $n; done",
        "[[ -v HOME && $(cat e) == a* ]] && echo yes",
    )

    results = run(journey, (*EXPRESSIONS, *ordinary))

    assert not (folder / "ran").exists()
    assert all("consent" in text for text in results[: len(EXPRESSIONS)])
    assert results[len(EXPRESSIONS) :] == ["6\n", "0\n1\n2\n", "yes\n"]


def test_a_shell_that_persists_does_not_evaluate_what_an_earlier_call_has_stored(
    journey: Journey,
) -> None:
    journey.home.write_work("e", f"{EXPRESSION}\n")
    journey.home.use_settings(permissions={"mode": "auto-edit"}, bash={"extended": True})
    commands = ("read x < e", "echo $((x))", "[[ x -eq 1 ]]", "echo ${!x}", "ls() { touch ran; }")

    results = run(journey, (*commands, "cd ..", "ls"))

    assert all("consent" in text for text in results[1:5])
    assert not (journey.home.cwd / "ran").exists()
    assert not (journey.folder / "ran").exists()


def test_credentials_are_asked_about_in_a_shell_that_keeps_its_folder(journey: Journey) -> None:
    journey.home.write_work("sub/.env", f"KEY={SECRET}\n")
    journey.home.write_work("sub/open.txt", "open\n")
    journey.home.use_settings(permissions={"mode": "auto-edit"}, bash={"extended": True})

    results = run(
        journey,
        ("cd sub", "cat .env", "cat < .env", "grep KEY ./.env", "x=.env", "cat $x", "cat open.txt"),
    )

    assert not any("4711" in text for text in results)
    assert results[-1] == "open\n"


def test_no_command_shows_credentials_that_it_names_indirectly(journey: Journey) -> None:
    journey.home.write_work(".env", f"KEY={SECRET}\n")
    journey.home.write_work("sub/prod.env", f"KEY={SECRET}\n")
    journey.home.write_work("names", ".env\n")
    key = journey.home.path / ".ssh/id_rsa"
    key.parent.mkdir()
    key.write_text(f"{SECRET}\n")
    with zipfile.ZipFile(journey.home.cwd / "keys.zip", "w") as archive:
        archive.writestr("x/.env", SECRET)
    with tarfile.open(journey.home.cwd / "keys.tar.gz", "w:gz") as tar:
        tar.add(journey.home.cwd / ".env", "x/.env")
    other = journey.home.cwd / "other"
    other.mkdir()
    (other / ".env").write_text(f"{SECRET}\n")
    git(journey.home.cwd, "init", "-q")
    git(other, "init", "-q")
    git(other, "add", ".")
    (other / ".env").unlink()
    journey.home.use_settings(
        permissions={"mode": "off"}, files={"sensitive": "ask"}, sandbox={"enabled": False}
    )
    commands = (
        *(
            "x=.xenv; cat ${x/x/}",
            "x=.ENV; cat ${x,,}",
            "x=..env; cat ${x:1}",
            "x=y; y=.env; cat ${!x}",
        ),
        *("cat ${x:-.env}", "cat ${x-${y:-.env}}", 'cat "${HOME%/}"/.ssh/id_rsa', "x=env; cat .$x"),
        *("H=$HOME; cat $H/.ssh/id_rsa", "d=~/.ssh; cat $d/*", "cd; cat .ssh/id_rsa"),
        *(
            "CDPATH=~ cd .ssh; cat id_rsa",
            "ln -s ~/.ssh s1; cat s1/id_rsa",
            "ln -s .. up; cat up/work/.env",
        ),
        *("mv sub s2; cat s2/*", "git grep --no-index KEY", "git grep --untracked KEY"),
        *("git diff --no-index sub other", "git -C other diff", "git -C other diff-files -p"),
        *("git add -f .env && git diff --cached", "git add . ; git diff --cached"),
        *("git commit --allow-empty -F .env", "git tag -F .env t1; git tag -n"),
        "git hash-object -w --stdin-paths < names",
        *(
            "tar xOf keys.tar.gz",
            "unzip -p keys.zip",
            "zcat keys.zip",
            "tar -xOf keys.tar.gz x/.env",
        ),
        *("bsdtar -xOfkeys.zip", "tar xzO < keys.tar.gz", "unzip -d /tmp keys.zip 'x/*'"),
    )
    for kind in ("AUTHOR", "COMMITTER"):
        journey.environ[f"GIT_{kind}_NAME"] = journey.environ[f"GIT_{kind}_EMAIL"] = "a"
    calls: list[dict[str, Any]] = [{"command": command} for command in commands]
    calls.append({"command": "cat $X", "env": {"X": ".env"}})
    journey.model.script(*(Answer(calls=(("bash", call),)) for call in calls))
    ended = journey.pi("-p", "go")
    assert ended.code == 0, ended.err

    results = journey.model.results_of()
    read = [
        call for call, text in zip(calls, results, strict=True) if "credentials, and" not in text
    ]
    assert read == []


def test_commands_that_show_no_credentials_are_not_refused(journey: Journey) -> None:
    journey.home.write_work(".env", f"KEY={SECRET}\n")
    journey.home.write_work(".gitignore", ".env\n")
    journey.home.write_work("src/a.py", "KEY = 1\n")
    with zipfile.ZipFile(journey.home.cwd / "open.zip", "w") as archive:
        archive.writestr("a.py", "x")
    with tarfile.open(journey.home.cwd / "open.tar", "w") as tar:
        tar.add(journey.home.cwd / "src", "src")
    git(journey.home.cwd, "init", "-q")
    journey.home.use_settings(permissions={"mode": "off"}, files={"sensitive": "ask"})
    commands = (
        *("git add -A && git diff --cached", "x=src/a.py; cat $x", "cat ${x:-src/a.py}"),
        *("d=src; cat $d/a.py", "for f in src/*.py; do cat $f; done", "cp src/a.py b.py; cat b.py"),
        *("mv b.py c.py && cat c.py", "cd src && cat a.py", "git grep KEY", "git status; git diff"),
        *("unzip -l open.zip; unzip -p open.zip", "tar tf open.tar && tar xOf open.tar"),
        *("(cd; ls) > /dev/null", "mv src lib && cat lib/a.py", "ln -s lib l && cat l/a.py"),
    )
    results = run(journey, commands)
    assert [c for c, text in zip(commands, results, strict=True) if "credentials" in text] == []


def test_no_syntax_of_the_shell_hides_a_command(journey: Journey) -> None:
    commands = (
        *(
            "cat <<$'X'\nX\ntouch ran1",
            'cat <<$"X"\nX\ntouch ran2',
            "cat <<'a\\b'\na\\b\ntouch ran3",
        ),
        *("cat <<\"it's\"\nit's\ntouch ran4", "2<&-touch cat ran5", "cat x; 0<& -touch ran6"),
        *("cat <<X$'Y'\nXY\ntouch ran7", "cat x >&-; 3>&-touch ran8"),
        "ls >&-#'\ntouch ran9\n#'",
    )
    for settings in (
        {"mode": "ask"},
        {"mode": "off", "deny": ["Bash(touch:*)"]},
        {"mode": "ask", "allow": ["Bash"], "deny": ["Bash(touch:*)"]},
    ):
        journey.home.use_settings(permissions=settings)
        run(journey, commands)
        assert [path.name for path in journey.home.cwd.glob("ran*")] == []
