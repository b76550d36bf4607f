//go:build conformance

package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/test/needs"
)

const (
	// download fetches a real wheel into the folder w.
	download = "python3 -m pip download -q --no-deps --only-binary :all: --python-version 311 " +
		"--platform manylinux2014_x86_64 -d w markupsafe==2.1.5 && "

	// wheel puts its files into the folder files.
	wheel = download + "mkdir files && bsdtar -xf w/*.whl -C files && "
)

// cases are shell commands that write one package, with the name of the case, to an empty folder.
var cases = []struct {
	name, format string
	tools        []string // and the Debian packages that contain them
	script       string
}{
	{"markupsafe.whl", unpack.FormatZip, nil, download + "mv w/*.whl markupsafe.whl"},
	{
		"module.zip",
		unpack.FormatZip,
		nil,
		"cp $(go mod download -json github.com/wasmerio/wasmer-go@v1.0.4 | sed -n 's/.*\"Zip\": " +
			"\"\\(.*\\)\",/\\1/p') module.zip",
	},
	{
		"bcrypt.tgz",
		unpack.FormatNPM,
		[]string{"npm npm"},
		"npm pack -s --ignore-scripts bcrypt@6.0.0 && mv bcrypt-*.tgz bcrypt.tgz",
	},
	{
		"jsc.aar",
		unpack.FormatJar,
		[]string{"npm npm"},
		"npm pack -s --ignore-scripts jsc-android@250231.0.0 && tar -xzf jsc-android-*.tgz && mv " +
			"$(find package -name 'android-jsc-r*.aar') jsc.aar",
	},
	{"curl.deb", unpack.FormatDeb, nil, "apt-get -qq download curl && mv curl_*.deb curl.deb"},
	{
		"jansi.jar",
		unpack.FormatJar,
		[]string{"mvn maven"},
		"mvn -q -B -Dmaven.repo.local=m2 dependency:get -Dtransitive=false " +
			"-Dartifact=org.fusesource.jansi:jansi:2.4.1 && mv $(find m2 -name 'jansi-2.4.1.jar') jansi.jar",
	},
	{"files.tar", unpack.FormatTar, nil, wheel + "tar -C files -cf files.tar ."},
	{"files.tar.gz", unpack.FormatTar, nil, wheel + "tar -C files -czf files.tar.gz ."},
	{
		"files.tar.bz2",
		unpack.FormatTar,
		[]string{"bzip2 bzip2"},
		wheel + "tar -C files -cjf files.tar.bz2 .",
	},
	{
		"files.tar.xz",
		unpack.FormatTar,
		[]string{"xz xz-utils"},
		wheel + "tar -C files -cJf files.tar.xz .",
	},
	{
		"files.tar.zst",
		unpack.FormatTar,
		[]string{"zstd zstd"},
		wheel + "tar -C files --zstd -cf files.tar.zst .",
	},
	{
		"made.rpm",
		unpack.FormatRPM,
		[]string{"rpmbuild rpm"},
		wheel + `printf 'Name: made\nVersion: 1\nRelease: 1\nSummary: s\nLicense: BSD\nAutoReqProv: no\n%%description\nd\n%%install\nmkdir -p %%{buildroot}/opt\ncp -r '$PWD'/files %%{buildroot}/opt\n%%files\n/opt/files\n' > made.spec && rpmbuild -bb --quiet --define "_topdir $PWD/rpm" made.spec && mv rpm/RPMS/*/made-*.rpm made.rpm`,
	},
	{
		"made.conda",
		unpack.FormatConda,
		nil,
		wheel + conda + "venv/bin/cph create files made-1-0.conda --out-folder $PWD && mv " +
			"made-1-0.conda made.conda",
	},
	{
		"made-1-0.tar.bz2",
		unpack.FormatTar,
		nil,
		wheel + conda + "venv/bin/cph create files made-1-0.tar.bz2 --out-folder $PWD",
	},
	{
		"nested.zip",
		unpack.FormatTar,
		[]string{"zip zip"},
		wheel + "tar -C files -czf files.tar.gz . && zip -qr nested.zip w files.tar.gz",
	}, // archives in an archive
	{
		"made.pex",
		unpack.FormatZip,
		nil,
		"python3 -m venv venv && venv/bin/pip install -q pex && venv/bin/pex markupsafe==2.1.5 " +
			"--pex-root root -o made.pex",
	},
	{
		"made.pyz",
		unpack.FormatZip,
		nil,
		"python3 -m venv venv && venv/bin/pip install -q shiv && venv/bin/shiv -q -o made.pyz " +
			"markupsafe==2.1.5",
	},
	{
		"oci.tar",
		unpack.FormatImage,
		[]string{"umoci umoci"},
		wheel + "umoci init --layout oci && umoci new --image oci:t && umoci insert --rootless --image " +
			"oci:t files /opt/files && tar -C oci -cf oci.tar .",
	},
	{
		"docker.tar",
		unpack.FormatImage,
		[]string{"umoci umoci", "skopeo skopeo"},
		wheel + "umoci init --layout oci && umoci new --image oci:t && umoci insert --rootless --image " +
			"oci:t files /opt/files && skopeo --insecure-policy copy -q oci:oci:t " +
			"docker-archive:docker.tar:t:t",
	},
}

