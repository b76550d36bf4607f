package comment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

func TestAnchor(t *testing.T) {
	pow, pin, gpu, dl := needs("pow", "GLIBC_2.29", "libm.so.6"), nvjitlink(), rocm(), libdl()
	with := func(extra ...string) map[string]string {
		files := maps.Clone(widget)
		for i := 0; i < len(extra); i += 2 {
			if files[extra[i]] = extra[i+1]; extra[i+1] == "" {
				delete(files, extra[i])
			}
		}
		return files
	}
	for _, c := range []struct {
		name  string
		f     analyzer.Finding
		files map[string]string
		want  string
	}{
		{"the pin", pin, widget, "pyproject.toml:8"},
		{"the pin in another spelling", pin,
			map[string]string{"requirements.txt": "numpy\n# nvidia-nvjitlink-cu12\nNVIDIA_nvjitlink.cu12 " +
				"~= 12.8 ; sys_platform == 'linux'\n"}, "requirements.txt:3"},
		{"the pin in setup.cfg", pin, map[string]string{"setup.cfg": "[options]\ninstall_requires =\n  " +
			"  numpy\n    nvidia-nvjitlink-cu12[x]>=12.8\n"}, "setup.cfg:4"},
		{"the pin of poetry", pin, map[string]string{"pyproject.toml": "[tool.poetry.dependencies]\npython = \"^3.9\"\nnvidia-nvjitlink-cu12 = \"^12.8\"\n"}, "pyproject.toml:3"},
		{"what it runs with before what it is built with", pin,
			map[string]string{"pyproject.toml": "[build-system]\nrequires = " +
				"[\"nvidia-nvjitlink-cu12>=12\"]\n[project]\ndependencies = " +
				"[\"nvidia-nvjitlink-cu12>=12.8\"]\n"}, "pyproject.toml:4"},
		{"a longer name is another package", pin, with("pyproject.toml",
			"[project]\ndependencies = [\"nvidia-nvjitlink-cu12-extra>=1\"]\n"), "pyproject.toml:2"},
		{"the dependencies of setup.py", pin, map[string]string{"setup.py": "setup(\n  " +
			"name='nvidia-nvjitlink-cu12',\n  packages=['nvidia_nvjitlink_cu12'],\n  " +
			"install_requires=['numpy'],\n)\n"}, "setup.py:4"},
		{"the dependencies of poetry", pin, map[string]string{"pyproject.toml": "[tool.poetry]\n" +
			"packages = [{include = \"x\"}]\n[tool.poetry.dependencies]\nnumpy = \"^1\"\n"},
			"pyproject.toml:3"},
		{"the settings of cibuildwheel", pow, map[string]string{"pyproject.toml": "[project]\n" +
			"name = \"x\"\n[tool.cibuildwheel]\nbuild = \"cp312-*\"\n"}, "pyproject.toml:3"},
		{"the build image", pow, widget, ".github/workflows/wheels.yml:9"},
		{"the tag among other tags", pow, with(".github/workflows/wheels.yml", "jobs:\n  a:\n    "+
			"container: quay.io/pypa/manylinux_2_28_x86_64\n  b:\n    container: "+
			"quay.io/pypa/manylinux2014_x86_64\n"), ".github/workflows/wheels.yml:5"},
		{"the runner", pow, with(".github/workflows/wheels.yml",
			"jobs:\n  a:\n    # manylinux2014\n    runs-on: ubuntu-22.04\n"),
			".github/workflows/wheels.yml:4"},
		{"the link command", dl, widget, "CMakeLists.txt:2"},
		{"extra_link_args", dl, map[string]string{"setup.py": "from setuptools import " +
			"setup\nsetup(ext_modules=[Extension('x', extra_link_args=['-lcufile'])])\n"}, "setup.py:2"},
		{"the torch index", gpu, with("requirements.txt",
			"numpy\n--extra-index-url https://example.test/whl/cu124\ntorch==2.4.0\n"),
			"requirements.txt:3"},
		{"the torch requirement of the build", gpu, with("pyproject.toml",
			"[build-system]\nrequires = [\n  \"setuptools\",\n  \"torch>=2\",\n]\n"), "pyproject.toml:4"},
		{"nothing fits", gpu, map[string]string{"pyproject.toml": "[tool.x]\n", "src/a.c": "int x;\n"},
			":0"},
		{"no file", gpu, map[string]string{"empty": ""}, ":0"},
		{"no files", gpu, nil, ":0"},
	} {
		file, line, ok := newSources(c.files).anchor(&c.f)
		if got := fmt.Sprintf("%s:%d", file, line); got != c.want || ok != (line > 0) {
			t.Errorf("%s: %s (%v), want %s", c.name, got, ok, c.want)
		}
		if ok && line > len(lines(c.files[file])) {
			t.Errorf("%s: %s has no line %d", c.name, file, line)
		}
	}
}

