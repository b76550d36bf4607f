package comment

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

// maxScanned limits the bytes of source files that all searches of one review read, plus 32 per
// line. Usual projects have a hundredth of it; 8 MiB take a second.
const maxScanned = 8 << 20

// sources are the source files in which the lines that cause findings are searched. They are
// untrusted, so the work is limited: lines longer than maxLine are skipped, each search runs
// once, and after maxScanned bytes all searches find nothing.
type sources struct {
	files map[string]string
	left  int // bytes left of maxScanned
	found map[string]place
}

// place is a line of a file; line 0 means none.
type place struct {
	path string
	line int
}

// maxLineShown limits the characters of a line that is quoted.
const maxLineShown = 80

// source returns the place as it is shown to who does not see the line; nil for none.
func (p place) source(in Input) *causetext.Source {
	if p.line == 0 {
		return nil
	}
	out := &causetext.Source{At: p.String()}
	if all := lines(in.Files[p.path]); p.line <= len(all) {
		out.Text = shown(all[p.line-1])
	}
	if in.Diff != nil {
		var old string
		out.About, old = in.Diff.Change(p.path, p.line)
		out.Old, out.Base = shown(old), in.BaseName
	}
	return out
}

// here returns the place as it is shown on its line; nil if it is not known what the pull request
// does to it.
func (p place) here(in Input) *causetext.Source {
	s := p.source(in)
	if s == nil || s.About == "" {
		return nil
	}
	s.At, s.Text = "this line", ""
	return s
}

// shown returns a line as it is quoted; "" if it is too long.
func shown(line string) string {
	if line = strings.TrimSpace(line); len(line) > maxLineShown || mdsafe.Lines(line) != line {
		return ""
	}
	return line
}

// String returns the place as it is shown to who does not see it: FILE:LINE.
func (p place) String() string { return fmt.Sprintf("%s:%d", p.path, p.line) }

func newSources(files map[string]string) *sources {
	return &sources{files: files, left: maxScanned, found: map[string]place{}}
}

// anchor finds the source line that causes a finding: the requirement of a dependency, the build
// image or platform tag, the link command, or the package index. ok is false if there is none.
func (s *sources) anchor(f *analyzer.Finding) (file string, line int, ok bool) {
	for _, x := range searches(f) {
		at, known := s.found[x.key]
		if !known {
			at.path, at.line = s.scan(x.kinds, x.score)
			s.found[x.key] = at
		}
		if at.line > 0 {
			return at.path, at.line, true
		}
	}
	return "", 0, false
}

// Lines returns a function that finds the source line for a cause of a report, and the changes
// of that line which make fixes. files maps the paths of Candidates to their content. The function
// returns "", 0 and nil if no line causes it.
func Lines(
	r *analyzer.Report, files map[string]string,
) func(cause int) (file string, line int, edits []causetext.Edit) {
	v, s := newView(r, nil), newSources(files)
	changes := editsOf(edits(Input{Report: r, Files: files}, v, s))
	return func(cause int) (string, int, []causetext.Edit) {
		file, line, ok := s.anchor(v.finding(cause))
		edits := changes[cause]
		if !ok || len(edits) > 0 && edits[0].At != (place{file, line}).String() {
			edits = nil
		}
		return file, line, edits
	}
}

// search finds the line with the highest score in files of some kinds.
type search struct {
	key   string // equal for equal searches
	kinds []fileKind
	score func(kind fileKind, section, line string) int
}

// searches returns the searches for a finding in order: first those for its fixes, then those for
// its facts.
func searches(f *analyzer.Finding) []search {
	var out []search
	for _, x := range f.Fixes {
		switch x.Kind.Setting() {
		case fix.Requirements:
			if r, ok := parseRequirement(x.Requirement); ok {
				out = append(out, requirement(r.name), dependencyList())
			}
		case fix.BuildImage:
			out = append(out, image(f.Target))
		case fix.LinkCommand:
			out = append(out, linked(f, true))
		}
	}
	if aboutGPU(f) {
		out = append(out, gpuStack())
	}
	if aboutLibc(f) {
		out = append(out, image(f.Target))
	}
	if f.Package != "" {
		out = append(out, requirement(f.Package))
	}
	return append(out, linked(f, false))
}

func aboutGPU(f *analyzer.Finding) bool {
	l := strings.ToLower(f.Library + " " + f.Rule + " " + f.Symbol)
	for _, w := range []string{"cuda", "_hip", "hip.so", "rocm", "amdhip", "cudnn", "cublas",
		"torch"} {
		if strings.Contains(l, w) {
			return true
		}
	}
	return false
}

func aboutLibc(f *analyzer.Finding) bool {
	for _, p := range []string{"GLIBC", "CXXABI", "GCC_", "GOMP_"} {
		if strings.HasPrefix(f.Version, p) {
			return true
		}
	}
	return false
}

