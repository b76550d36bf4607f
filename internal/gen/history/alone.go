package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/analyzer/unpack"
)

// mostAlone is the largest wheel, in bytes, that is checked for the list. Larger ones are those of
// GPU frameworks, which need other packages.
const mostAlone = 320 << 20

// interpreters whose wheels are checked; and those for several of them.
var interpreters = []string{"cp310", "cp311", "cp312", "cp313", "cp314"}

// writeAlone adds the wheels of the newest versions of the packages in alone that need no other
// package to the list in file (packages.StandsAlone), and with triton those that go with releases of
// torch. The newest versions are read first, and the
// list is written after each step back, so an interrupted run keeps what it has found. Wheels that
// were listed before stay listed; the index cannot change them.
func (x *index) writeAlone(
	ctx context.Context, names []string, versions int, file string, log io.Writer,
) error {
	list, err := readAlone(file)
	if err != nil {
		return err
	}
	wheels := make([][][]wheel, len(names)) // by package, newest version first
	failed := make([]error, len(names))
	inParallel(ctx, len(names), func(i int) {
		wheels[i], failed[i] = x.newest(ctx, names[i], versions)
	})
	for i, err := range failed {
		if err != nil {
			fmt.Fprintf(log, "left out: %s: %v\n", names[i], err)
		}
	}
	var together []wheel
	if slices.Contains(names, "triton") {
		if together, err = x.withTorch(ctx, 4*versions, list, log); err != nil {
			return err
		}
	}
	for n := range versions {
		todo := together
		together = nil
		for _, of := range wheels {
			if n < len(of) {
				todo = append(todo, of[n]...)
			}
		}
		x.addAlone(ctx, todo, list, log)
		if err := storeAlone(file, list); err != nil {
			return err
		}
		fmt.Fprintf(log, "%d wheels are listed\n", len(list))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// newest returns the wheels for glibc on x86_64 of the newest final versions that have some.
func (x *index) newest(ctx context.Context, name string, versions int) ([][]wheel, error) {
	files, err := x.files(ctx, pkg{name: name})
	if err != nil {
		return nil, err
	}
	byVersion := map[string][]wheel{}
	for _, w := range files {
		if x.forList(w) {
			byVersion[w.version] = append(byVersion[w.version], w)
		}
	}
	var out [][]wheel
	for _, list := range byVersion {
		out = append(out, list)
	}
	slices.SortFunc(out, func(a, b []wheel) int { return compareVersions(b[0].version, a[0].version) })
	return out[:min(len(out), versions)], nil
}

// forList reports whether a wheel is for glibc on x86_64 and for an interpreter of the list.
func (x *index) forList(w wheel) bool {
	n, err := pkgmeta.ParseWheelName(w.file)
	return err == nil && !w.yanked && w.sha256 != "" && x.only.MatchString(w.file) &&
		runsOn(n, "x86_64") && slices.ContainsFunc(n.Tags, func(t pkgmeta.Tag) bool {
		return t.Platform != "any" && !strings.HasSuffix(t.ABI, "t") &&
			(t.ABI == "abi3" || t.ABI == "none" || slices.Contains(interpreters, t.Python))
	})
}

// addAlone checks wheels and adds the lines of those that stand alone to list.
func (x *index) addAlone(
	ctx context.Context, wheels []wheel, list map[string]string, log io.Writer,
) {
	wheels = slices.DeleteFunc(wheels, func(w wheel) bool {
		line, have := list[w.file]
		return have && !strings.HasSuffix(line, " release")
	})
	var mu sync.Mutex
	inParallel(ctx, len(wheels), func(i int) {
		w := wheels[i]
		shares, why, err := aloneFrom(ctx, w)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			fmt.Fprintf(log, "left out: %s: %v\n", w.file, err)
		case why != "":
			fmt.Fprintf(log, "needs more: %s: %s\n", w.file, why)
		default:
			list[w.file] = w.sha256[:32]
			if shares {
				list[w.file] += " shares"
			}
			if len(w.with) > 0 {
				list[w.file] += " with " + strings.Join(w.with, ",")
			}
		}
	})
}

// inParallel calls do for the numbers below n, and waits. It stops when ctx ends.
func inParallel(ctx context.Context, n int, do func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wg.Wait()
}

// aloneFrom downloads a wheel and checks it.
func aloneFrom(ctx context.Context, w wheel) (shares bool, why string, err error) {
	resp, err := request(ctx, w.url, "")
	if err != nil {
		return false, "", err
	}
	defer resp.Body.Close()
	if resp.ContentLength > mostAlone {
		return false, fmt.Sprintf("it has %d MB", resp.ContentLength>>20), nil
	}
	f, err := os.CreateTemp("", "historygen-*")
	if err != nil {
		return false, "", err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return false, "", err
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(resp.Body, mostAlone))
	if err != nil {
		return false, "", err
	}
	if hex.EncodeToString(sum.Sum(nil)) != w.sha256 {
		return false, "", errors.New("does not have the digest on the page")
	}
	in := analyzer.Input{Name: w.file, Content: f, Size: size, SHA256: w.sha256}
	return standsAlone(ctx, in, w.with)
}

// everywhere reports whether every system with glibc has a library.
func everywhere(soname string) bool {
	return !slices.ContainsFunc(platform.All("x86_64"), func(p *platform.Platform) bool {
		return p.Libc == "glibc" && p.Library(soname) == nil
	})
}

// standsAlone returns why a wheel may need other packages than those in with, NAME==VERSION, or "".
// shares is set if it has libraries that other packages may load. It expects that
//   - all its objects can be read and are for x86_64,
//   - they need only each other and libraries that every system has, if with is empty,
//   - they have no GPU code, if with is empty, and do not need NumPy 1,
//   - the check of the wheel finds no error and nothing to warn of on the platforms of its tags and
//     on a current system.
func standsAlone(
	ctx context.Context, in analyzer.Input, with []string,
) (shares bool, why string, err error) {
	set, err := facts.Read(ctx, []facts.Input{in}, facts.Options{Scratch: scratch}, elfobj.NewNames())
	if err != nil {
		return false, "", err
	}
	if len(set.Unread) > 0 || len(set.Artifacts) != 1 {
		return false, "it could not be read completely", nil
	}
	own := map[string]bool{}
	for _, o := range set.Artifacts[0].Objects {
		own[o.SONAME], own[path.Base(o.Path)] = true, true
	}
	for _, o := range set.Artifacts[0].Objects {
		if o.Arch() != "x86_64" {
			return false, o.Path + " is for " + o.Arch(), nil
		}
		if o.NumPy == facts.NumPy1 || len(o.GPU.CUDA)+len(o.GPU.PTX)+len(o.GPU.ROCm) > 0 {
			if len(with) == 0 || o.NumPy == facts.NumPy1 {
				return false, o.Path + " needs NumPy 1 or has GPU code", nil
			}
		}
		for _, n := range o.Needed {
			if len(with) == 0 && !own[n] && !everywhere(n) {
				return false, o.Path + " needs " + n, nil
			}
		}
		shares = shares || packages.Loadable(o.Path)
	}
	// those that compat env uses
	loading := slices.DeleteFunc(rules.All(), func(r *analyzer.Rule) bool { return r.Packaging })
	r, err := analyzer.New(loading).Check(ctx, []analyzer.Input{in}, analyzer.Options{
		Also: []string{"debian13"}, With: with, NoFixes: true, NoIndex: true, Scratch: scratch,
	})
	if err != nil {
		return false, "", err
	}
	for _, f := range r.Findings {
		if f.Severity != analyzer.Note {
			return false, f.Rule + ": " + f.Message, nil
		}
	}
	if len(r.Unread) > 0 || len(set.Artifacts[0].Objects) > 0 && r.Verdict != analyzer.Compatible {
		return false, "its verdict is " + string(r.Verdict), nil
	}
	return shares, "", nil
}

// spool is a temporary file without a name.
type spool struct{ *os.File }

func scratch(int64) (unpack.Scratch, error) {
	f, err := os.CreateTemp("", "historygen-*")
	if err != nil {
		return nil, err
	}
	return spool{f}, os.Remove(f.Name())
}

// readAlone reads a list: the rest of each line by file name. It is empty if there is no file.
func readAlone(file string) (map[string]string, error) {
	list := map[string]string{}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		list[name] = rest
	}
	return list, lines.Err()
}

// storeAlone writes a list, sorted by file name.
func storeAlone(file string, list map[string]string) error {
	var lines []string
	for name, rest := range list {
		lines = append(lines, name+" "+rest+"\n")
	}
	slices.SortFunc(lines, cmp.Compare[string])
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(z, strings.Join(lines, "")); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