// A check run annotates a file even if no line of it causes a finding.
func TestFallback(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"README.md": "# x\n", "src/a.c": "int x;\n"}, "README.md:1"},
		{map[string]string{"README.md": "# x\n", "pyproject.toml": "[tool.x]\n"}, "pyproject.toml:1"},
		{map[string]string{"empty": "", "src/a.c": "int x;\n"}, "src/a.c:1"},
		{map[string]string{"empty": ""}, ":0"},
		{nil, ":0"},
	} {
		file, line, ok := fallback(c.files)
		if got := fmt.Sprintf("%s:%d", file, line); got != c.want || ok != (line > 0) {
			t.Errorf("%q: %s (%v), want %s", c.files, got, ok, c.want)
		}
	}
}

func TestCandidates(t *testing.T) {
	paths := []string{
		"src/x.py",
		"third_party/y/CMakeLists.txt",
		"tests/requirements.txt",
		"README.md",
		"pyproject.toml",
		"requirements/base.txt",
		"docs/x.md",
		"cmake/CMakeLists.txt",
		".github/workflows/w.yml",
		".github/workflows/w.sh",
		"Dockerfile.build",
		"requirements-dev.txt",
		"setup.py",
		"recipe/meta.yaml",
	}
	want := []string{
		"pyproject.toml",
		"setup.py",
		"requirements-dev.txt",
		"Dockerfile.build",
		".github/workflows/w.yml",
		"README.md",
		"recipe/meta.yaml",
		"requirements/base.txt",
		"cmake/CMakeLists.txt",
	}
	if got := Candidates(paths); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := Candidates([]string{"logo.png", "src/a.c", "z.h"}); !slices.Equal(got, []string{"z.h"}) {
		t.Errorf("a tree without candidates: %q", got)
	}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("p%d/CMakeLists.txt", i))
	}
	if got := Candidates(many); len(got) != maxCandidates {
		t.Errorf("%d candidates", len(got))
	}
	if got := Candidates(nil); len(got) != 0 {
		t.Errorf("no tree: %q", got)
	}
}

