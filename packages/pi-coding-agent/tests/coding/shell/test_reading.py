"""The table of programs that only read, and of the options with which they write."""

from __future__ import annotations

import pytest

from pi.coding.shell.command_line.reading import change_reason
from pi.coding.shell.command_line.resolve import parse_command

READING = """
ls -la /tmp
cat a | head -5 | wc -l
/usr/bin/cat a
grep -rn TODO src | sort | uniq -c | sort -rn
uniq -f 2 a
sort -k2,2 -t, a
find . -name '*.py' -newer a
find . -name '*.py' -exec grep -l x {} +
find . -type f | xargs wc -l
rg -n --glob '*.py' 'def ' src
fd -e py . src
tree -L 2
file a
xxd a
xxd -s 16 -l 32 a
yq .a b.yml
sed -n '1,20p' a
sed -n -e '/def /p' a
sed 's/a/b/;s/c/d/g' a
awk -F: '{print $1}' /etc/passwd
date +%s
hostname
env
timeout 5 ls
command -v git
set -euo pipefail
read -r line
for f in *.py; do wc -l "$f"; done
cat $(git ls-files)
git status --short
git --no-pager log --oneline -5 -- a
git -C sub diff --stat
git log -SOther
git branch
git branch -a --sort=-committerdate
git branch --contains HEAD
git tag -l 'v*'
git remote -v
git stash list
git stash show -p
git worktree list
git config --get user.name
git reflog
git reflog show main
git --version
pip list --outdated
ps aux
ps -ef
ps -o etime,command -p $PID
ps -eo pid,time --sort time
ps -C node
ps -p "$PPID"
pip show requests
pip show -f requests
pip list --local
uniq -- a
base64 -w0 a
arch
brew info python@3.11
gem search rails
conda search numpy
npm ls --depth=0
npm view react version
npm view @scope/name
go list -m all
go version
dpkg -l
apt-cache policy git
docker ps -a
python3 --version
node -v
""".strip().splitlines()

CHANGING = """
ps e
ps auxe
ps eww -p 1
ps -p 1 e
ps -E
uniq -- -f a
uniq -- -a b
xxd -- -c a
base64 -o a b
base64 -i b -oa
base32 --output a b
arch -x86_64 rm a
pip list --log-file=a
pip list --log-file a
pip list --local-log=a
pip index versions a --pypi-url=http://b
pip index versions a -f http://b
pip list -of http://b
gem search a --source http://b
gem list -rs http://b
gem list --http-proxy=http://b
brew info ./a.rb
brew info a.rb
brew info http://b/a.rb
brew info user/tap/a
brew info --github a
conda search -c http://b a
conda search http://b::a
conda search --chan=b a
npm ls --logs-dir=a
git log --help
git status --help
sort -o a b
sort -uo a b
sort --outp=a b
sort $X b
uniq a b
uniq -c a b
uniq $X
xxd -r a b
xxd a b
xxd -revert a
shuf -o a
iconv -o a b
rg --pre=x a
rg --pr x a
tree -o a
file -C -m a
yq -i .a=1 b
fd -x rm
fdfind --exec-b rm
find . -delete
find . -fprint a
find . -ok rm {} ;
find $X
sed -i s/a/b/ a
sed --in-place s/a/b/ a
sed -n -i p a
date -s 12:00
date 010112002030
hostname x
env A=1 ls
env -u B A=1 ls
time -o a ls
time -f %e -o a ls
set -o allexport
set a
tee a
cp a b
ls | xargs sort
ls | xargs rm
find . -exec rm {} +
./ls
bin/cat a
/home/x/cat a
git commit -m x
git push
git diff --output=a
git log --outp=a
git diff --ext-diff
git show --textconv
git grep -Oless x
git grep --open-files-in-pager=x y
git log $X
git -C $X log
git -c core.pager=x log
git --git-dir=x log
git --paginate log
git branch x
git branch -d x
git branch --list -d x
git branch -v x
git tag v1
git tag -d v1
git remote add a b
git remote show origin
git stash
git stash drop
git worktree add x
git submodule update
git config user.name x
git config --unset a.b
git reflog expire --all
git reflog expire show
git notes add
git bisect start
pip install x
pip list --log=a
pip list --lo a
pip list --index-url=http://x
npm install
npm ls --registry=http://x
npm view http://x/y
npm view user/repository
npm view $X
npm exec x
go build
go list -export
go list -toolexec=x
go list --toolexec=x
go env -w A=b
apt list -o A=b
apt install x
docker run x
yarn list
cargo metadata
python3 --version x
python3 -m pip list
make --version x
unknown
""".strip().splitlines()


def reasons(text: str) -> list[str]:
    line = parse_command(text)
    change_reasons = [change_reason(part) for part in line.parts]
    return [reason for reason in (*line.unresolved, *change_reasons) if reason]


@pytest.mark.parametrize("text", READING)
def test_a_command_that_only_reads_is_known(text: str) -> None:
    assert reasons(text) == []


@pytest.mark.parametrize("text", CHANGING)
def test_a_command_that_may_change_something_has_a_reason(text: str) -> None:
    assert reasons(text) != []


def test_every_program_of_the_table_has_a_reason_for_a_further_folder() -> None:
    assert change_reason(parse_command("/opt/x/ls").parts[0]) == (
        "/opt/x/ls is not a program of the system"
    )
