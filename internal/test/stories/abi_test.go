package stories

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// point is a build of libpoint.so.1 by gcc 12 with debug information: "old" has
// struct point { int x, y; }, "new" a member z between these, and "stripped" is that without debug
// information. The structure is in include/point.h, and norm takes a pointer to it.
func point(t *testing.T, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", "abi", name+".so.gz"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// library is a build of libx.so.1 with some exports, a line each.
func library(t *testing.T, exports ...string) []byte {
	t.Helper()
	b := elftest.File(t, "elf x86_64\nsoname libx.so.1\nneeded libc.so.6\nexport "+
		strings.Join(exports, "\nexport ")+"\n")
	return b
}

// built is an artifact with one file.
func built(path string, content []byte) *githubtest.Artifact {
	return artifact("libraries", cases.Zip(map[string][]byte{path: content}))
}

const (
	oldHeader = "struct point {\n  int x;\n  int y;\n};\nint norm(struct point *p);\n"
	newHeader = "struct point {\n  int x;\n  int z;\n  int y;\n};\nint norm(struct point *p);\n"

	cmake = "add_library(point SHARED point.c)\n" +
		"set_target_properties(point PROPERTIES SOVERSION 1)\n"
)

// main puts files and a finished run with one library on the branch main.
func (s *story) main(path string, content []byte, files map[string]string) {
	s.Helper()
	s.gh.Commit(s.repo, "main", files)
	s.gh.BranchRun(s.repo, "main", built(path, content))
}

func TestABIAgainstTheBase(t *testing.T) {
	s := tell(t, world{})
	s.main("lib/libpoint.so.1", point(t, "old"), map[string]string{
		settings:          "abi:\n  policy: break-always\n",
		"include/point.h": oldHeader,
		"CMakeLists.txt":  cmake,
	})
	p := s.OpenWith("feature", map[string]string{
		"include/point.h": newHeader,
		"CMakeLists.txt":  cmake + "set_target_properties(point PROPERTIES C_STANDARD 11)\n",
	})
	s.Finish(p, built("lib/libpoint.so.1", point(t, "new")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "ABI against main", "breaks 1 of 1 interfaces", "symbols and types",
		"struct point", "the member y moved from byte 4 to byte 8")
	if len(k.Annotations) != 1 || k.Annotations[0].Path != "include/point.h" ||
		k.Annotations[0].Start != 1 {
		s.Errorf("annotations %+v, want one on the structure in include/point.h", k.Annotations)
	}
	// the line of the SONAME is in the diff, so that the version can be changed there
	s.tells(p, k, "set_target_properties(point PROPERTIES SOVERSION 2)", "libpoint.so.2")
}

func TestABISinceTheLastRelease(t *testing.T) {
	s := tell(t, world{})
	s.main("lib/libx.so.1", library(t, "a", "b"), map[string]string{
		settings: "abi:\n  against: [last-release]\n",
	})
	sha := s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": "1.2.0\n"})
	s.gh.Tag(s.repo, "v1.2.0", sha)
	s.gh.AddRelease(s.repo, "v1.2.0",
		githubtest.NewAsset("libx.so.1", library(t, "a", "b", "released")))
	p := s.OpenWith("feature", map[string]string{"CHANGES": "1.3.0\n"})
	s.Finish(p, built("lib/libx.so.1", library(t, "a", "b")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "ABI since v1.2.0", "no longer exports released", "2.0.0")
	if strings.Contains(shown(k), "ABI against main") {
		s.Errorf("compared with main, which the configuration does not name:\n%s", shown(k))
	}
}

func TestABIWithoutARelease(t *testing.T) {
	s := tell(t, world{})
	s.main("lib/libx.so.1", library(t, "a"), map[string]string{
		settings: "abi:\n  against: [base, last-release]\n",
	})
	p := s.OpenWith("feature", map[string]string{"CHANGES": "1.3.0\n"})
	s.Finish(p, built("lib/libx.so.1", library(t, "a")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	s.says(shown(k), "ABI against main", "no change",
		"not compared with the last release: there is none")
}

func TestABIPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ policy, conclusion, says, not string }{
		{"warn", "success", "no longer exports b", ""},
		{"none", "success", "Compatible", "no longer exports b"},
		{"break-always", "failure", "no longer exports b", ""},
		{"break-on-patch", "failure", "no longer exports b", ""},
	} {
		t.Run(c.policy, func(t *testing.T) {
			s := tell(t, world{})
			s.main("libx-1.0.0.so", library(t, "a", "b"), map[string]string{
				settings: "abi:\n  policy: " + c.policy + "\n",
			})
			p := s.OpenWith("feature", map[string]string{"CHANGES": "x\n"})
			s.Finish(p, built("libx-1.0.0.so", library(t, "a")))
			k := s.Concluded(p.HeadSHA)
			s.want(k, c.conclusion)
			s.says(shown(k), c.says)
			if c.not != "" && strings.Contains(shown(k), c.not) {
				s.Errorf("says %q:\n%s", c.not, shown(k))
			}
		})
	}
}

// The versions of two releases decide which changes are allowed.
func TestABIOfARelease(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"v1.1.0": "failure", "v2.0.0": "success"} {
		t.Run(tag, func(t *testing.T) {
			s := tell(t, world{})
			first := s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": "1.0.0\n"})
			s.gh.Tag(s.repo, "v1.0.0", first)
			before := s.gh.AddRelease(s.repo, "v1.0.0",
				githubtest.NewAsset("libx.so.1", library(t, "a", "b")))
			s.gh.Do(func() { before.At = before.At.Add(-time.Hour) })
			sha := s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": tag + "\n"})
			s.gh.Tag(s.repo, tag, sha)
			l := s.gh.AddRelease(s.repo, tag,
				githubtest.NewAsset("libx.so.1", library(t, "a")))
			s.Send("release", s.gh.ReleaseEvent(s.repo, l, "published"))
			k := s.Concluded(sha)
			s.want(k, want)
			s.says(shown(k), "ABI since v1.0.0", "breaks 1 of 2 interfaces")
		})
	}
}

func TestABISuggestions(t *testing.T) {
	t.Parallel()
	t.Run("version script", func(t *testing.T) {
		s := tell(t, world{})
		s.main("lib/libx.so.1", library(t, "a@@X_1.0", "b@@X_1.0"), map[string]string{
			settings:   "abi:\n  policy: break-always\n",
			"libx.map": "X_1.0 {\n  global:\n    a;\n    b;\n  local: *;\n};\n",
		})
		p := s.OpenWith("feature", map[string]string{
			"libx.map": "X_1.0 {\n  global:\n    a;\n  local: *;\n};\n",
		})
		s.Finish(p, built("lib/libx.so.1", library(t, "a@@X_1.0")))
		k := s.Concluded(p.HeadSHA)
		s.want(k, "failure")
		s.tells(p, k, "suggestion\n  global:\n    b;\n")
	})
	t.Run("symbols file", func(t *testing.T) {
		s := tell(t, world{})
		list := "libx.so.1 libx1 #MINVER#\n a@Base 1.0\n"
		s.main("libx1_1.0-1_amd64/libx.so.1.0.0", library(t, "a"), map[string]string{
			settings:               "abi:\n  against: [debian/libx1.symbols]\n",
			"debian/libx1.symbols": list,
		})
		p := s.OpenWith("feature", map[string]string{"debian/libx1.symbols": list + " z@Base 1.0\n"})
		s.Finish(p, built("libx1_1.1-1_amd64/libx.so.1.1.0", library(t, "a", "b")))
		k := s.Concluded(p.HeadSHA)
		s.want(k, "success")
		s.says(shown(k), "ABI against debian/libx1.symbols", "that debian/libx1.symbols does not list")
		s.tells(p, k, "suggestion\nlibx.so.1 libx1 #MINVER#\n b@Base 1.1.0\n")
	})
}

func TestABIBaselineInTheRepository(t *testing.T) {
	s := tell(t, world{})
	file := filepath.Join(t.TempDir(), "libpoint.so.1")
	if err := os.WriteFile(file, point(t, "old"), 0o600); err != nil {
		t.Fatal(err)
	}
	baseline, err := exec.Command(binary, "abi", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	s.main("lib/libpoint.so.1", point(t, "new"), map[string]string{
		settings: "abi:\n  against: [abi/libpoint.json, abi/gone.json]\n" +
			"  policy: break-always\n",
		// over a megabyte, GitHub gives the content only as a blob
		"abi/libpoint.json": string(baseline) + strings.Repeat("\n", 1<<20),
		"include/point.h":   newHeader,
	})
	// the pull request cannot change what it is compared with
	p := s.OpenWith("feature", map[string]string{"abi/libpoint.json": "{}\n"})
	s.Finish(p, built("lib/libpoint.so.1", point(t, "new")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "ABI against abi/libpoint.json", "breaks 1 of 1 interfaces",
		"symbols and types", "not compared with abi/gone.json")
}

func TestABIWithoutDebugInformation(t *testing.T) {
	s := tell(t, world{})
	s.main("lib/libpoint.so.1", point(t, "old"), map[string]string{
		settings: "abi:\n  policy: break-always\n",
	})
	p := s.OpenWith("feature", map[string]string{"CHANGES": "x\n"})
	s.Finish(p, built("lib/libpoint.so.1", point(t, "stripped")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	s.says(shown(k), "no change", "symbols only: the new build lacks debug information",
		"changes of types are not found")
}

func TestABISuppressed(t *testing.T) {
	s := tell(t, world{})
	s.main("lib/libx.so.1", library(t, "a", "b"), map[string]string{
		settings:    "abi:\n  policy: break-always\n",
		".abignore": "[suppress_function]\n  symbol_name = b\n",
	})
	p := s.OpenWith("feature", map[string]string{".abignore": ""})
	s.Finish(p, built("lib/libx.so.1", library(t, "a")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	s.says(shown(k), "no change in what was compared; 1 change suppressed")
}