func TestEdit(t *testing.T) {
	pin := fix.Fix{Kind: fix.KindPin, Requirement: "nvidia-nvjitlink-cu12>=12.9"}
	tag := fix.Fix{
		Kind:    fix.KindPlatformTag,
		Title:   fix.Titled("Tag the wheel manylinux_2_28_x86_64"),
		Command: "wheel tags --platform-tag manylinux_2_28_x86_64 x-manylinux2014_x86_64.whl",
	}
	image := fix.Fix{
		Kind:    fix.KindImage,
		Title:   fix.Titled("Build in the manylinux2014 image"),
		Command: "quay.io/pypa/manylinux2014_x86_64",
	}
	newer := fix.Fix{
		Kind:    fix.KindPlatformTag,
		Title:   fix.Titled("Tag the wheel manylinux_2_31_x86_64"),
		Command: "wheel tags --platform-tag manylinux_2_31_x86_64 x.whl",
	}
	cibw := fix.Fix{Kind: fix.KindImage, Command: "CIBW_MANYLINUX_X86_64_IMAGE=manylinux2014"}
	const built = "      - run: CIBW_MANYLINUX_X86_64_IMAGE=manylinux2014 pipx run cibuildwheel " +
		"--output-dir dist"
	const toml, txt, cfg, yml, docker = "pyproject.toml", "requirements.txt", "setup.cfg",
		".github/workflows/w.yml", "Dockerfile"
	for _, c := range []struct {
		path string
		fix  fix.Fix
		old  string
		want string // "" = no edit
	}{
		{toml, pin, `    "nvidia-nvjitlink-cu12>=12.8",`, `    "nvidia-nvjitlink-cu12>=12.9",`},
		{toml, pin, `    'nvidia-nvjitlink-cu12 >= 12.8' , # keep >=12.8`,
			`    'nvidia-nvjitlink-cu12 >= 12.9' , # keep >=12.8`},
		{toml, pin, `dependencies = ["numpy>=1", "nvidia-nvjitlink-cu12[a,b]>=12.8; python_version < '3.13'", "x"]`, `dependencies = ["numpy>=1", "nvidia-nvjitlink-cu12[a,b]>=12.9; python_version < '3.13'", "x"]`},
		{toml, pin, `  "NVIDIA_nvjitlink.cu12",`, `  "NVIDIA_nvjitlink.cu12>=12.9",`},
		{toml, pin, `  "nvidia-nvjitlink-cu12>=12.8,<13",`, `  "nvidia-nvjitlink-cu12>=12.9,<13",`},
		{toml, pin, `  "nvidia-nvjitlink-cu12>=12.8, !=12.9.1, <12.9",`,
			`  "nvidia-nvjitlink-cu12>=12.9, !=12.9.1",`},
		{toml, pin, `  "nvidia-nvjitlink-cu12==12.8.93",`, `  "nvidia-nvjitlink-cu12>=12.9",`},
		{toml, pin, `  "nvidia-nvjitlink-cu12<13",`, `  "nvidia-nvjitlink-cu12>=12.9,<13",`},
		{toml, pin, `  "nvidia-nvjitlink-cu12 (>=12.8)",`, `  "nvidia-nvjitlink-cu12 (>=12.9)",`},
		{toml, pin, `nvidia-nvjitlink-cu12 = "^12.8"  # poetry`,
			`nvidia-nvjitlink-cu12 = ">=12.9"  # poetry`},
		{toml, pin, `nvidia-nvjitlink-cu12 = {version = ">=12.8", optional = true}`,
			`nvidia-nvjitlink-cu12 = {version = ">=12.9", optional = true}`},
		{toml, pin, `  "nvidia-nvjitlink-cu12>=12.9",`, ""},
		{toml, pin, `  "nvidia-nvjitlink-cu12 @ https://example.test/x.whl",`, ""},
		{toml, pin, `  # "nvidia-nvjitlink-cu12>=12.8",`, ""},
		{toml, pin, `  "nvidia-nvjitlink-cu12-x>=12.8",`, ""},
		{toml, pin, `name = "nvidia-nvjitlink-cu12"`, ""},
		{txt, pin, "nvidia-nvjitlink-cu12>=12.8", "nvidia-nvjitlink-cu12>=12.9"},
		{txt, pin, "nvidia-nvjitlink-cu12~=12.8 ; sys_platform == 'linux'  # why",
			"nvidia-nvjitlink-cu12>=12.9 ; sys_platform == 'linux'  # why"},
		{txt, pin, "nvidia-nvjitlink-cu12==12.8.93 --hash=sha256:00", ""},
		{txt, pin, `nvidia-nvjitlink-cu12==12.8.93 \`, ""},
		{cfg, pin, "    nvidia-nvjitlink-cu12>=12.8", "    nvidia-nvjitlink-cu12>=12.9"},
		{"setup.py", pin, `        "nvidia-nvjitlink-cu12>=12.8",  # noqa`,
			`        "nvidia-nvjitlink-cu12>=12.9",  # noqa`},
		{"setup.py", pin, `nvidia-nvjitlink-cu12`, ""},
		{"environment.yml", pin, `  - nvidia-nvjitlink-cu12>=12.8`, `  - nvidia-nvjitlink-cu12>=12.9`},
		{docker, pin, `RUN pip install nvidia-nvjitlink-cu12>=12.8 numpy`,
			`RUN pip install nvidia-nvjitlink-cu12>=12.9 numpy`},
		{yml, tag, `          CIBW_MANYLINUX_X86_64_IMAGE: manylinux2014 # old`,
			`          CIBW_MANYLINUX_X86_64_IMAGE: manylinux_2_28 # old`},
		{yml, tag, `    container: quay.io/pypa/manylinux2014_x86_64:latest`,
			`    container: quay.io/pypa/manylinux_2_28_x86_64:latest`},
		{toml, tag, `manylinux-x86_64-image = "manylinux2014"`,
			`manylinux-x86_64-image = "manylinux_2_28"`},
		{yml, tag, `      run: auditwheel repair --plat manylinux2014_x86_64 dist/*.whl`,
			`      run: auditwheel repair --plat manylinux_2_28_x86_64 dist/*.whl`},
		{docker, image, `FROM quay.io/pypa/manylinux_2_34_x86_64`,
			`FROM quay.io/pypa/manylinux2014_x86_64`},
		// the image does not exist
		{yml, newer, `          CIBW_MANYLINUX_X86_64_IMAGE: manylinux2014`, ""},
		{yml, image, `          CIBW_MANYLINUX_X86_64_IMAGE: manylinux2014`, ""},
		{yml, tag, `          CIBW_BUILD: "*manylinux2014*"`, ""},
		{yml, tag, `    image: quay.io/pypa/manylinux2014_x86_64@sha256:a618`, ""}, // that of the old one
		{yml, tag, `   image: [manylinux2014, manylinux_2_34]`, ""},
		{yml, tag, `          CIBW_MUSLLINUX_X86_64_IMAGE: musllinux_1_2`, ""},
		{yml, cibw, `      - run: python setup.py bdist_wheel --plat-name linux_x86_64`, built},
		{yml, cibw, `      - run: python -m build --wheel`, built},
		{yml, cibw, `      - run: pip wheel . -w dist`, built},
		{yml, cibw, `      - run: python3 -m build -w --outdir dist/ .`, built},
		{yml, cibw, `      - run: uv build --wheel`, built},
		{yml, cibw, `      - run: python -m build`, ""}, // the source distribution too
		{yml, cibw, `      - run: python -m build --wheel --sdist`, ""},
		{yml, cibw, `      - run: python -m build --wheel ./engine`, ""},
		{yml, cibw, `      - run: python -m build --wheel -o wheels/`, ""},
		{yml, cibw, `      - run: pip wheel "other==0.6.1" --no-deps -w dist`, ""},
		{yml, cibw, `      - run: python setup.py bdist_wheel --universal`, ""},
		{yml, cibw, `      - run: python setup.py bdist_wheel && ls`, ""},
		{yml, cibw, `      - run: pip install wheel`, ""},
		{docker, cibw, `RUN python setup.py bdist_wheel`, ""},
		{toml, fix.Fix{Kind: fix.KindSource, Requirement: "nvidia-nvjitlink-cu12>=12.9"},
			`    "nvidia-nvjitlink-cu12>=12.8",`, ""},
	} {
		got, ok := Edit(c.path, c.old, c.fix)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %s\n got %q (%v)\nwant %q", c.path, c.old, got, ok, c.want)
		}
	}
}

