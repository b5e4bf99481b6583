"""The tables of programs, entry by entry, and rare forms of the grammar."""

from __future__ import annotations

import pytest

from pi.coding.shell.command_line.reading import change_reason
from pi.coding.shell.command_line.resolve import parse_command

RUNNERS = """
aa-exec at autossh batch bwrap capsh cgexec chpst chronic cpulimit cross-env dbclient dc dumb-init
eatmydata envchain envdir execlineb heaptrack hyperfine i386 ifne inotifyd lxc-attach lxc-execute m4
mispipe nodemon numactl pee rr run-parts run0 runcon runc crun scl setlock setuidgid sg newgrp
softlimit sshpass systemd-cat systemd-inhibit systemd-nspawn taskset64 tini torify tsocks uftrace
uname26 unzipsfx watchexec wish x86_64 xdg-open chroot crontab daemonize dbus-run-session direnv ed
emacs entr ex expect fakechroot fakeroot faketime firejail flock gdb gosu gvim linux32 linux64 lldb
ltrace nc ncat netcat nsenter nvim parallel perf pkexec proot proxychains proxychains4 rlwrap
runuser screen script setarch setpriv socat ssh-agent start-stop-daemon strace su su-exec
systemd-run tmux torsocks unbuffer unshare valgrind vi view vim vimdiff watch xvfb-run
"""
RUNNING = """
awk
awk -F:
sed -n
echo a | xargs awk
fd -x rm
fd -X rm
fd --exec rm
fd --exec-batch rm
fdfind -x rm
fdfind -X rm
fdfind --exec rm
fdfind --exec-batch rm
tar -I rm -xf a
tar -F rm -xf a
tar --to-command rm -xf a
tar --checkpoint-action=exec=rm -cf a b
tar --use-compress-program rm -xf a
tar --info-script rm -xf a
tar --new-volume-script rm -xf a
tar --rsh-command rm -xf a
tar --rmt-command rm -xf a
rsync -e rm a b
rsync --rsh rm a b
rsync --rsync-path rm a b
ssh -o ProxyCommand=rm a
ssh -F a b
scp -o ProxyCommand=rm a b
scp -F a b c
scp -S rm a b
sftp -o ProxyCommand=rm a
sftp -F a b
sftp -S rm a
sftp -b a b
sftp -D rm
rg --pre rm a
rg --hostname-bin rm a
sort --compress-program rm a
split --filter rm a
man -P rm a
man -H rm a
man --pager rm a
man --html=rm a
less +!rm a
zip -T a b
zip -TT rm a b
zip --unzip-command rm a
wget -e use_askpass=rm a
wget --execute a=b c
wget --use-askpass rm a
make --eval x
make SHELL=rm
make MAKEFLAGS=x
make -E x
gmake --eval x
gmake SHELL=rm
gmake MAKEFLAGS=x
gmake -E x
cmake -E rm a
cmake -P a
go test -exec rm
go build -toolexec rm
go generate
cargo --config a=b build
ip netns exec a rm
ip vrf exec a rm
ip -batch a
ip -b a
openssl engine a
openssl x -engine a
sqlite3 -cmd .shell a
sqlite3 -init a b
sqlite3 a .shell
psql -c '\\! rm'
psql -f a
mysql -e '\\! rm'
docker exec a rm
deno eval x
deno repl
bun -e x
bun --eval x
bun -p x
bun --print x
bun exec rm
python -c x
python -m $X
python3 --check x
perl -e x
ruby -e x
node -e x
nodejs -e x
php -r x
lua -e x
luajit -e x
rscript -e x
tclsh -c x
osascript -e x
pwsh -c x
powershell -c x
ipython -c x
pypy -c x
git -c core.pager=rm log
git clone --config core.pager=rm a
git clone --conf core.pager=rm a
git clone -c core.pager=rm a
git clone -u rm a
git fetch --upload-pack rm
git push --receive-pack rm
git push --exec rm
git clone --template=a b
git fetch ext::rm
git filter-branch x
git difftool
git mergetool
git send-email
git instaweb
git help x
git web--browse x
git for-each-repo x
git maintenance run
git credential fill
"""
KNOWN = """
git config -l
git config --list
git config list
git config get a.b
git config --get-all a.b
git config --get-regexp a
python -u a.py
python -B a.py
python -E a.py
python -s a.py
python -S a.py
python -I a.py
python -O a.py
python -OO a.py
python -q a.py
python -P a.py
python -b a.py
python -m unittest
python --version
perl -w a
perl -W a
perl -t a
perl -T a
ruby -w a
ruby -W a
node --test a
node --check a
node --no-warnings a
node --watch a
php -f a
php -l a
php -q a
rscript --vanilla a
powershell a.ps1
case x in a) ls; esac
case x in a) ;; b) ls;; esac
"""
WRITING = """
git reflog -1x
git reflog 1x
sort --output a b
sort --temporary-directory a b
sort -o a b
sort -T a b
shuf --output a b
shuf -o a b
iconv --output a b
iconv -o a b
xxd --revert a
xxd -r a
rg --pre a b
rg --hostname-bin a b
ag --pager a b
fd --exec a
fd --exec-batch a
fd -x a
fd -X a
fdfind --exec a
fdfind --exec-batch a
fdfind -x a
fdfind -X a
tree --output a
tree -o a
tree -R a
file --compile a
file --uncompress a
file -C a
file -z a
yq --inplace a b
yq --in-place a b
yq --split-exp a b
yq -i a b
yq -s a b
lsof -D a
uniq a b
find . -delete
find . -fprint a
find . -fprint0 a
find . -fprintf a b
find . -fls a
date -s 12:00
"""
READING = """
git branch -a
git branch -r
git branch -v
git branch -vv
git branch --all
git branch --remotes
git branch --list
git branch -l
git branch --show-current
git branch --no-color
git branch -i
git tag -l
git tag --list
git tag -n
git tag -i
git remote
git remote -v
git remote --verbose
git stash list
git stash show
git stash show -p
git stash show --stat
git stash show --name-only
git worktree list
git worktree list --porcelain
git worktree list -v
git submodule status
git submodule status --recursive
git submodule status --cached
git reflog show
git reflog -n 5
git notes list
git notes show
git bisect log
git bisect view
git sparse-checkout list
git config --list --local
git config --list --global
git config --list --system
git config --list --show-origin
git config --list --show-scope
git config --list --name-only
git config --list -z
awk '{print $1}' a
gawk '{print $1}' a
mawk '{print $1}' a
nawk '{print $1}' a
date -u
date -I
date -R
date -Iseconds
date +%s
fd a
yq . a
yq -e .b a
yq -r .b a
"""