// conda writes what a conda package contains besides its files, and the tool that packs it.
const conda = `mkdir files/info && echo '{"name": "made", "version": "1", "build": "0", "build_number": 0, "subdir": "linux-64", "depends": []}' > files/info/index.json && python3 -m venv venv && venv/bin/pip install -q conda-package-handling && `

func TestRealPackages(t *testing.T) {
	needs.Program(t, "bsdtar", "libarchive-tools", "what compat reads is held against libarchive")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, tool := range c.tools {
				program, install, _ := strings.Cut(tool, " ")
				needs.Program(t, program, install, c.name+" is not read")
			}
			dir := t.TempDir()
			sh := exec.Command("bash", "-e", "-o", "pipefail", "-c", c.script)
			sh.Dir = dir
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("the package can't be made: %v\n%s", err, out)
			}
			file := filepath.Join(dir, c.name)
			got, formats := found(t, file)
			want := extracted(t, file)
			if len(want) == 0 {
				t.Fatal("libarchive finds no object in it: the case shows nothing")
			}
			if !slices.Equal(got, want) {
				t.Errorf(
					"compat finds %d objects, libarchive %d:\n%s\n---\n%s",
					len(got),
					len(want),
					strings.Join(got, "\n"),
					strings.Join(want, "\n"),
				)
			}
			if !slices.Contains(formats, c.format) {
				t.Errorf("read as %v, want %s", formats, c.format)
			}
			t.Logf("%d objects, read as %v", len(got), formats)
		})
	}
}

// found lists the digests of the objects that compat visits, sorted, and the formats that contain
// them.
func found(t *testing.T, file string) (sums, formats []string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	want := func(_ *unpack.Package, _ string, _ int64, head []byte) bool {
		return strings.HasPrefix(string(head), "\x7fELF")
	}
	packages, problems, err := unpack.Walk(
		context.Background(),
		filepath.Base(file),
		f,
		info.Size(),
		unpack.Options{Want: want},
		func(m *unpack.File) error {
			h := sha256.New()
			_, err := io.Copy(h, io.NewSectionReader(m.Content, 0, m.Size))
			sums = append(sums, hex.EncodeToString(h.Sum(nil)))
			return err
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Path, p.Reason)
	}
	for _, p := range packages {
		formats = append(formats, p.Format)
	}
	slices.Sort(sums)
	return sums, formats
}

// packed are the first bytes of formats that are extracted again: zip, gzip, bzip2, xz, zstd, ar
// and rpm. A tar is identified by its name or its place.
var packed = []string{
	"PK\x03\x04",
	"\x1f\x8b",
	"BZh",
	"\xfd7zXZ\x00",
	"\x28\xb5\x2f\xfd",
	"!<arch>\n",
	"\xed\xab\xee\xdb",
}

// extracted lists the digests of the objects that bsdtar extracts, also from archives in archives.
func extracted(t *testing.T, file string) (sums []string) {
	dir := t.TempDir()
	if out, err := exec.Command("bsdtar", "-xf", file, "-C", dir).CombinedOutput(); err != nil {
		t.Logf("%s is no archive to libarchive: %v %s", filepath.Base(file), err, out)
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(string(b), "\x7fELF"):
			sum := sha256.Sum256(b)
			sums = append(sums, hex.EncodeToString(sum[:]))
		case strings.HasSuffix(path, ".tar"),
			slices.ContainsFunc(packed, func(magic string) bool {
				return strings.HasPrefix(string(b), magic)
			}):
			sums = append(sums, extracted(t, path)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(sums)
	return sums
}
