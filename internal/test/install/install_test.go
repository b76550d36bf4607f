//go:build install

// Package install installs the packages of a release, checks founding case A with each, and removes
// them again: in the root of a Debian system, in that of an Alpine system, in an empty one for rpm,
// and with pip and uv; and runs the recipe for Debian packages. It needs root rights, debootstrap,
// autopkgtest, rpm, buildah, skopeo and uv:
//
//	make packages wheels PLATFORMS=linux/amd64
//	make image
//	make roots ALPINE=DIR QEMU=qemu-aarch64-static
//
// DIR is an unpacked Alpine system, such as its minimal root filesystem. DEBIAN=DIR names a Debian
// system; without it debootstrap makes one. QEMU is the path of an emulator for the image for arm64,
// which is started as that for amd64 is.
package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/needs"
)

// built is the folder that make packages and make wheels write to.
var built = filepath.Join("..", "..", "..", "build")

// one returns the only file in built that matches a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(built, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d files, run make packages wheels PLATFORMS=linux/amd64", pattern, len(found))
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs a command for at most five minutes and returns what it writes.
func start(t *testing.T, command ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	return string(out), err
}

// must runs a command that has to succeed.
func must(t *testing.T, command ...string) string {
	t.Helper()
	out, err := start(t, command...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return out
}

// caseA writes the wheel of founding case A to a folder and returns its path there.
func caseA(t *testing.T, dir string) string {
	t.Helper()
	name, content := cases.CaseA("1.6.2").File()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(path) })
	return path
}

