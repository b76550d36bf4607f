package lockfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// files are those of the new version, for formats with hashes.
var files = []lockfile.File{
	{Name: "torch-2.5.0-cp312-cp312-linux_x86_64.whl", SHA256: strings.Repeat("b", 64),
		URL: "https://files/torch-2.5.0-cp312-cp312-linux_x86_64.whl", Size: 7},
	{Name: "torch-2.5.0.tar.gz", SHA256: strings.Repeat("a", 64), URL: "https://files/torch-2.5.0.tar.gz"},
}

func TestApply(t *testing.T) {
	a, b := "--hash=sha256:"+strings.Repeat("a", 64), "--hash=sha256:"+strings.Repeat("b", 64)
	x, y := "--hash=sha256:"+strings.Repeat("1", 64), "--hash=sha256:"+strings.Repeat("2", 64)
	for _, test := range []struct {
		name, file, before, want string
		limit                    bool
	}{
		{name: "pin", before: "numpy==1\n torch==2.6.0  # ours\n", want: "numpy==1\n torch==2.5.0  # ours\n"},
		{name: "spaces", before: "Torch == 2.6.0\n", want: "Torch == 2.5.0\n"},
		{name: "three signs", before: "torch===2.6.0\n", want: "torch===2.5.0\n"},
		{name: "no end", before: "torch==2.6.0", want: "torch==2.5.0"},
		{name: "CRLF", before: "# a\r\ntorch==2.6.0\r\nb\r\n", want: "# a\r\ntorch==2.5.0\r\nb\r\n"},
		{name: "byte order mark", before: "\ufefftorch==2.6.0\n", want: "\ufefftorch==2.5.0\n"},
		{
			name:   "extras and marker",
			before: "torch[opt-einsum, optree]==2.6.0 ; python_version >= \"3.9\" # why\n",
			want:   "torch[opt-einsum, optree]==2.5.0 ; python_version >= \"3.9\" # why\n",
		},
		{name: "parentheses", before: "torch (==2.6.0)\n", want: "torch (==2.5.0)\n"},
		{name: "other package", before: "torch-geometric==2.6.0\n", want: "torch-geometric==2.6.0\n"},
		{name: "comment", before: "# torch==2.6.0\n", want: "# torch==2.6.0\n"},
		{name: "continued", before: "torch \\\n  ==2.6.0\n", want: "torch \\\n  ==2.5.0\n"},
		{
			name:   "every line with the version",
			before: "torch==2.6.0; sys_platform=='linux'\ntorch==2.6.0; sys_platform=='darwin'\n",
			want:   "torch==2.5.0; sys_platform=='linux'\ntorch==2.5.0; sys_platform=='darwin'\n",
		},
		{
			name:   "not that of another system",
			before: "torch==2.6.0; sys_platform=='linux'\ntorch==2.2.2; sys_platform=='darwin'\n",
			want:   "torch==2.5.0; sys_platform=='linux'\ntorch==2.2.2; sys_platform=='darwin'\n",
		},
		{name: "range", before: "torch>=2.0\n", want: "torch>=2.0\n"},
		{name: "limit", before: "torch>=2.0\n", want: "torch>=2.0,<=2.5.0\n", limit: true},
		{name: "limit of a name", before: "torch ; python_version>'3'\n",
			want: "torch<=2.5.0 ; python_version>'3'\n", limit: true},
		{name: "limit in empty parentheses", before: "torch ()\n",
			want: "torch (<=2.5.0)\n", limit: true},
		{name: "limit in place of another", before: "torch >= 2.0, < 3  # x\n",
			want: "torch >= 2.0, <=2.5.0  # x\n", limit: true},
		{name: "excluded by the lower bound", before: "torch>=2.6,!=2.6.1,<3\n", want: "torch<=2.5.0,!=2.6.1\n"},
		{name: "wildcard", before: "torch==2.6.*\n", want: "torch<=2.5.0\n"},
		{name: "compatible", before: "torch~=2.4\n", want: "torch~=2.4,<=2.5.0\n", limit: true},
		{
			name:   "hashes",
			before: "torch==2.6.0 \\\n    " + x + " \\\n    " + y + "\n    # via app\nz==1 " + x + "\n",
			want:   "torch==2.5.0 \\\n    " + a + " \\\n    " + b + "\n    # via app\nz==1 " + x + "\n",
		},
		{
			name: "one hash, CRLF", before: "torch==2.6.0 \\\r\n    " + x + "\r\n",
			want: "torch==2.5.0 \\\r\n    " + a + " \\\r\n    " + b + "\r\n",
		},
		{
			name:   "a hash in the line after its option",
			before: "torch==2.6.0 --hash=\\\n    sha256:" + strings.Repeat("1", 64) + "\n",
			want:   "torch==2.5.0 " + a + " " + b + "\n",
		},
		{name: "hashes in a line", before: "torch==2.6.0 " + x + " " + y + "\n", want: "torch==2.5.0 " + a + " " + b + "\n"},
		{
			name:   "options stay",
			before: "-r base.txt\n--extra-index-url https://host/simple\n-c c.txt\ntorch==2.6.0\n",
			want:   "-r base.txt\n--extra-index-url https://host/simple\n-c c.txt\ntorch==2.5.0\n",
		},
		{
			name: "environment", file: "environment.yml",
			before: "dependencies:\n  - python=3.12\n  - pip:\n      - \"torch==2.6.0\"  # x\n      - numpy\n",
			want:   "dependencies:\n  - python=3.12\n  - pip:\n      - \"torch==2.5.0\"  # x\n      - numpy\n",
		},
		{
			name: "project", file: "pyproject.toml",
			before: "[project]\ndependencies = [\n  'torch==2.6.0', # a\n  \"numpy>=1\",\n]\n" +
				"[project.optional-dependencies]\ngpu = [\"torch[opt]>=2.6 ; python_version > '3'\"]\n",
			want: "[project]\ndependencies = [\n  'torch==2.5.0', # a\n  \"numpy>=1\",\n]\n" +
				"[project.optional-dependencies]\ngpu = [\"torch[opt]<=2.5.0 ; python_version > '3'\"]\n",
		},
		{
			name: "pylock", file: "pylock.toml",
			before: "lock-version = \"1.0\"\n\n[[packages]]\nname = \"torch\"\nversion = \"2.6.0\"\n" +
				"sdist = { url = \"https://old\" }\nmarker = \"python_version > '3'\"\nwheels = [\n  {},\n]\n\n" +
				"# next\n[[packages]]\nname = \"numpy\"\nversion = \"2.6.0\"\n",
			want: "lock-version = \"1.0\"\n\n[[packages]]\nname = \"torch\"\nversion = \"2.5.0\"\n" +
				"sdist = { name = \"torch-2.5.0.tar.gz\", url = \"https://files/torch-2.5.0.tar.gz\", " +
				"hashes = { sha256 = \"" + strings.Repeat("a", 64) + "\" } }\nwheels = [\n" +
				"    { name = \"torch-2.5.0-cp312-cp312-linux_x86_64.whl\", " +
				"url = \"https://files/torch-2.5.0-cp312-cp312-linux_x86_64.whl\", size = 7, " +
				"hashes = { sha256 = \"" + strings.Repeat("b", 64) + "\" } },\n]\n" +
				"marker = \"python_version > '3'\"\n\n# next\n[[packages]]\nname = \"numpy\"\nversion = \"2.6.0\"\n",
		},
		{
			name: "pylock with tables", file: "pylock.toml",
			before: "[[packages]]\nname = \"torch\"\nversion = \"2.6.0\"\n\n[[packages.wheels]]\nname = \"a\"\n\n" +
				"[packages.wheels.hashes]\nsha256 = \"0\"\n\n[[packages]]\nname = \"z\"\nversion = \"1\"\n",
			want: "[[packages]]\nname = \"torch\"\nversion = \"2.5.0\"\n" +
				"sdist = { name = \"torch-2.5.0.tar.gz\", url = \"https://files/torch-2.5.0.tar.gz\", " +
				"hashes = { sha256 = \"" + strings.Repeat("a", 64) + "\" } }\nwheels = [\n" +
				"    { name = \"torch-2.5.0-cp312-cp312-linux_x86_64.whl\", " +
				"url = \"https://files/torch-2.5.0-cp312-cp312-linux_x86_64.whl\", size = 7, " +
				"hashes = { sha256 = \"" + strings.Repeat("b", 64) + "\" } },\n]\n\n" +
				"[[packages]]\nname = \"z\"\nversion = \"1\"\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := test.file
			if file == "" {
				file = "requirements.txt"
			}
			e := lockfile.Edit{
				Requirement: "torch==2.5.0", Old: "2.6.0", Limit: test.limit, Files: files,
				On: pkgmeta.DefaultMarkerEnv("3.12", "x86_64"),
			}
			got, err := lockfile.Apply(file, []byte(test.before), e)
			if err != nil || string(got) != test.want {
				t.Fatalf("got %q, %v; want %q", got, err, test.want)
			}
			if _, err := lockfile.Read(file, got); err != nil {
				t.Errorf("the result cannot be read: %v", err)
			}
			e.Limit = false
			again, err := lockfile.Apply(file, got, e)
			if err != nil || string(again) != test.want {
				t.Errorf("the second time %q, %v", again, err)
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	e := lockfile.Edit{Requirement: "torch==2.5.0", Old: "2.6.0", On: pkgmeta.DefaultMarkerEnv("3.12", "x86_64")}
	for _, test := range []struct {
		file, data string
		want       error
	}{
		{"requirements.txt", "torch @ https://host/torch-2.6.0-cp312-cp312-linux_x86_64.whl\n", lockfile.ErrByHand},
		{"requirements.txt", "torch @ git+https://host/torch\n", lockfile.ErrByHand},
		{"pyproject.toml", "[project]\ndependencies = ['torch @ https://host/t.zip']\n", lockfile.ErrByHand},
		{"pyproject.toml", "[tool.poetry.dependencies]\ntorch = '^2.6'\n", lockfile.ErrByHand},
		{"uv.lock", "version = 1\n\n[[package]]\nname = \"torch\"\nversion = \"2.6.0\"\n", lockfile.ErrTool},
		{"poetry.lock", "[[package]]\nname = \"torch\"\nversion = \"2.6.0\"\n", lockfile.ErrTool},
	} {
		if _, err := lockfile.Apply(test.file, []byte(test.data), e); !errors.Is(err, test.want) {
			t.Errorf("%s %q: %v, want %v", test.file, test.data, err, test.want)
		}
	}
	hashed := "torch==2.6.0 --hash=sha256:" + strings.Repeat("1", 64) + "\n"
	if got, err := lockfile.Apply("requirements.txt", []byte(hashed), e); err == nil {
		t.Errorf("without the hashes of the new version: %q", got)
	}
}

func TestApplyAdds(t *testing.T) {
	e := lockfile.Edit{Requirement: "torch>=2.5", On: pkgmeta.DefaultMarkerEnv("3.12", "x86_64")}
	for before, want := range map[string]string{
		"numpy":                             "numpy\ntorch>=2.5\n",
		"numpy\r\n":                         "numpy\r\ntorch>=2.5\r\n",
		"torch>=2\n":                        "torch>=2\n",
		"torch>=2; sys_platform=='win32'\n": "torch>=2; sys_platform=='win32'\ntorch>=2.5\n",
	} {
		if got, err := lockfile.Apply("requirements.txt", []byte(before), e); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", before, got, err, want)
		}
	}
}

// FuzzApply: what is written can be read, and leads to the new version wherever it led to the old.
func FuzzApply(f *testing.F) {
	for _, seed := range []string{
		"torch==2.6.0 --hash=\\\nsha256:00\n", "torch==2.6.0 --ha\\\nsh=sha256:00 --hash=sha256:1\n",
		"torch==2.6.0\n", "torch [a] >= 2.0 ,<3 ; python_version>'3' # x\r\n", "torch \\\n ==2.6.0 \\\n --hash=sha256:00\n",
		"torch (>=2)", "torch\t~=2.4;os_name=='nt'", "-r x\ntorch@https://x/y.whl\n",
	} {
		f.Add(seed)
	}
	on := pkgmeta.DefaultMarkerEnv("3.12", "x86_64")
	f.Fuzz(func(t *testing.T, text string) {
		before, err := lockfile.Read("requirements.txt", []byte(text))
		if err != nil {
			return
		}
		got, err := lockfile.Apply("requirements.txt", []byte(text), lockfile.Edit{
			Requirement: "torch==2.5.0", Old: "2.6.0", Limit: true, Files: files, On: on,
		})
		if err != nil {
			return
		}
		after, err := lockfile.Read("requirements.txt", got)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		if len(before.Names) != len(after.Names) {
			t.Fatalf("%q became %q: %v", text, got, after.Names)
		}
		chosen, err := after.Choose(lockfile.Choice{Python: "3.12", Arch: "x86_64"})
		if err != nil {
			return // as before
		}
		for _, p := range chosen.Open {
			q, err := pkgmeta.ParseRequirement(p.Requirement)
			v, _ := pkgmeta.ParseVersion("2.5.0")
			if err == nil && q.Name == "torch" && !q.Admits(v) {
				t.Fatalf("%q became %q, which excludes 2.5.0", text, got)
			}
		}
	})
}
