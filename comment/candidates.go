package comment

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages/lockfile"
)

// fileKind is the kind of a source file.
type fileKind int

const (
	noKind fileKind = iota
	// pyproject.toml, setup.py, setup.cfg: requirements, link arguments, cibuildwheel's settings
	projectPy
	pinned // files of package lockfile that people write, conda recipes
	// CMakeLists.txt, meson.build, Cargo.toml, build.rs, Makefile: link settings
	native
	imageFile     // Dockerfile*
	versionScript // *.map, *.ver and the like: the exports of a library
	debianSymbols
	workflowYML // .github/workflows/*
	readme
)

func kindOf(p string) fileKind {
	name := strings.ToLower(path.Base(p))
	ext := path.Ext(name)
	switch {
	case name == "pyproject.toml", name == "setup.py", name == "setup.cfg":
		return projectPy
	case lockfile.Known(p) && lockfile.Written(p), name == "meta.yaml", name == "recipe.yaml":
		return pinned
	case name == "cmakelists.txt",
		name == "meson.build",
		name == "cargo.toml",
		name == "build.rs",
		name == "makefile":
		return native
	case ext == ".symbols" && path.Base(path.Dir(p)) == "debian":
		return debianSymbols
	case isVersionScript(name):
		return versionScript
	case strings.HasPrefix(name, "dockerfile"), ext == ".dockerfile":
		return imageFile
	case strings.HasPrefix(p, ".github/workflows/") && (ext == ".yml" || ext == ".yaml"):
		return workflowYML
	case strings.HasPrefix(name, "readme") && !strings.Contains(p, "/"):
		return readme
	}
	return noKind
}

// maxCandidates limits the files that are downloaded for one verdict, with one request each.
const maxCandidates = 20

// Candidates selects the paths in the head's tree whose content Render needs: files that may
// contain the lines which cause findings, the most relevant first, or else one other file for
// annotations.
func Candidates(paths []string) []string {
	var out []string
	for _, p := range paths {
		if kindOf(p) != noKind && !foreign(p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if d := strings.Count(a, "/")*boring(a) - strings.Count(b, "/")*boring(b); d != 0 {
			return d
		}
		if d := int(kindOf(a)) - int(kindOf(b)); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	out = slices.Compact(out)
	if len(out) == 0 && len(paths) > 0 {
		rest := slices.Clone(paths)
		slices.SortFunc(rest, func(a, b string) int {
			if d := boolRank(textual(b)) - boolRank(textual(a)); d != 0 {
				return d
			}
			if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		return rest[:1]
	}
	return out[:min(len(out), maxCandidates)]
}

// boring returns the weight of a path's depth. It is 0 for workflows, which are always two
// directories deep.
func boring(p string) int {
	if kindOf(p) == workflowYML {
		return 0
	}
	return 1
}

// foreign reports whether a file belongs to vendored code or to tests.
func foreign(p string) bool {
	for part := range strings.SplitSeq(strings.ToLower(path.Dir(p)), "/") {
		switch part {
		case "third_party",
			"third-party",
			"thirdparty",
			"vendor",
			"vendored",
			"node_modules",
			"external",
			"submodules",
			"test",
			"tests",
			"testdata",
			"examples",
			"site-packages":
			return true
		}
	}
	return false
}

func textual(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".md",
		".rst",
		".txt",
		".toml",
		".yml",
		".yaml",
		".json",
		".py",
		".c",
		".h",
		".cc",
		".cpp",
		".cu",
		".rs",
		".go",
		".sh",
		".cfg",
		".cmake",
		".js",
		".ts":
		return true
	}
	return false
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isVersionScript reports whether a file name is that of a linker version script.
func isVersionScript(name string) bool {
	switch path.Ext(name) {
	case ".map", ".ver", ".version", ".vers", ".lds", ".sym":
		return true
	}
	return false
}