// finds runs compat on founding case A.
func finds(t *testing.T, command ...string) {
	t.Helper()
	out, err := start(t, command...)
	if err == nil || !strings.Contains(out, "needs manylinux_2_31") ||
		!strings.Contains(out, "GLIBC_2.29") {
		t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// changing are the files of the package managers themselves, and of the programs that they start.
var changing = regexp.MustCompile(
	`^(proc|sys|dev|run|tmp|root/\.cache|var/(log|cache|lib/(dpkg|apt|rpm|systemd))|(usr/)?lib/apk|` +
		`etc/apk/world|var/lib/apk)(/|$)`)

// files returns the files and folders of a root.
func files(t *testing.T, root string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if changing.MatchString(filepath.ToSlash(name)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		list = append(list, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// same fails the test if a root has other files than before.
func same(t *testing.T, root string, before []string) {
	t.Helper()
	after := files(t, root)
	for _, f := range after {
		if !slices.Contains(before, f) {
			t.Errorf("%s is left", f)
		}
	}
	if len(after) < len(before) {
		t.Errorf("%d files were removed", len(before)-len(after))
	}
}

// inside returns the command that runs a program in a root, without the settings of this system.
func inside(root string, command ...string) []string {
	return append([]string{"env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"chroot", root}, command...)
}

// inRoot installs and removes a package in a root whose own package manager does it. The words of
// install are followed by the path of the package.
func inRoot(t *testing.T, root, file string, install, remove []string) {
	before := files(t, root)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path := "/tmp/" + filepath.Base(file)
	if err := os.WriteFile(filepath.Join(root, path), content, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(filepath.Join(root, path))
	must(t, inside(root, append(install, path)...)...)
	t.Log(must(t, inside(root, "/usr/bin/compat", "version")...))
	wheel := "/tmp/" + filepath.Base(caseA(t, filepath.Join(root, "tmp")))
	finds(t, inside(root, "/usr/bin/compat", "check", "--no-cache", wheel)...)
	must(t, inside(root, remove...)...)
	same(t, root, before)
}

func TestDeb(t *testing.T) {
	root := os.Getenv("DEBIAN")
	if root == "" {
		root = filepath.Join(t.TempDir(), "debian")
		must(t, needs.Program(t, "debootstrap", "debootstrap", "the Debian package"),
			"--variant=minbase", "stable", root)
	}
	deb := one(t, "compat_*_amd64.deb")
	inRoot(t, root, deb, []string{"dpkg", "-i"}, []string{"dpkg", "--purge", "compat"})
	for name, c := range map[string]struct {
		symbol string // that the library needs
		code   int    // of autopkgtest: 0 passed, 4 failed
	}{
		"autopkgtest passes": {"malloc@GLIBC_2.2.5 libc.so.6", 0},
		"autopkgtest fails":  {"foo_helper", 4},
	} {
		t.Run(name, func(t *testing.T) {
			dir := libfoo(t, c.symbol)
			needs.Program(t, "autopkgtest", "autopkgtest", "the recipe for Debian packages")
			out, err := start(t, "env", "-i", "PATH="+os.Getenv("PATH"), "autopkgtest", "-B",
				dir+"/libfoo1.deb", deb, dir+"/", "--", "chroot", root)
			code := 0
			if failed := new(exec.ExitError); errors.As(err, &failed) {
				code = failed.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != c.code ||
				!strings.Contains(out, "compatible: /usr/lib/x86_64-linux-gnu/libfoo.so.1") ||
				c.code != 0 && !strings.Contains(out, c.symbol) {
				t.Errorf("exit code %d\n%s", code, out)
			}
			must(t, inside(root, "dpkg", "--purge", "compat", "libfoo1")...)
		})
	}
}

// libfoo writes the source of a Debian package to a folder, with the test of docs/ci.md, and its
// binary package, which has a library that needs a symbol.
func libfoo(t *testing.T, symbol string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile(`(?m)^    (Test-Command: .*)\n    (Depends: .*)$`).FindStringSubmatch(string(page))
	if test == nil {
		t.Fatal("docs/ci.md has no debian/tests/control")
	}
	library := elftest.File(t, "elf x86_64\nsoname libfoo.so.1\nneeded libc.so.6\nimport "+symbol+
		"\nexport foo\n")
	dir := t.TempDir()
	const maintainer = "Maintainer: The maintainer <root@localhost>\n"
	for name, text := range map[string]string{
		"debian/control": "Source: libfoo\n" + maintainer +
			"\nPackage: libfoo1\nArchitecture: any\nDescription: a library\n",
		"debian/changelog": "libfoo (1.0) unstable; urgency=low\n\n  * First.\n\n" +
			" -- The maintainer <root@localhost>  Thu, 01 Jan 2026 00:00:00 +0000\n",
		"debian/tests/control": test[1] + "\n" + test[2] + "\n",
		"binary/DEBIAN/control": "Package: libfoo1\nVersion: 1.0\nArchitecture: amd64\n" + maintainer +
			"Depends: libc6\nDescription: a library\n",
		"binary/usr/lib/x86_64-linux-gnu/libfoo.so.1": string(library),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "dpkg-deb", "--root-owner-group", "--build", dir+"/binary", dir+"/libfoo1.deb")
	return dir
}

func TestAPK(t *testing.T) {
	root := os.Getenv("ALPINE")
	if root == "" {
		t.Fatal("ALPINE has to name the folder of an unpacked Alpine system")
	}
	inRoot(t, root, one(t, "*_x86_64.apk"),
		[]string{"apk", "add", "--quiet", "--allow-untrusted", "--no-network"},
		[]string{"apk", "del", "--quiet", "--no-network", "compat"})
}

// TestRPM uses an empty root: the program needs no other file.
func TestRPM(t *testing.T) {
	rpm := needs.Program(t, "rpm", "rpm", "the package for Fedora")
	root := t.TempDir()
	database := []string{rpm, "--root", root, "--dbpath", "/var/lib/rpm"}
	must(t, append(database, "--initdb")...)
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := files(t, root)
	must(t, append(database, "--install", one(t, "*.x86_64.rpm"))...)
	wheel := "/tmp/" + filepath.Base(caseA(t, filepath.Join(root, "tmp")))
	finds(t, inside(root, "/usr/bin/compat", "check", "--no-cache", wheel)...)
	must(t, append(database, "--erase", "compat")...)
	for _, f := range files(t, root) {
		info, err := os.Stat(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		// Folders such as /usr/bin belong to the package "filesystem", which this root lacks.
		if !info.IsDir() && !slices.Contains(before, f) {
			t.Errorf("%s is left", f)
		}
	}
}

func TestWheel(t *testing.T) {
	wheel, dir := one(t, "*manylinux*_x86_64*.whl"), t.TempDir()
	t.Setenv("UV_CACHE_DIR", t.TempDir())
	bin := filepath.Join(dir, "venv", "bin")
	must(t, "python3", "-m", "venv", filepath.Join(dir, "venv"))
	before := files(t, dir)
	must(t, bin+"/pip", "install", "--quiet", "--no-index", "--no-compile", wheel)
	a := caseA(t, dir)
	finds(t, bin+"/compat", "check", "--no-cache", a)
	finds(t, bin+"/python", "-B", "-m", "binary_compat", "check", "--no-cache", a)
	must(t, bin+"/pip", "uninstall", "--quiet", "--yes", "binary-compat")
	os.Remove(a)
	same(t, dir, before)

	uv := needs.Program(t, "uv", "uv (from the package index)", "uvx")
	finds(t, uv, "tool", "run", "--offline", "--from", wheel, "binary-compat", "check", "--no-cache",
		caseA(t, dir))
}

// TestProgram installs the program with install.sh, from a folder with the files of a release.
func TestProgram(t *testing.T) {
	dir, release := t.TempDir(), filepath.Join(t.TempDir(), "latest", "download")
	if err := os.MkdirAll(release, 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(release, "compat_0.0.0_linux_amd64.tar.gz")
	must(t, "tar", "-czf", archive, "-C", filepath.Join(built, "linux", "amd64"), "compat")
	sum := must(t, "sha256sum", archive)
	digest, _, _ := strings.Cut(sum, " ")
	if err := os.WriteFile(filepath.Join(release, "checksums.txt"),
		[]byte(digest+"  "+filepath.Base(archive)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COMPAT_RELEASES", "file://"+filepath.Dir(filepath.Dir(release)))
	t.Log(must(t, filepath.Join("..", "..", "..", "install.sh"), "--dir", dir))
	finds(t, dir+"/compat", "check", "--no-cache", caseA(t, t.TempDir()))
}

// TestImage starts the image of each architecture with buildah, which needs no daemon; that for arm64
// in the emulator QEMU, a static program. The emulator cannot start further processes of the program,
// so "compat serve" is only started on the architecture of this machine.
func TestImage(t *testing.T) {
	emulator := os.Getenv("QEMU")
	if emulator == "" {
		t.Fatal("QEMU has to name qemu-aarch64-static, of the Debian package qemu-user-static")
	}
	program := needs.Program(t, "buildah", "buildah", "the image")
	layouts, err := filepath.Abs(filepath.Join(built, "image"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(layouts, "index.json"))
	if err != nil {
		t.Fatalf("%v; run make image", err)
	}
	version := regexp.MustCompile(`"org.opencontainers.image.ref.name": "([^"]+)"`).FindSubmatch(index)
	if version == nil {
		t.Fatalf("the layout names no version:\n%s", index)
	}
	listed := regexp.MustCompile(`"digest": "sha256:([0-9a-f]+)"`).FindSubmatch(index)
	dir := t.TempDir()
	copied := filepath.Join(dir, "copy")
	must(t, needs.Program(t, "skopeo", "skopeo", "the copy of the image"), "--insecure-policy", "copy",
		"--all", "--preserve-digests", "oci:"+layouts+":"+string(version[1]), "dir:"+copied)
	manifest, err := os.ReadFile(filepath.Join(copied, "manifest.json"))
	if err != nil || listed == nil || fmt.Sprintf("%x", sha256.Sum256(manifest)) != string(listed[1]) {
		t.Errorf("the copy has another digest than %s: %v\n%s", listed, err, manifest)
	}
	bom := filepath.Join(dir, "sbom")
	must(t, "skopeo", "--insecure-policy", "copy", "--preserve-digests",
		"oci:"+layouts+":"+string(version[1])+"-sbom-amd64", "dir:"+bom)
	if text := must(t, "grep", "-r", "bomFormat", bom); !strings.Contains(text, `"CycloneDX"`) {
		t.Errorf("the SBOM is\n%s", text)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // for the user of the image
		t.Fatal(err)
	}
	wheel := "/dist/" + filepath.Base(caseA(t, dir))
	for arch, compat := range map[string][]string{
		"amd64": {"/compat"}, "arm64": {"/emulator", "/compat"},
	} {
		buildah := []string{program, "--storage-driver", "vfs", "--root", filepath.Join(dir, "root-"+arch),
			"--runroot", filepath.Join(dir, "run-"+arch)}
		from := must(t, append(buildah, "from", "--quiet", "--arch", arch,
			"oci:"+layouts+":"+string(version[1]))...)
		// buildah can lose what a container prints.
		out, err := start(t, slices.Concat(buildah, []string{"run", "--isolation", "chroot",
			"--volume", dir + ":/dist", "--volume", emulator + ":/emulator:ro", strings.TrimSpace(from), "--"},
			compat, []string{"check", "--no-cache", "--output", "json=/dist/" + arch, wheel})...)
		report, readErr := os.ReadFile(filepath.Join(dir, arch))
		if err == nil || readErr != nil || !strings.Contains(string(report), "needs manylinux_2_31") ||
			!strings.Contains(string(report), `"`+string(version[1])+`"`) {
			t.Errorf("%s: %v, %v\n%s\n%s", arch, err, readErr, out, report)
		}
		must(t, append(buildah, "rm", "--all")...)
		must(t, append(buildah, "rmi", "--all", "--force")...)
	}
}