def lines(table: str) -> list[str]:
    return table.strip().splitlines()


@pytest.mark.parametrize("name", RUNNERS.split())
def test_what_a_program_runs_that_runs_others_is_not_known(name: str) -> None:
    assert not parse_command(f"{name} rm x").is_resolved


@pytest.mark.parametrize("line", lines(RUNNING))
def test_a_line_with_an_option_that_runs_something_is_not_known(line: str) -> None:
    assert not parse_command(line).is_resolved


@pytest.mark.parametrize("line", lines(KNOWN))
def test_a_line_with_a_harmless_option_is_known(line: str) -> None:
    assert parse_command(line).is_resolved


def problems(line: str) -> list[str]:
    command_line = parse_command(line)
    return [
        text for text in (*command_line.unresolved, *map(change_reason, command_line.parts)) if text
    ]


@pytest.mark.parametrize("line", lines(WRITING))
def test_an_option_that_writes_is_no_reading(line: str) -> None:
    assert [change_reason(part) for part in parse_command(line).parts if change_reason(part)]


@pytest.mark.parametrize("line", lines(READING))
def test_other_options_read(line: str) -> None:
    assert problems(line) == []


@pytest.mark.parametrize("name", ["find", "gfind"])
def test_find_lists_the_commands_that_it_runs(name: str) -> None:
    parts = parse_command(f"{name} . -exec rm x \\;").parts
    assert [part.name for part in parts] == [name, "rm"]


@pytest.mark.parametrize(
    ("word", "literal"),
    [
        ("$'r\\\"m'", 'r"m'),
        ("$'r\\'m'", "r'm"),
        ("$'\\\\'", "\\"),
        ("$'\\?'", "?"),
        ("$'\\f\\v'", "\f\v"),
        ("$'\\U00110000'", "\ufffd"),
        ("$'\\U0010ffff'", "\U0010ffff"),
    ],
)
def test_codes_in_quotes(word: str, literal: str) -> None:
    [part] = parse_command(word).parts
    assert part.name == literal


@pytest.mark.parametrize("expression", ["((\\( 1 ))", "((a\\)))"])
def test_an_escaped_parenthesis_does_not_end_an_expression(expression: str) -> None:
    line = parse_command(expression)
    assert line.error == "" and line.parts == ()


def test_an_empty_parameter_does_not_hide_what_follows() -> None:
    parts = parse_command("echo ${}x; rm y").parts
    assert [part.name for part in parts] == ["echo", "rm"]


@pytest.mark.parametrize("line", ["(ls", "{ ls", "if ls", "case x"])
def test_an_error_at_the_end_says_so(line: str) -> None:
    assert "near 'the end'" in parse_command(line).error


RESERVED = (
    "if then else elif fi do done case esac while until for select function coproc time [[ ]]"
)


@pytest.mark.parametrize("word", RESERVED.split())
def test_a_reserved_word_is_no_name_of_a_program(word: str) -> None:
    assert not parse_command(f"'{word}' x").is_resolved


OPERATORS = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_comparison_of_numbers_evaluates_both_sides(operator: str) -> None:
    assert not parse_command(f"[[ 'a[$(rm x)]' {operator} 1 ]]").is_resolved
    assert not parse_command(f"[[ 1 {operator} 'a[$(rm x)]' ]]").is_resolved
    assert parse_command(f"[[ 1 {operator} 2 ]]").is_resolved


@pytest.mark.parametrize("line", ["[[ {} ]]", "test {}", "[ {} ]", "test ! {}", "[ 1 = 1 -a {} ]"])
@pytest.mark.parametrize("option", ["-v", "-R"])
def test_a_test_of_a_name_evaluates_its_subscript(line: str, option: str) -> None:
    assert not parse_command(line.format(f"{option} 'a[$(rm x)]'")).is_resolved
    assert parse_command(line.format(f"{option} a")).is_resolved


@pytest.mark.parametrize("line", ["env bash <<< 'rm x'", "timeout 5 sh <<'E'\nrm x\nE"])
def test_a_wrapped_shell_reads_the_input_of_its_wrapper(line: str) -> None:
    assert "rm" in [part.name for part in parse_command(line).parts]


@pytest.mark.parametrize("word", ["${x:-<(rm a)}", "${x:->(rm a)}"])
def test_a_process_substitution_in_an_expansion_is_listed(word: str) -> None:
    assert [part.name for part in parse_command(f"echo {word}").parts] == ["rm", "echo"]
    assert [part.name for part in parse_command(f'echo "{word}"').parts] == ["echo"]
