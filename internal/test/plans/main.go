// Plans runs the fixes that compat offers for real wheels, and asks other programs about the
// result.
//
//	go run ./internal/test/plans [-wheels LIST] [-only REGEXP] [-dir DIR] COMPAT
//
// LIST names wheels, one per line: a platform tag and the release of Python for pip, the
// requirement, and what is damaged before compat sees the wheel (see damages), if anything is.
//
// For each wheel, compat fix writes a copy twice, which has to be the same. pip installs it, and
// python -m zipfile, wheel, twine, auditwheel and compat read it. Each shared library for this
// machine is opened, and has to open if it did before. What compat check calls tried has to be what
// compat fix did. Then the commands that compat check prints are run as they are, one after the
// other.
//
// Each disagreement is a line; the exit code is 1 if there are any. The programs are those of PATH.
// It needs a package index.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

func main() {
	differences, err := run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "plans:", err)
		os.Exit(2)
	}
	if differences > 0 {
		os.Exit(1)
	}
}

// row is a wheel of the list.
type row struct {
	platform, python, requirement string
	damage                        string // "" for none
}

func (r row) String() string {
	return strings.TrimSpace(r.requirement + " " + r.platform + " " + r.damage)
}

// totals are counted over all wheels.
type totals struct {
	wheels, written, clean, lessErrors, opened, commands, failed, causes, most int
	differences                                                                int
}

func run(ctx context.Context) (differences int, _ error) {
	list := flag.String("wheels", "internal/test/plans/wheels.txt", "file that lists wheels")
	only := flag.String("only", "", "regular expression of the wheels to fix")
	dir := flag.String("dir", filepath.Join(os.TempDir(), "compat-plans"), "folder for wheels")
	flag.Parse()
	if flag.NArg() != 1 {
		return 0, fmt.Errorf("usage: plans [-wheels LIST] [-only REGEXP] [-dir DIR] COMPAT")
	}
	compat, err := filepath.Abs(flag.Arg(0))
	if err != nil {
		return 0, err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return 0, err
	}
	rows, err := read(*list)
	if err != nil {
		return 0, err
	}
	bin := filepath.Join(*dir, "bin") // compat, for the commands that it prints
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return 0, err
	}
	link := filepath.Join(bin, "compat")
	os.Remove(link)
	if err := os.Symlink(compat, link); err != nil {
		return 0, err
	}
	if err := os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		return 0, err
	}
	var t totals
	var mutex sync.Mutex
	var wait sync.WaitGroup
	slots := make(chan bool, runtime.NumCPU())
	for _, r := range rows {
		if !wanted.MatchString(r.String()) {
			continue
		}
		slots <- true
		wait.Go(func() {
			defer func() { <-slots }()
			p := plan{row: r, compat: compat}
			err := p.run(ctx, *dir)
			mutex.Lock()
			defer mutex.Unlock()
			if err != nil {
				p.differs("%v", err)
			}
			p.print(&t)
		})
	}
	wait.Wait()
	fmt.Printf("%d wheels: %d written, %d of them without an error, %d with fewer errors\n",
		t.wheels, t.written, t.clean, t.lessErrors)
	fmt.Printf("%d causes, at most %d of a wheel; %d objects opened; %d commands run, %d failed\n",
		t.causes, t.most, t.opened, t.commands, t.failed)
	fmt.Printf("%d differences\n", t.differences)
	return t.differences, nil
}

// read reads the list.
func read(list string) (rows []row, _ error) {
	f, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		switch len(words) {
		case 0:
			continue
		case 3:
			words = append(words, "")
		case 4:
			if damages[words[3]] == nil {
				return nil, fmt.Errorf("%s: %q is no damage", list, words[3])
			}
		default:
			return nil, fmt.Errorf("%s: %q is not PLATFORM PYTHON REQUIREMENT [DAMAGE]", list, text)
		}
		rows = append(rows, row{words[0], words[1], words[2], words[3]})
	}
	return rows, lines.Err()
}

// download returns the path of the wheel, in a folder of its own, as it is published.
func (r row) download(ctx context.Context, dir string) (string, error) {
	name := regexp.MustCompile(`[^\w.=-]+`).ReplaceAllString(r.requirement+"-"+r.platform, "_")
	dir = filepath.Join(dir, "wheels", name)
	abi := "cp" + strings.ReplaceAll(r.python, ".", "")
	pattern := filepath.Join(dir, "*.whl")
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) == 0 {
		out, err := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "-q",
			"--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--platform",
			r.platform, "--python-version", r.python, "--implementation", "cp", "--abi", abi, "--abi",
			"abi3", "--abi", "none", "-d", dir, r.requirement).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("pip download: %w: %s", err, tail(out))
		}
		if found, err = filepath.Glob(pattern); err != nil {
			return "", err
		}
	}
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("pip downloaded %d wheels: %w", len(found), err)
	}
	return found[0], nil
}

// tail is the end of what a program printed, on one line.
func tail(out []byte) string {
	text := strings.Join(strings.Fields(string(out)), " ")
	return text[max(0, len(text)-200):]
}