// scan returns the line with the highest score in files of some kinds, not counting comments; 0
// is no match. Among equals it prefers the file that is first in the order of kinds, then the one
// nearest to the root, then the first line.
func (s *sources) scan(
	kinds []fileKind,
	score func(kind fileKind, section, line string) int,
) (string, int) {
	best, bestFile, bestLine := 0, "", 0
	for _, p := range inOrder(s.files, kinds) {
		section := ""
		toml := path.Ext(p) == ".toml"
		at := 0
		for l := range strings.SplitSeq(s.files[p], "\n") {
			at++
			if s.left -= len(l) + 32; s.left < 0 {
				return bestFile, bestLine
			}
			if len(l) > maxLine {
				continue
			}
			l = code(l)
			if t := strings.TrimSpace(l); toml && strings.HasPrefix(t, "[") &&
				strings.HasSuffix(t, "]") &&
				!strings.ContainsAny(t, `"'`) {
				section = strings.Trim(t, "[] ")
			}
			if n := score(kindOf(p), section, l); n > best {
				best, bestFile, bestLine = n, p, at
			}
		}
	}
	return bestFile, bestLine
}

func inOrder(files map[string]string, kinds []fileKind) []string {
	ps := slices.DeleteFunc(
		slices.Collect(maps.Keys(files)),
		func(p string) bool { return !slices.Contains(kinds, kindOf(p)) },
	)
	slices.SortFunc(ps, func(a, b string) int {
		return cmp.Or(
			slices.Index(kinds, kindOf(a))-slices.Index(kinds, kindOf(b)),
			strings.Count(a, "/")-strings.Count(b, "/"),
			boolRank(path.Base(b) == "pyproject.toml")-boolRank(path.Base(a) == "pyproject.toml"),
			strings.Compare(a, b))
	})
	return ps
}

// lines splits text into lines. A final newline starts no further line.
func lines(content string) []string {
	if content == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(content, "\n"), "\n")
}

// code returns a line without its comment. "#" starts a comment outside quotes, at the start of a
// line or after white space.
func code(l string) string {
	quote := byte(0)
	for i := range len(l) {
		switch c := l[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#' && (i == 0 || l[i-1] == ' ' || l[i-1] == '\t'):
			return l[:i]
		}
	}
	return l
}

// requirement finds the line that requires a package.
func requirement(name string) search {
	return search{
		"requirement " + name,
		[]fileKind{projectPy, pinned, imageFile, workflowYML},
		func(kind fileKind, section, line string) int {
			r, ok := findRequirement(line, name, kind)
			switch {
			case !ok:
				return 0
			case section == "build-system": // less relevant than runtime requirements
				return 1
			case r.spec == "":
				return 2
			}
			return 3
		},
	}
}

// dependencyList finds the list of the project's dependencies, to which a new one is added.
func dependencyList() search {
	return search{
		"dependencies",
		[]fileKind{projectPy},
		func(_ fileKind, section, line string) int {
			key, _, assigned := strings.Cut(line, "=")
			key = strings.TrimSpace(key)
			switch {
			case assigned && (key == "dependencies" && section == "project" || key == "install_requires"):
				return 2
			case key == "[tool.poetry.dependencies]":
				return 1
			}
			return 0
		},
	}
}

var (
	manyTag  = lazyregexp.New(`(?:many|musl)linux(?:_\d+_\d+|\d+)`)
	buildArg = lazyregexp.New(
		`CIBW_(?:MANYLINUX|MUSLLINUX)|AUDITWHEEL_PLAT|--plat\b|plat[-_]name|linux-\w+-image\b`,
	)
	imageLine = lazyregexp.New(`^\s*(?:-\s*)?(?:container|image)\s*:|^\s*FROM\s`)
	runnerOS  = lazyregexp.New(`^\s*(?:-\s*)?(?:runs-on|os)\s*:.*ubuntu`)
)

// image finds the platform that the artifact is built for or in.
func image(target string) search {
	return search{
		"image " + target,
		[]fileKind{projectPy, workflowYML, imageFile, pinned},
		func(kind fileKind, section, line string) int {
			tag := manyTag.FindString(line)
			switch {
			case tag != "" && target != "" && sameTag(tag, target):
				return 6
			case tag != "":
				return 5
			case buildArg.MatchString(line):
				return 4
			case kind == workflowYML && strings.Contains(line, "cibuildwheel"),
				kind == projectPy && section == "tool.cibuildwheel":
				return 3
			case (kind == workflowYML || kind == imageFile) && imageLine.MatchString(line):
				return 2
			case kind == workflowYML && runnerOS.MatchString(line):
				return 1
			}
			return 0
		},
	}
}

