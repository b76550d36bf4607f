package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/compat-app/compat/analyzer/dynlink"
)

// atLeast is the minimum number of compared objects on a Debian machine.
const atLeast = 500

var (
	lineFound   = regexp.MustCompile(`^\t(?:(.*?) => )?(.*) \(0x[0-9a-f]+\)$`)
	lineMissing = regexp.MustCompile(`^\t(.*) => not found$`)
	lineUndef   = regexp.MustCompile(`^undefined symbol: (.*?)(?:, version (.*))?\t\((.*)\)$`)
	lineVersion = regexp.MustCompile(
		"^.*?: ([^ ]*): version `(.*)' not found \\(required by (.*)\\)$",
	)
	lineLoader = regexp.MustCompile(`(^|/)ld-linux[^/]*\.so\.\d$|^linux-vdso`)
)

// TestMachine compares with the loader of this machine for its own programs and libraries, as
// used by ldd -r (nothing but the loader runs).
func TestMachine(t *testing.T) {
	loader := map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2",
		"arm64": "/lib/ld-linux-aarch64.so.1"}[runtime.GOARCH]
	if _, err := os.Stat(loader); loader == "" || err != nil {
		t.Logf("0 objects compared: no glibc loader at %q on this machine", loader)
		return
	}
	files := objectsBelow("/usr")
	got := make([]*dynlink.Answer, len(files))
	root, err := openRoot("/")
	if err != nil {
		t.Fatal(err)
	}
	linker := dynlink.NewLinker(root)
	want := make([]string, len(files))
	var wg sync.WaitGroup
	work := make(chan int)
	for range runtime.NumCPU() {
		wg.Go(func() {
			for i := range work {
				want[i] = loaderSays(loader, files[i], got[i].Error == notDynamic)
			}
		})
	}
	for i, f := range files { // compat resolves one object while the loader lists others
		got[i] = linker.Resolve(f, dynlink.Settings{})
		work <- i
	}
	close(work)
	wg.Wait()
	n, refused, differ := 0, 0, 0
	for i, f := range files {
		if want[i] == "" && got[i].Error == notDynamic {
			refused++
			continue
		}
		n++
		if got := lines(got[i]); got != want[i] {
			if differ++; differ <= 5 {
				t.Errorf(
					"%s: the loader says and compat does not\n%scompat says and the loader does not\n%s",
					f,
					without(want[i], got),
					without(got, want[i]),
				)
			}
		}
	}
	t.Logf(
		"%d objects compared with %s, %d differ; %d others it does not take",
		n,
		loader,
		differ,
		refused,
	)
	if _, err := os.Stat("/etc/debian_version"); err == nil && n < atLeast {
		t.Errorf("only %d objects were compared; a Debian machine has at least %d", n, atLeast)
	}
}

// notDynamic is the message of ldd for a file that the loader rejects.
const notDynamic = "not a dynamic executable"

// objectsBelow returns the ELF files with a dynamic section and this machine's class and byte
// order.
func objectsBelow(dirs ...string) (out []string) {
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			head := make([]byte, 20)
			f, err := os.Open(p)
			if err != nil {
				return nil
			}
			defer f.Close()
			if _, err := f.ReadAt(head, 0); err == nil && string(head[:6]) == "\x7fELF\x02\x01" &&
				head[16] >= 2 &&
				head[16] <= 3 {
				out = append(out, p)
			}
			return nil
		})
	}
	return out
}

// loaderSays returns the output of the loader as sorted lines; "" for a file that it rejects.
// verify runs the loader with --verify first; otherwise the error is returned like other output.
func loaderSays(loader, file string, verify bool) string {
	return glibcSays(file, verify, func(env []string, args ...string) *exec.Cmd {
		c := exec.CommandContext(context.Background(), loader, args...)
		c.Env, c.Dir = env, "/"
		return c
	})
}

// glibcSays runs a loader like ldd -r.
func glibcSays(
	file string,
	verify bool,
	loader func(env []string, args ...string) *exec.Cmd,
) string {
	var refused *exec.ExitError
	if verify {
		if err := loader(nil, "--verify", file).Run(); errors.As(err, &refused) &&
			refused.ExitCode() == 1 {
			return ""
		}
	}
	c := loader(
		[]string{"LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes", "LD_BIND_NOW=yes", "LD_VERBOSE="},
		file,
	)
	var text, errs bytes.Buffer
	c.Stdout, c.Stderr = &text, &errs
	if err := c.Run(); err != nil {
		return "error\n"
	}
	var out []string
	for _, l := range strings.Split(text.String()+errs.String(), "\n") {
		if m := lineMissing.FindStringSubmatch(l); m != nil {
			out = append(out, "missing "+m[1])
		} else if m := lineFound.FindStringSubmatch(l); m != nil && !lineLoader.MatchString(m[2]) {
			name := m[1]
			if name == "" {
				name = m[2]
			}
			out = append(out, "object "+name+" "+m[2])
		} else if m := lineUndef.FindStringSubmatch(l); m != nil {
			out = append(out, "undefined "+m[1]+" "+m[2]+" "+m[3])
		} else if m := lineVersion.FindStringSubmatch(l); m != nil {
			out = append(out, "version "+m[2]+" "+m[1]+" "+m[3])
		}
	}
	return sorted(versionless(out))
}

// versionless removes the versions of undefined symbols if a library was not found, because the
// loader then prints undefined memory after its table of versions.
func versionless(in []string) []string {
	if !slices.ContainsFunc(in, func(l string) bool { return strings.HasPrefix(l, "missing ") }) {
		return in
	}
	for i, l := range in {
		if f := strings.Split(l, " "); f[0] == "undefined" {
			in[i] = f[0] + " " + f[1] + " " + f[len(f)-1]
		}
	}
	return in
}

// without returns the lines of a that are not in b.
func without(a, b string) string {
	var out strings.Builder
	for l := range strings.Lines(a) {
		if !strings.Contains("\n"+b, "\n"+l) {
			out.WriteString(l)
		}
	}
	return out.String()
}

func lines(a *dynlink.Answer) string {
	if a.Error != "" {
		return "error\n"
	}
	var out []string
	for _, o := range a.Objects {
		if !lineLoader.MatchString(o.Path) {
			out = append(out, "object "+o.Name+" "+o.Path)
		}
	}
	for _, n := range a.NotFound {
		out = append(out, "missing "+n.Name)
	}
	for _, u := range a.Undefined {
		out = append(out, "undefined "+u.Symbol+" "+u.Version+" "+u.Object)
	}
	for _, v := range a.MissingVersions {
		out = append(out, "version "+v.Version+" "+v.Library+" "+v.RequiredBy)
	}
	return sorted(versionless(out))
}

func sorted(in []string) string {
	slices.Sort(in)
	return strings.Join(slices.Compact(in), "\n") + "\n"
}
