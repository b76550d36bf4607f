// Bench compares `compat check` with only inflating the files, and `compat ldd` with other tools
// for the same purpose, in one run on one machine: CPU seconds depend on its load, but their ratios
// hardly do.
//
//	go run ./internal/test/bench [-root DIR] [-files 500] [-rounds 3] COMPAT [WHEEL...]
//
// For each wheel it measures a check, and a second one with the cached result of the first. Then it
// runs compat ldd on objects below /usr of a root: on 500 of them in one process, on the one that
// loads the most libraries, and on 5,000 for the memory. `ldd -r` (in a chroot if the root is
// another one, so as root), lddtree and libtree are measured if they are installed. Only `ldd -r`
// and compat resolve symbols.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// patience is the timeout of a tool: libtree -vvv grows exponentially with libraries that are
// needed more than once.
const patience = 2 * time.Minute

func main() {
	root := flag.String("root", "/", "folder that counts as /")
	files := flag.Int("files", 500, "objects in one process; 0 leaves compat ldd out")
	rounds := flag.Int("rounds", 3, "rounds of which the best counts")
	only := flag.String("floor", "", "inflate the ELF members of this wheel, and nothing else")
	flag.Parse()
	if *only == "" && flag.NArg() < 1 {
		fmt.Fprintln(os.Stderr, "usage: bench [flags] COMPAT [WHEEL...]")
		os.Exit(2)
	}
	var err error
	switch {
	case *only != "":
		err = floor(*only)
	case flag.NArg() > 1:
		err = wheels(os.Stdout, flag.Arg(0), flag.Args()[1:], *rounds)
	}
	if err == nil && *only == "" && *files > 0 {
		err = bench(os.Stdout, flag.Arg(0), *root, *files, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// tool is a program to measure.
type tool struct {
	name    string
	command []string
}

// cost is the use of a process and its children.
type cost struct {
	cpu, wall time.Duration
	// KiB; never less than that of this process, which Linux counts until the other program runs
	rss  int64
	late bool // it was ended after the timeout
}

func bench(out io.Writer, compat, root string, n, rounds int) error {
	all, err := objects(root)
	if err != nil {
		return err
	}
	if len(all) < n {
		return fmt.Errorf(
			"%s has %d objects below /usr, fewer than the %d to measure; give fewer with -files",
			root,
			len(all),
			n,
		)
	}
	some := make([]string, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	most, libraries, err := heaviest(compat, root, all)
	if err != nil {
		return err
	}
	ask := []string{compat, "ldd", "--root", root, "--format", "json"}
	tools := []tool{{"compat ldd", ask}}
	loader := []string{"ldd", "-r"}
	if root != "/" {
		loader = append([]string{"chroot", root, "/usr/bin/ldd"}, "-r")
	}
	others := []tool{{"ldd -r", loader}, {"lddtree", []string{"lddtree", "-R", root}}}
	if root == "/" { // it has no other output
		others = append(others, tool{"libtree -vvv", []string{"libtree", "-vvv"}})
	}
	for _, t := range others {
		if said, err := says(t, some[0]); said == 0 {
			fmt.Fprintf(out, "%s does not run here and is left out: %v\n", t.name, err)
			continue
		}
		tools = append(tools, t)
	}
	fmt.Fprintf(
		out,
		"root %s, best of %d rounds; ratio: its CPU by compat's\n\n%-28s %-14s %9s %9s %9s %7s\n",
		root,
		rounds,
		"question",
		"tool",
		"CPU s",
		"wall s",
		"RSS MiB",
		"ratio",
	)
	for _, q := range []struct {
		text  string
		files []string
	}{{fmt.Sprintf("%d objects in one process", n), some},
		{fmt.Sprintf("one object, %d libraries", libraries), []string{most}}} {
		best := make([]cost, len(tools))
		for round := range rounds {
			for i, t := range tools {
				if best[i].late {
					continue
				}
				c, err := run(t, q.files)
				if err != nil {
					return err
				}
				if round == 0 || c.cpu < best[i].cpu {
					best[i] = c
				}
			}
		}
		for i, t := range tools {
			row(out, q.text, t.name, best[i], best[0])
		}
	}
	many := make([]string, 0, 5000)
	for len(many) < cap(many) {
		many = append(many, all[len(many)%len(all)])
	}
	c, err := run(tools[0], many)
	if err != nil {
		return err
	}
	row(out, "5000 objects", tools[0].name, c, c)
	return nil
}

func row(out io.Writer, question, name string, c, first cost) {
	over := ""
	if c.late {
		over = "  (ended after " + patience.String() + ")"
	}
	fmt.Fprintf(
		out,
		"%-28s %-14s %9.3f %9.3f %9.1f %7.1f%s\n",
		question,
		name,
		c.cpu.Seconds(),
		c.wall.Seconds(),
		float64(c.rss)/1024,
		c.cpu.Seconds()/first.cpu.Seconds(),
		over,
	)
}

// start makes a process of a tool. The system's own Python comes first, because it has the modules
// that a packaged lddtree imports.
func start(ctx context.Context, t tool, files []string) *exec.Cmd {
	c := exec.CommandContext(
		ctx,
		t.command[0],
		append(append([]string{}, t.command[1:]...), files...)...)
	c.Env = append(os.Environ(), "PATH=/usr/bin:/bin:"+os.Getenv("PATH"))
	return c
}

// written counts what a process prints: libtree can print gigabytes.
type written int64

func (w *written) Write(b []byte) (int, error) {
	*w += written(len(b))
	return len(b), nil
}

// says returns the number of bytes that a tool prints about a file.
func says(t tool, file string) (n written, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := start(ctx, t, []string{file})
	c.Stdout = &n
	err = c.Run()
	return n, err
}

func run(t tool, files []string) (cost, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := start(ctx, t, files)
	begin := time.Now()
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return cost{}, fmt.Errorf("run %s: %w", t.name, err)
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, errors.New("this system does not say what a process took")
	}
	return cost{
		c.ProcessState.UserTime() + c.ProcessState.SystemTime(),
		time.Since(begin),
		usage.Maxrss,
		ctx.Err() != nil,
	}, nil //nolint:unconvert // of another width on other systems
}

// heaviest returns the file that loads the most libraries.
func heaviest(compat, root string, files []string) (file string, libraries int, err error) {
	c := exec.Command(
		compat,
		append([]string{"ldd", "--root", root, "--format", "json"}, files...)...)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", 0, fmt.Errorf("run %s: %w", compat, err)
	}
	d := json.NewDecoder(out)
	for _, f := range files {
		var a struct{ Objects []struct{} }
		if err = d.Decode(&a); err != nil {
			err = fmt.Errorf("read the answer of %s: %w", compat, err)
			break
		}
		if len(a.Objects) > libraries {
			file, libraries = f, len(a.Objects)
		}
	}
	var ended *exec.ExitError
	if e := c.Wait(); e != nil && (!errors.As(e, &ended) || ended.ExitCode() != 1) {
		err = errors.Join(err, fmt.Errorf("run %s: %w", compat, e))
	}
	return file, libraries, err
}

// objects returns the paths of 64-bit little-endian programs and shared libraries below /usr of a
// root.
func objects(root string) (out []string, err error) {
	err = filepath.WalkDir(
		filepath.Join(root, "usr"),
		func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			f, err := os.Open(p) //nolint:gosec // a root that the user named
			if err != nil {
				return nil
			}
			defer f.Close()
			head := make([]byte, 20)
			if _, err := io.ReadFull(f, head); err == nil &&
				string(head[:6]) == "\x7fELF\x02\x01" &&
				head[16] >= 2 &&
				head[16] <= 3 {
				in, err := filepath.Rel(root, p)
				if err != nil {
					return err
				}
				out = append(out, "/"+in)
			}
			return nil
		},
	)
	return out, err
}
