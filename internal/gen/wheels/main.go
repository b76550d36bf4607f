// Command wheels packs the program into wheels for pip and uv, one for each platform. A wheel has
// the program in the scripts folder and a module, binary_compat, that starts it. The same program
// and version give the same bytes.
//
//	wheels -out DIR -version VERSION [-readme FILE] GOOS/GOARCH=PROGRAM...
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// distribution is the name on the package index and module the name to import.
const (
	distribution = "binary-compat"
	module       = "binary_compat"
)

// tags are the platform tags of the program for a system: static programs run with glibc and musl,
// and the least macOS is the one that Go supports.
var tags = map[string]string{
	"linux/amd64":   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

//go:embed binary_compat/*.py
var sources embed.FS

func main() {
	log.SetFlags(0)
	out := flag.String("out", "dist", "folder of the wheels")
	version := flag.String("version", "", "version of the program, with or without a leading v")
	readme := flag.String("readme", "README.md", "description of the package, in Markdown")
	flag.Parse()
	if err := write(*out, *version, *readme, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func write(out, version, readme string, programs []string) error {
	v, err := pkgmeta.ParseVersion(version)
	if err != nil {
		return fmt.Errorf("-version: %w", err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		return fmt.Errorf("-readme: %w", err)
	}
	for _, p := range programs {
		system, path, ok := strings.Cut(p, "=")
		if !ok || tags[system] == "" {
			return fmt.Errorf("%s: give GOOS/GOARCH=PROGRAM, of a known system", p)
		}
		program, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, content, err := wheel(system, v.String(), string(text), program)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return err
		}
		fmt.Println(filepath.Join(out, name))
	}
	return nil
}

// wheel returns the name and the content of the wheel for a system.
func wheel(system, version, readme string, program []byte) (string, []byte, error) {
	name := module + "-" + version
	info, scripts := name+".dist-info/", name+".data/scripts/compat"
	if strings.HasPrefix(system, "windows/") {
		scripts += ".exe"
	}
	a := archive{}
	a.zip = zip.NewWriter(&a.content)
	entries, err := fs.ReadDir(sources, module)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(sources, module+"/"+e.Name())
		if err != nil {
			return "", nil, err
		}
		a.add(module+"/"+e.Name(), 0o644, text)
	}
	a.add(scripts, 0o755, program)
	a.add(info+"METADATA", 0o644, []byte(metadata(version)+"\n"+readme))
	a.add(info+"WHEEL", 0o644, []byte(wheelFile(tags[system])))
	a.add(info+"entry_points.txt", 0o644, []byte("[console_scripts]\n"+distribution+" = "+module+
		".__main__:main\n"))
	record := strings.Join(a.record, "") + info + "RECORD,,\n"
	a.add(info+"RECORD", 0o644, []byte(record))
	err = errors.Join(a.err, a.zip.Close())
	return name + "-py3-none-" + tags[system] + ".whl", a.content.Bytes(), err
}

func metadata(version string) string {
	return strings.Join([]string{
		"Metadata-Version: 2.4",
		"Name: " + distribution,
		"Version: " + version,
		"Summary: Checks wheels and shared libraries for symbols that will not resolve",
		"License-Expression: Apache-2.0",
		"Project-URL: Source, https://github.com/compat-app/compat",
		"Keywords: wheel,manylinux,elf,abi,linker",
		"Classifier: Environment :: Console",
		"Classifier: Topic :: Software Development :: Build Tools",
		"Requires-Python: >=3.8",
		"Description-Content-Type: text/markdown",
		"",
	}, "\n")
}

// wheelFile lists each tag of the file name.
func wheelFile(platforms string) string {
	lines := []string{"Wheel-Version: 1.0", "Generator: compat", "Root-Is-Purelib: false"}
	for p := range strings.SplitSeq(platforms, ".") {
		lines = append(lines, "Tag: py3-none-"+p)
	}
	return strings.Join(lines, "\n") + "\n"
}

// archive is a wheel that is being written, with the lines of its RECORD.
type archive struct {
	content bytes.Buffer
	zip     *zip.Writer
	record  []string
	err     error
}

// epoch is the time of all entries, the first that zip can express.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func (a *archive) add(name string, mode fs.FileMode, content []byte) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: epoch}
	h.SetMode(mode)
	w, err := a.zip.CreateHeader(h)
	if err == nil {
		_, err = w.Write(content)
	}
	a.err = errors.Join(a.err, err)
	sum := sha256.Sum256(content)
	a.record = append(a.record, fmt.Sprintf("%s,sha256=%s,%d\n", name,
		base64.RawURLEncoding.EncodeToString(sum[:]), len(content)))
}