func TestReviewOnlyOnLinesOfTheDiff(t *testing.T) {
	r := of(nvjitlink())
	for _, c := range []struct {
		diff Diff
		want int
	}{
		{nil, 0}, {Diff{"pyproject.toml": {{First: 7, Last: 7}}}, 0},
		{Diff{"pyproject.toml": {{First: 8, Last: 8}}}, 1},
		{Diff{"setup.py": {{First: 8, Last: 8}}}, 0},
	} {
		if got := Render(Input{Report: r, Files: widget, Diff: c.diff}).Review; len(got) != c.want {
			t.Errorf("%v: %d review comments, want %d", c.diff, len(got), c.want)
		}
	}
	crlf := maps.Clone(widget)
	crlf["pyproject.toml"] = strings.ReplaceAll(pyproject, "\n", "\r\n")
	again := Render(Input{Report: r, Files: crlf,
		Diff: Diff{"pyproject.toml": {{First: 8, Last: 8}}}}).Review
	if len(again) != 1 || strings.Contains(again[0].Body, "\r") {
		t.Errorf("with CRLF: %+v", again)
	}
	if got := Render(Input{Report: of(old(nvjitlink())), Files: widget,
		Diff: Diff{"pyproject.toml": {{First: 8, Last: 8}}}}).Review; len(
		got,
	) != 0 {
		t.Errorf("an existing finding gets a suggestion: %+v", got)
	}
}