// sameTag reports whether a tag without architecture is the platform of a target: manylinux2014
// is that of manylinux_2_17_x86_64.
func sameTag(tag, target string) bool {
	title := func(t string) string { return platform.Title(manyTag.FindString(t)) }
	return title(target) != "" && title(tag) == title(target)
}

var linkWords = lazyregexp.New(
	`target_link_libraries|target_link_options|add_link_options|add_library|extra_link_args|link_args|link_with|LDFLAGS|LDLIBS|rustc-link|shared_library|shared_module|extension_module|libraries\s*=|find_library`,
)

// linked finds the command that links the object or the library; if any is true, also one that
// links something else.
func linked(f *analyzer.Finding, any bool) search {
	stems := distinct([]string{stem(f.Object), stem(f.Library)})
	return search{
		fmt.Sprint("linked ", any, stems),
		[]fileKind{native, projectPy, imageFile, workflowYML},
		func(kind fileKind, _, line string) int {
			if kind == native && strings.HasPrefix(strings.TrimSpace(line), "//") ||
				!linkWords.MatchString(line) {
				return 0
			}
			for i, s := range stems {
				switch target := targetOf(line); {
				case !hasWord(line, s):
				case target == s: // not only the target
					return 6 - i
				case target != "" && i == 0: // another target is linked with the object
				default:
					return 4 - i
				}
			}
			if any && (kind == native || strings.Contains(line, "extra_link_args")) {
				return 1
			}
			return 0
		},
	}
}

// stem returns the name of a library in link commands: cufile for lib/libcufile.so.0.
func stem(object string) string {
	base := path.Base(object)
	base, _, _ = strings.Cut(base, ".")
	return strings.TrimPrefix(base, "lib")
}

func hasWord(line, word string) bool {
	if len(word) < 2 {
		return false
	}
	for from := 0; ; {
		i := strings.Index(line[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		before := i == 0 || !nameByte(line[i-1]) || strings.HasSuffix(line[:i], "-l") ||
			strings.HasSuffix(line[:i], "lib")
		if before && (end == len(line) || !nameByte(line[end])) {
			return true
		}
		from = end
	}
}

var (
	wheelIndex = lazyregexp.New(`(?i)--(?:extra-)?index-url|find-links|[/=](?:rocm|cu)\d`)
	gpuSetting = lazyregexp.New(
		`(?i)\b(?:cuda|rocm|hip)\w*\s*[:=]|find_package\s*\(\s*(?:cuda|hip|torch)|CUDAExtension|HIPExtension`,
	)
)

// gpuStack finds the line that selects CUDA, ROCm or torch.
func gpuStack() search {
	return search{
		"GPU stack",
		[]fileKind{projectPy, pinned, workflowYML, imageFile, native},
		func(kind fileKind, _, line string) int {
			_, torch := findRequirement(line, "torch", kind)
			switch {
			case wheelIndex.MatchString(line) && strings.Contains(line, "torch"):
				return 4
			case torch:
				return 3
			case wheelIndex.MatchString(line):
				return 2
			case gpuSetting.MatchString(line):
				return 1
			}
			return 0
		},
	}
}

// fallback returns the first line of the file that is most relevant for the build, for annotations
// of a check run, which GitHub shows only with a file and a line. ok is false if all are empty.
func fallback(files map[string]string) (file string, line int, ok bool) {
	ps := inOrder(files, []fileKind{projectPy, workflowYML, native, readme, imageFile, pinned, noKind})
	for _, p := range ps {
		if files[p] != "" {
			return p, 1, true
		}
	}
	return "", 0, false
}

// declared returns the line of the diff that declares what changed: the line in the debug
// information, or the nearest line of that file in the diff. The build directory is unknown, so
// the file is the one with the longest matching end of its path.
func declared(f *analyzer.Finding, d Diff) (file string, line int, ok bool) {
	i := strings.LastIndexByte(f.Source, ':')
	if i < 0 {
		return "", 0, false
	}
	want, ok := number(f.Source[i+1:])
	if !ok {
		return "", 0, false
	}
	source := strings.Split(f.Source[:i], "/")
	best, twice := 0, false
	for p := range d {
		parts := strings.Split(p, "/")
		n := 0
		for n < len(parts) && n < len(source) &&
			parts[len(parts)-1-n] == source[len(source)-1-n] {
			n++
		}
		switch {
		case n > best:
			best, file, twice = n, p, false
		case n == best && n > 0:
			twice = true
		}
	}
	if best == 0 || twice {
		return "", 0, false
	}
	distance := func(at int) int { return max(at-want, want-at) }
	for _, h := range d[file] {
		at := max(h.First, min(want, h.Last)) // the nearest line of the hunk
		if line == 0 || distance(at) < distance(line) || distance(at) == distance(line) && at < line {
			line = at
		}
	}
	return file, line, line > 0
}