func TestAddFlags(t *testing.T) {
	const flags = "-Wl,--no-as-needed -ldl"
	for _, c := range []struct{ line, want string }{ // "" = no edit
		{`  add_library(cufile SHARED cufile.c)`, "  add_library(cufile SHARED cufile.c)\n" +
			"  target_link_libraries(cufile PRIVATE -Wl,--no-as-needed -ldl)"},
		{`target_link_libraries( cufile PRIVATE m ) # math`,
			`target_link_libraries( cufile PRIVATE m -Wl,--no-as-needed -ldl) # math`},
		{`target_link_libraries(cufile $<$<BOOL:${X}>:m>)`,
			`target_link_libraries(cufile $<$<BOOL:${X}>:m> -Wl,--no-as-needed -ldl)`},
		{`target_link_libraries(cufile PUBLIC m)`,
			`target_link_libraries(cufile PUBLIC m PRIVATE -Wl,--no-as-needed -ldl)`},
		{`target_link_libraries(cufile PRIVATE x INTERFACE m)`,
			`target_link_libraries(cufile PRIVATE x INTERFACE m PRIVATE -Wl,--no-as-needed -ldl)`},
		{`add_library(cufile SHARED cufile.c) # the library`, ""},
		{`add_library(cufile SHARED`, ""},
		{`add_library(cufile STATIC cufile.c)`, ""},
		{`add_library(cufile SHARED IMPORTED)`, ""},
		{`add_library(other SHARED cufile.c)`, ""},
		{`target_link_libraries(cufile PRIVATE`, ""},
		{`target_link_libraries(cufile)`, ""},
		{`target_link_libraries(example PRIVATE cufile)`, ""},
		{`target_link_libraries(cufile PRIVATE -Wl,--no-as-needed -ldl)`, ""},
		{`LDFLAGS += -L. -lcufile`, ""},
		{`    Extension("cufile", ["x.c"], extra_link_args=['-s']),`,
			`    Extension("cufile", ["x.c"], extra_link_args=['-s', '-Wl,--no-as-needed', '-ldl']),`},
		{`Extension("cufile", extra_link_args=[]),`,
			`Extension("cufile", extra_link_args=["-Wl,--no-as-needed", "-ldl"]),`},
		{`Extension("cufile", extra_link_args=["-s", FLAGS]),`, ""},
		{`Extension("cufile", extra_link_args=["-s",`, ""},
		{`extra_link_args=["-s"],`, ""}, // of another one, perhaps
		{`shared_library('cufile', 'a.c', link_args : ['-s', ],`,
			`shared_library('cufile', 'a.c', link_args : ['-s', '-Wl,--no-as-needed', '-ldl'],`},
	} {
		f := nvjitlink()
		f.Object = "lib/libcufile.so.0"
		got, ok := editOf(newView(of(f), nil), 0, "CMakeLists.txt", c.line,
			fix.Fix{Kind: fix.KindLinkFlag, Command: flags})
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s\n got %q (%v)\nwant %q", c.line, got, ok, c.want)
		}
	}
	for _, unsafe := range []string{"-Wl,-rpath,'$ORIGIN'", "-la;b", "-l", "a"} {
		if got, ok := addFlags("target_link_libraries(x PRIVATE m)", "libx.so", unsafe); ok {
			t.Errorf("%s: %s", unsafe, got)
		}
	}
}
